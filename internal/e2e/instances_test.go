package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testcluster"
	"github.com/slipway-cd/slipway/pkg/api"
)

const ofProject = "?org=default&project=default_project"

// The ledger says what runs where: after deployments, after a rollback, and
// after what people do to the cluster past Slipway.
func TestInstancesFollowTheCluster(t *testing.T) {
	t.Parallel()
	onEveryHost(t, instancesFollowTheCluster)
}

func instancesFollowTheCluster(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	kubeconfig, namespace := testcluster.Namespace(t)
	s := start(t)
	guestbook(t, s, namespace)
	s.Apply(t, deployment("rolling", kubeStep("roll", "K8sRollingDeploy", "{}"), kubeStep("back", "K8sRollingRollback", "{}")))

	e := run(t, s, "rolling", "Success", image("1"))
	p := untilPlaced(t, s, "the first deployment", func(p api.Placement) bool { return p.Watched && p.Count == 2 && len(p.Drift) == 0 })
	got := fmt.Sprint(p.Service, " ", p.Environment, " ", p.Infrastructure, " ", p.Namespace == namespace, " ", p.Artifact, " ", p.Revision, " ", p.Deployed.Execution == e.ID, " ", p.Versions)
	if diff := cmp.Diff("web dev local true nginx:1 1 true [{nginx:1 2}]", got); diff != "" {
		t.Errorf("what was deployed (-want +got):\n%s", diff)
	}

	kubectl(t, kubeconfig, namespace, "scale", "deployment", "web", "--replicas=3")
	p = untilPlaced(t, s, "scaling by hand", func(p api.Placement) bool { return p.Count == 3 && len(p.Drift) > 0 })
	if !strings.HasPrefix(p.Drift[0], "Deployment/web has 3 replicas, set by kubectl") {
		t.Errorf("drift %q", p.Drift)
	}
	gone := p.Instances[0].Name
	kubectl(t, kubeconfig, namespace, "delete", "pod", gone, "--wait=false")
	p = untilPlaced(t, s, "a pod's end", func(p api.Placement) bool {
		return p.Count == 3 && !slices.ContainsFunc(p.Instances, func(i api.ServiceInstance) bool { return i.Name == gone })
	})
	if !slices.ContainsFunc(p.Instances, func(i api.ServiceInstance) bool { return i.DeployedBy == "AUTO_SCALED" }) {
		t.Errorf("no instance was made outside of deployments: %+v", p.Instances)
	}

	run(t, s, "rolling", "Failed", image("broken"))
	untilPlaced(t, s, "the rollback", func(p api.Placement) bool {
		return p.Artifact == "nginx:1" && p.Deployed.Action == "rolled back" && p.Count == 2 && len(p.Drift) == 0
	})
	kubectl(t, kubeconfig, namespace, "delete", "deployment", "web")
	untilPlaced(t, s, "the workload's end", func(p api.Placement) bool {
		return p.Count == 0 && slices.Equal(p.Drift, []string{"Deployment/web isn't there any more"})
	})

	var h api.History
	if err := s.Call(t.Context(), "GET", "/v1/services/web/instances/history"+ofProject, nil, &h); err != nil {
		t.Fatal(err)
	}
	var causes []string
	for _, m := range slices.Backward(h.Moments) {
		if m.Cause != "observed" {
			causes = append(causes, m.Cause)
		}
	}
	if diff := cmp.Diff([]string{"applied", "applied", "rolled back"}, causes); diff != "" {
		t.Errorf("the history's deployments (-want +got):\n%s", diff)
	}
	if last := h.Moments[0]; last.Cause != "observed" || last.Count != 0 {
		t.Errorf("the history's last moment: %+v", last)
	}
}

// often has a delegate look at what was deployed to AWS while a test waits.
const often = lookEnv + "=1s"

// drifts changes what was deployed past Slipway: the ledger finds it as it was
// deployed before, and tells how it differs afterwards.
func drifts(t *testing.T, s *e2e.Server, want string, change func() error) {
	t.Helper()
	untilPlaced(t, s, "the deployment", func(p api.Placement) bool { return p.Watched && len(p.Drift) == 0 })
	if err := change(); err != nil {
		t.Fatal(err)
	}
	untilPlaced(t, s, want, func(p api.Placement) bool {
		return slices.ContainsFunc(p.Drift, func(d string) bool { return strings.Contains(d, want) })
	})
}

// untilPlaced reads the one placement until it is as it should be.
func untilPlaced(t *testing.T, s *e2e.Server, after string, fits func(api.Placement) bool) api.Placement {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(e2e.Patience)
	for {
		var l api.PlacementList
		if err := s.Call(t.Context(), "GET", "/v1/instances"+ofProject, nil, &l); err != nil {
			t.Fatal(err)
		}
		if len(l.Placements) == 1 && fits(l.Placements[0]) {
			return l.Placements[0]
		}
		select {
		case <-limit:
			t.Fatalf("after %s the ledger says %+v", after, l.Placements)
		case <-tick.C:
		}
	}
}
