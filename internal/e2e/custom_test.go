package e2e_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/api"
)

// fleetFolder holds the example of a custom deployment.
const fleetFolder = "../../examples/fleet"

func applyFleet(t *testing.T, s *e2e.Server) {
	t.Helper()
	for _, name := range []string{"step_install", "template", "service", "environment", "infrastructure", "fleet"} {
		s.Apply(t, read(t, filepath.Join(fleetFolder, name+".yaml")))
	}
}

// TestCustomDeployments: the script of a deployment template finds instances,
// a step runs for each, and the ledger knows them.
func TestCustomDeployments(t *testing.T) {
	t.Parallel()
	onEveryHost(t, customDeployments)
}

func customDeployments(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	applyFleet(t, s)
	e := run(t, s, "fleet", "Success", nil)
	if n := e.Root.Find("fetchInstances"); n.Message != "found 2 instances" {
		t.Errorf("the step says %q", n.Message)
	}
	var installed []string
	for _, n := range below(e.Root) {
		if n.Kind == "step" && strings.HasPrefix(n.Identifier, "install") {
			installed = append(installed, logOf(t, s, e.ID, n))
		}
	}
	if all := strings.Join(installed, ""); len(installed) != 2 || !strings.Contains(all, "install 1.4 on press in home") || !strings.Contains(all, "install 1.4 on lathe in home") {
		t.Errorf("%d steps said:\n%s", len(installed), all)
	}
	if log := logOf(t, s, e.ID, e.Root.Find("report")); !strings.Contains(log, "first press") || !strings.Contains(log, "in home, port 8080") {
		t.Errorf("the report says %s", log)
	}
	if diff := cmp.Diff("engine floor hall 1.4 2 lathe press found", fleetPlaced(t, s)); diff != "" {
		t.Errorf("the ledger (-want +got):\n%s", diff)
	}

	s.Apply(t, strings.Replace(read(t, filepath.Join(fleetFolder, "infrastructure.yaml")), "press,lathe", "mill", 1))
	run(t, s, "fleet", "Success", nil)
	if diff := cmp.Diff("engine floor hall 1.4 1 mill found", fleetPlaced(t, s)); diff != "" {
		t.Errorf("the ledger after the second deployment (-want +got):\n%s", diff)
	}
}

func fleetPlaced(t *testing.T, s *e2e.Server) string {
	t.Helper()
	var l api.PlacementList
	if err := s.Call(t.Context(), "GET", "/v1/services/engine/instances"+ofProject, nil, &l); err != nil {
		t.Fatal(err)
	}
	if len(l.Placements) != 1 {
		t.Fatalf("the ledger has %+v", l.Placements)
	}
	p := l.Placements[0]
	text := fmt.Sprint(p.Service, " ", p.Environment, " ", p.Infrastructure, " ", p.Artifact, " ", p.Count)
	for _, i := range p.Instances {
		text += " " + i.Name
	}
	return text + " " + p.Deployed.Action
}
