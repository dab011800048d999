package engine

import (
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// deploys makes a stage a Deployment one, on an infrastructure with the given
// document.
func deploys(n *plan.Node, infra string) *plan.Node {
	docs, _ := yamldoc.Parse("", []byte(infra))
	n.Deployment = &plan.Deployment{Infrastructure: docs[0]}
	return n
}

func TestTurns(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		infra   string
		timeout string
		turn    bool
		aborted bool
		none    bool // the queue can't be found out
		onError plan.ActionType
		ends    string
		took    time.Duration
	}{
		{name: "pipeline §7.2 a stage that deploys waits for its turn, then runs", infra: "type: KubernetesDirect", turn: true, ends: "p:Success s:Success a:Success"},
		{name: "pipeline §7.2 false is the default", infra: "allowSimultaneousDeployments: false", turn: true, ends: "p:Success s:Success a:Success"},
		{name: "pipeline §7.2 unless simultaneous deployments are allowed", infra: "allowSimultaneousDeployments: true", ends: "p:Success s:Success a:Success"},
		{name: "or allowed below spec", infra: "spec: {allowSimultaneousDeployments: true}", ends: "p:Success s:Success a:Success"},
		{name: "the wait counts against the stage's timeout", infra: "type: K", timeout: "10m", ends: "p:Expired s:Expired", took: 10 * time.Minute},
		{name: "a queue that can't be found out fails the stage", infra: "type: K", none: true, ends: "p:Failed s:Failed"},
		{name: "and aborts by its strategy", infra: "type: K", none: true, onError: plan.Abort, ends: "p:Aborted s:Aborted"},
		{name: "which can't ignore it", infra: "type: K", none: true, onError: plan.Ignore, ends: "p:Failed s:Failed"},
		{name: "an abort ends the wait", infra: "type: K", aborted: true, ends: "p:Aborted s:Aborted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSim(t, pipeline(deploys(stage("s", st("a")), tt.infra)))
			s.plan.Root.Children[0].Timeout = tt.timeout
			s.twice, s.turn, s.queueless = true, tt.turn, tt.none
			if tt.onError != "" {
				s.plan.Root.Children[0].Strategies = plan.Levels{[]plan.Strategy{on(plan.Action{Type: tt.onError})}}
			}
			begin := s.now
			if tt.aborted {
				s.advance(s.plan.Root.ID, 0, At{})
				s.advance(s.plan.Root.Children[0].ID, 0, At{})
				s.aborted = true
			}
			s.run(s.plan.Root.ID)
			if got := s.ends(); got != tt.ends {
				t.Errorf("ends %s, want %s", got, tt.ends)
			}
			if took := s.now.Sub(begin); took != tt.took {
				t.Errorf("it took %s, want %s", took, tt.took)
			}
		})
	}
}
