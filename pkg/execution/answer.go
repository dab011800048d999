package execution

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Answer gives a step or a stage the inputs that it waits for
// (semantics/pipeline §2.2): in.Document is a part of its own document, e.g.
// with the key spec, and in.Values are by path in it, e.g. "spec.url". Sets
// have no say.
func (s *Service) Answer(ctx context.Context, id string, node plan.NodeID, in launch.Inputs, by audit.Author) error {
	e, err := s.Store.Execution(ctx, id)
	if err != nil {
		return err
	}
	p, err := s.Engine.Reader.Plan(ctx, e.PlanHash)
	if err != nil {
		return err
	}
	n := p.Node(node)
	if n == nil {
		return fault.New(fault.NotFound, "execution %s has no node %s", id, node)
	}
	d := &decision{node: node, by: by, action: audit.Answer, kind: "inputs"}
	return s.decide(ctx, id, d, func(_ store.Execution, st *plan.State) (bool, error) {
		if st.Status != plan.InputWaiting || st.Answered {
			return false, tooLate(node, st, "inputs")
		}
		m := input.Answer(n.Doc, in.Values, input.Source{Doc: unwrapped(in.Document, n.Kind)})
		if err := m.Err(); err != nil {
			return false, err
		}
		if n.Kind == plan.KindStep {
			report := yamldoc.NewReport("inputs")
			s.Steps.Check(n.Type, m.Doc.Get("spec"), n.Stage().Type, report)
			if err := report.Err(); err != nil {
				return false, err
			}
		}
		st.Answered, st.Given = true, m.Inputs
		st.Decided = &plan.Decided{By: by.Actor, What: "its inputs", At: s.Now()}
		return true, nil
	})
}

// unwrapped takes the key step or stage off, which may stand around a document.
func unwrapped(doc *yamldoc.Node, kind plan.Kind) *yamldoc.Node {
	if inner := doc.Get(string(kind)); inner != nil {
		return inner
	}
	return doc
}
