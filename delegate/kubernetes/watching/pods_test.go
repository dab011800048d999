package watching

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Pods are found by what the place names, and as their workloads do.
func TestPodsOf(t *testing.T) {
	t.Parallel()
	workloads := []task.Workload{
		{Resource: "apps/Deployment/shop/web", Selector: "harness.io/release-name=web"},
		{Resource: "apps/StatefulSet/elsewhere/job", Selector: "app=job"},
		{Resource: "apps/Deployment/shop/any"},
		{Resource: "something else", Selector: "app=web"},
	}
	marked, job := lane.Pods{Namespace: "shop", Selector: "harness.io/release-name=web"}, lane.Pods{Namespace: "elsewhere", Selector: "app=job"}
	for name, c := range map[string]struct {
		place string
		want  []lane.Pods
	}{
		"of a release of ours": {`{"cluster":{},"pods":[{"namespace":"shop","selector":"harness.io/release-name=web"}]}`, []lane.Pods{marked, job}},
		"of a chart's":         {`{"cluster":{}}`, []lane.Pods{marked, job}},
		"of a place that an earlier release has noted": {`{"cluster":{"url":"u"},"release":"web","pods":[{"namespace":"elsewhere","selector":"app=job"}]}`, []lane.Pods{job, marked}},
	} {
		place, err := executor.Place[lane.Place](lane.Kind, json.RawMessage(c.place))
		if diff := cmp.Diff(c.want, podsOf(place, workloads)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
