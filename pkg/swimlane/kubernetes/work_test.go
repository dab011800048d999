package kubernetes

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/task"
)

// Tasks that an earlier release has made are done as those of today: all of
// their payload was the spec.
func TestSpecOfEarlierReleases(t *testing.T) {
	t.Parallel()
	const payload = `{"op":"K8sScale","target":{"cluster":{"inherit":true},"namespace":"shop","releaseName":"rel","service":"web","environment":"prod","infrastructure":"hall","image":"web:1"},"execution":"e","stage":"s","step":"n","rollback":true,"workload":"web"}`
	var w task.Work
	if err := json.Unmarshal([]byte(payload), &w); err != nil {
		t.Fatal(err)
	}
	var spec Spec
	err := json.Unmarshal(w.Spec, &spec)
	want := Spec{Op: OpScale, Workload: "web", Target: Target{Cluster: task.Cluster{Inherit: true}, Namespace: "shop", ReleaseName: "rel"}}
	if diff := cmp.Diff(want, spec); diff != "" || err != nil {
		t.Errorf("the spec: %v (-want +got):\n%s", err, diff)
	}
}
