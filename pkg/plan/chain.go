package plan

import "github.com/slipway-cd/slipway/pkg/yamldoc"

// TypePipeline is the type of a stage that runs another pipeline, and of the
// one step that such a stage has: it starts the other execution and waits for
// its end (semantics/pipeline §1.7).
const TypePipeline = "Pipeline"

// chained makes the step of a Pipeline stage. The time of the stage bounds it.
func (b *builder) chained(stage *Node, doc *yamldoc.Node) *Node {
	id := NodeID(string(stage.ID) + ".pipeline")
	b.add(id, doc)
	return &Node{
		ID: id, Kind: KindStep, Identifier: "pipeline", Name: stage.Name, Type: TypePipeline, Line: doc.Line,
		Timeout: "5w", Strategies: stage.Strategies, Doc: doc,
	}
}

// Chained is the step of a Pipeline stage; nil for other nodes.
func (n *Node) Chained() *Node {
	if n.Kind != KindStage || n.Type != TypePipeline || len(n.Children) == 0 {
		return nil
	}
	return n.Children[0]
}
