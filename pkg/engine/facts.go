package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Facts are what answers to approvals of an execution are bound to beside the
// question: what its stages deploy where, as far as that is known now, and what
// policies came to. They are without secrets.
func (r *Reader) Facts(ctx context.Context, execution string) (plan.Facts, error) {
	snap, err := r.snapshot(ctx, execution)
	if err != nil {
		return nil, err
	}
	return snap.facts()
}

// bind binds the answers to an approval that begins to be asked for.
func (s *snapshot) bind(a *plan.Approval) error {
	facts, err := s.facts()
	if err != nil {
		return err
	}
	a.Question = a.Digest
	return a.Bind(s.execution.PlanHash, facts)
}

func (s *snapshot) facts() (plan.Facts, error) {
	facts := plan.Facts{}
	stages := s.deploying(s.plan.Root)
	ids := make([]plan.NodeID, 0, 2*len(stages))
	for _, n := range stages {
		ids = append(ids, n.ID, n.ID+".spec.service")
	}
	s.load(slices.DeleteFunc(ids, func(id plan.NodeID) bool { return s.plan.Node(id) == nil })...)
	for _, n := range stages {
		s.delivered(n, facts)
	}
	if err := s.verdicts(facts); err != nil {
		return nil, err
	}
	if err := cmp.Or(s.err, s.ctx.Err()); err != nil {
		return nil, err
	}
	return facts.Bounded()
}

// deploying are the stages at or below a node that deploy something. Those of a
// loop are known once it has begun.
func (s *snapshot) deploying(n *plan.Node) []*plan.Node {
	if n.Kind == plan.KindStage {
		if n.Deployment == nil {
			return nil
		}
		return []*plan.Node{n}
	}
	children := n.Children
	if n.Kind == plan.KindLoop {
		state := s.state(n.ID)
		if state.Iterations == nil {
			return nil
		}
		children = s.plan.Children(n, state)
	}
	var out []*plan.Node
	for _, c := range children {
		out = append(out, s.deploying(c)...)
	}
	return out
}

// notYet is what isn't known by now.
const notYet = "not known yet"

// delivered adds what a stage deploys where.
func (s *snapshot) delivered(n *plan.Node, facts plan.Facts) {
	of := " of " + nodeFact(n.ID)
	state := s.state(n.ID)
	if n.Deploys(state) == nil {
		if !state.Status.Terminal() {
			facts["service"+of] = notYet
		}
		return
	}
	scope := s.r.scope(s.ctx, s, n, s.state)
	if scope.Now = state.StartedAt; scope.Now.IsZero() {
		scope.Now = s.execution.StartedAt // the same whenever it is asked
	}
	d, err := resolve.DeliveredBy(scope)
	if err != nil {
		facts["service"+of] = notYet
		return
	}
	facts["service"+of] = d.Service
	facts["environment"+of] = d.Environment
	if d.Infrastructure != "" {
		facts["infrastructure"+of] = d.Infrastructure
	}
	for _, a := range d.Artifacts {
		name := "artifact"
		if a.Sidecar {
			name = "sidecar " + a.Identifier
		}
		facts[name+of] = artifactFact(a)
	}
}

// artifactFact is an artifact with its digest, if that is known.
func artifactFact(a resolve.DeliveredArtifact) string {
	text := cmp.Or(a.Image, a.Version)
	switch {
	case a.Unknown != "" || text == "":
		return notYet
	case a.Digest != "" && !strings.Contains(text, a.Digest):
		return text + "@" + a.Digest
	}
	return text
}

// verdicts add what policies came to before the run and in Policy steps, of which
// evaluations are kept. They come newest first.
func (s *snapshot) verdicts(facts plan.Facts) error {
	if s.r.policies == nil {
		return nil
	}
	of := store.EvaluationsOf{Scope: s.execution.Scope, Execution: s.execution.ID}
	for page := (store.Page{Limit: 100}); ; {
		list, next, err := s.r.store.ListEvaluations(s.ctx, of, s.r.now(), page)
		if err != nil {
			return err
		}
		for _, e := range list {
			judged(e, facts)
		}
		if page.Token = next; next == "" {
			return nil
		}
	}
}

// judged adds an evaluation, unless there is a newer one of the same: another step may
// have the same identifier, and another iteration of a loop has.
func judged(e policy.Evaluation, facts plan.Facts) {
	if e.Action != policy.OnRun && e.Type != policy.Custom {
		return
	}
	name := "policies of " + cmp.Or(nodeFact(plan.NodeID(e.Node)), e.Entity)
	if facts[name] == "" {
		facts[name] = string(e.Status) + ", evaluation " + e.ID
	}
}

// nodeFact is a node as facts name it.
func nodeFact(id plan.NodeID) string { return strings.TrimPrefix(string(id), "pipeline.stages.") }
