package agent

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// TestLabel: agents that a cluster may have side by side don't take each other's
// objects for their own, and an agent takes its own for its own after a restart.
func TestLabel(t *testing.T) {
	t.Parallel()
	at := func(namespace, org, project, id string) string {
		a := agent{Config: Config{Namespace: namespace, Agent: protocol.Agent{Org: org, Project: project, ID: id}}}
		return a.label()
	}
	one := at("slipway-gitops", "acme", "web", "eu1")
	if again := at("slipway-gitops", "acme", "web", "eu1"); again != one {
		t.Errorf("got %s and then %s", one, again)
	}
	for _, other := range []string{
		at("staging-gitops", "acme", "web", "eu1"), at("slipway-gitops", "", "", "eu1"), at("slipway-gitops", "acme", "", "eu1"), at("slipway-gitops", "acme", "web", "eu2"),
	} {
		if other == one {
			t.Errorf("another agent has the label %s, too", one)
		}
	}
}
