package execution

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Difference is what a preview has found out of one stage's deployment.
type Difference struct {
	Stage   string      `json:"stage" doc:"Its identifier"`
	Deploys *Deploys    `json:"deploys,omitempty"`
	Status  plan.Status `json:"status"`
	Message string      `json:"message,omitempty" doc:"Why it isn't known"`
	Changed []string    `json:"changed" nullable:"false" doc:"The objects that would change, as Kind/name"`
	Diff    string      `json:"diff" doc:"How they would change, as unified hunks; secret values are masked"`
}

// Differences are what a preview has found out so far, in the pipeline's order.
func (s *Service) Differences(ctx context.Context, id string) (store.Execution, []Difference, error) {
	e, err := s.Store.Execution(ctx, id)
	if err != nil {
		return e, nil, err
	}
	if !e.Preview {
		return e, nil, fault.New(fault.Conflict, "execution %s is no preview", id)
	}
	p, err := s.Engine.Reader.Plan(ctx, e.PlanHash)
	if err != nil {
		return e, nil, err
	}
	nodes, err := s.Store.AllNodes(ctx, id)
	if err != nil {
		return e, nil, err
	}
	states := store.States(nodes)
	list, compares := []Difference{}, map[string]bool{}
	for _, p := range s.Steps.Previews() {
		compares[p.By] = true
	}
	var walk func(*plan.Node) error
	walk = func(n *plan.Node) error {
		if n.Looks {
			d, err := differenceOf(n, states, compares)
			list = append(list, d)
			return err
		}
		for _, c := range p.Children(n, states[n.ID]) {
			if err := walk(c); err != nil {
				return err
			}
		}
		return nil
	}
	return e, list, walk(p.Root)
}

// differenceOf reads what the steps of a stage that compare have come to.
func differenceOf(stage *plan.Node, states map[plan.NodeID]plan.State, compares map[string]bool) (Difference, error) {
	st := states[stage.ID]
	d := Difference{Stage: stage.Identifier, Status: st.Status, Message: st.Message, Changed: []string{}}
	if to := stage.Deploys(st); to != nil {
		d.Deploys = &Deploys{Service: to.ServiceRef, Environment: to.EnvironmentRef, Infrastructure: to.InfrastructureID()}
	}
	for _, c := range looking(stage.Children, compares) {
		d.Message = cmp.Or(states[c.ID].Message, d.Message) // without the step's name, which nobody has written
		if len(states[c.ID].Outputs) == 0 {
			continue
		}
		var outputs struct {
			Output struct {
				Diff    string   `json:"diff"`
				Changed []string `json:"changed"`
			} `json:"output"`
		}
		if err := json.Unmarshal(states[c.ID].Outputs, &outputs); err != nil {
			return d, fmt.Errorf("decode the outputs of %s: %w", c.ID, err)
		}
		d.Diff, d.Changed = d.Diff+outputs.Output.Diff, append(d.Changed, outputs.Output.Changed...)
	}
	return d, nil
}

// looking are the steps that compare, also those of groups.
func looking(list []*plan.Node, compares map[string]bool) []*plan.Node {
	var out []*plan.Node
	for _, n := range list {
		if compares[n.Type] {
			out = append(out, n)
		}
		out = append(out, looking(n.Children, compares)...)
	}
	return out
}
