package kubernetes

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/delegate/shell"
	"github.com/slipway-cd/slipway/internal/testcluster"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// A kind that came after the delegate had known the cluster's is there for a
// chart that asks, and each task asks the cluster once.
func TestKindsThatCameLater(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	other := *s
	other.run = New(Config{Cache: t.TempDir(), Script: shell.New(os.Environ(), t.TempDir())})
	definition, resource := s.definition("Gadget")
	gadget := resource.Group + "/" + resource.Version
	g := repository(t, map[string]string{
		"chart/Chart.yaml":            "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"chart/templates/web.yaml":    deploymentYAML("web", "nginx:1", 1),
		"chart/templates/gadget.yaml": "{{ if .Capabilities.APIVersions.Has \"" + gadget + "/Gadget\" }}\napiVersion: " + gadget + "\nkind: Gadget\nmetadata: {name: mine}\n{{ end }}\n",
	})
	g.Paths = []string{"chart"}
	at, asked := testcluster.Discoveries(t, s.cluster.URL, s.cluster.CAPEM)
	s.cluster.URL = at
	deploy := func(want bool) {
		t.Helper()
		p := s.step(lane.OpRolling, "")
		p.Target.Manifest = &origin.Manifest{ID: "app", Type: "HelmChart", Store: task.Store{Git: g}, Chart: &origin.Chart{}}
		e := s.succeed(t, p)
		if got := slices.Contains(strings.Split(e.log(unitInitialize), "\n"), "Rendered Gadget/mine"); got != want {
			t.Errorf("the new kind was rendered: %v; want %v", got, want)
		}
		if n := asked.Swap(0); n != 1 {
			t.Errorf("the cluster was asked for its kinds %d times; want once", n)
		}
	}
	deploy(false)
	deploy(false)
	p := other.step(lane.OpRolling, definition)
	p.Target.ReleaseName = "kinds"
	other.succeed(t, p)
	deploy(true)
	deploy(true)
}
