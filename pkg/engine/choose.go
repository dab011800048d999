package engine

import "github.com/slipway-cd/slipway/pkg/plan"

// choose finds what a stage deploys where, if its plan leaves that to its
// start (semantics/entities §5). What was chosen stays, whatever happens to
// what chose it. A stage that can't choose fails by its strategy.
func (w *walk) choose(n *plan.Node) {
	s := w.states.get(n.ID)
	if n.Deployment == nil || !n.Deployment.Late || s.Deployment != nil || s.Status.Terminal() || w.Aborted || w.over(s.Deadline) {
		return
	}
	d, err := w.Choose(n, w.states.get)
	if err != nil {
		w.states.put(n.ID, w.unbegun(n, s, failed(err), true))
		return
	}
	s.Deployment = d
	if exclusive(n, s) && len(n.Provisioning()) == 0 {
		s.Wait = plan.WaitTurn
	}
	if p := n.Parent(); p.Kind != plan.KindLoop || !p.Loop.Deploys { // else its loop has been judged
		s = admission{w}.frozen(n, s)
	}
	w.states.put(n.ID, s)
}
