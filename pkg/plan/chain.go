package plan

// TypePipeline is the type of a stage that runs another pipeline, and of the
// one step that such a stage has: it starts the other execution and waits for
// its end (semantics/pipeline §1.7).
const TypePipeline = "Pipeline"

// Chained is the step of a Pipeline stage; nil for other nodes.
func (n *Node) Chained() *Node {
	if n.Kind != KindStage || n.Type != TypePipeline || len(n.Children) == 0 {
		return nil
	}
	return n.Children[0]
}
