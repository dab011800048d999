package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/plan"
)

// semantics/pipeline §7.7: approvals of the same services are on one list, so
// what a pipeline deploys must be known.
func TestServicesOfAPipeline(t *testing.T) {
	t.Parallel()
	deploys := func(service string) func(*plan.Node) {
		return func(n *plan.Node) { n.Deployment = &plan.Deployment{ServiceRef: service} }
	}
	several := func(l *plan.Loop) { l.Deploys = true }
	chose := func(service string) plan.State {
		return plan.State{Status: plan.Running, Deployment: &plan.Deployment{ServiceRef: service}}
	}
	its := func(services ...string) *plan.Iterations {
		var out plan.Iterations
		for i, s := range services {
			out.List = append(out.List, plan.Iteration{Postfix: "_" + string(rune('0'+i)), Choice: &plan.Choice{Service: plan.Pick{Ref: s}}})
		}
		return &out
	}
	late := with(stage("t"), deploysLate)
	tests := []struct {
		name   string
		plan   *plan.Node
		states map[plan.NodeID]plan.State
		want   []string
		known  bool
	}{
		{name: "nothing is deployed", plan: pipeline(stage("s", st("a"))), known: true},
		{
			name: "fixed ones", plan: pipeline(with(stage("s"), deploys("web")), parallel(stage("x"), with(stage("t"), deploys("api")))),
			want: []string{"web", "api"}, known: true,
		},
		{name: "one hasn't been chosen", plan: pipeline(with(stage("s"), deploys("web")), late), want: []string{"web"}},
		{
			name: "it has been", plan: pipeline(late), states: map[plan.NodeID]plan.State{"p.t": chose("api")},
			want: []string{"api"}, known: true,
		},
		{
			name: "its stage is skipped", plan: pipeline(late), states: map[plan.NodeID]plan.State{"p.t": {Status: plan.Skipped}},
			known: true,
		},
		{name: "several haven't been", plan: pipeline(loop(with(stage("t"), deploysLate), several))},
		{
			name: "several have been", plan: pipeline(loop(with(stage("t"), deploysLate), several)),
			states: map[plan.NodeID]plan.State{"p.t": {Status: plan.Running, Iterations: its("web", "api")}},
			want:   []string{"web", "api"}, known: true,
		},
		{
			name: "some iterations have chosen", plan: pipeline(loop(with(stage("t"), deploysLate))),
			states: map[plan.NodeID]plan.State{"p.t": {Status: plan.Running, Iterations: its("", "")}, "p.t_0": chose("web")},
			want:   []string{"web"},
		},
		{
			name: "all have", plan: pipeline(loop(with(stage("t"), deploysLate))),
			states: map[plan.NodeID]plan.State{"p.t": {Status: plan.Running, Iterations: its("", "")}, "p.t_0": chose("web"), "p.t_1": chose("api")},
			want:   []string{"web", "api"}, known: true,
		},
		{name: "a loop of a fixed one", plan: pipeline(loop(with(stage("t"), deploys("web")))), want: []string{"web"}, known: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newSim(t, tt.plan).plan
			got, known := services(p, p.Root, func(id plan.NodeID) plan.State { return tt.states[id] })
			if diff := cmp.Diff(tt.want, got); diff != "" || known != tt.known {
				t.Errorf("known: %v, want %v; services (-want +got):\n%s", known, tt.known, diff)
			}
		})
	}
}

// An approval that is on no list rejects nothing.
func TestApprovalsOnNoListRejectNothing(t *testing.T) {
	t.Parallel()
	w := &walk{}
	for _, list := range []string{"", "list"} {
		w.approved(st("a"), plan.State{Approval: &plan.Approval{RejectsOlder: true}, Turn: list}, plan.Outcome{Status: plan.Success})
	}
	if diff := cmp.Diff([]Left{{Key: "list"}}, w.out.Approved); diff != "" {
		t.Errorf("lists (-want +got):\n%s", diff)
	}
}
