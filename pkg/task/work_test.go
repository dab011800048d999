package task

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Tasks that an earlier release has made are done and settled as those of today.
func TestWorkOfEarlierReleases(t *testing.T) {
	t.Parallel()
	const kubernetes = `{"op":"K8sScale","target":{"cluster":{"inherit":true},"namespace":"shop","releaseName":"rel","service":"web","environment":"prod","infrastructure":"hall","image":"web:1"},"execution":"e","stage":"s","step":"n","rollback":true,"workload":"web"}`
	const instances = `{"target":{"service":"web","environment":"prod","infrastructure":"hall","image":"1"},"stage":"s","script":{"shell":"Bash","script":"list"},"list":"$","name":"name"}`
	target := Target{Service: "web", Environment: "prod", Infrastructure: "hall", Release: "rel", Namespace: "shop", Image: "web:1"}
	for name, c := range map[string]struct {
		payload string
		want    Work
	}{
		"of a cluster": {kubernetes, Work{
			Target: target, Execution: "e", Stage: "s", Step: "n", Rollback: true, Place: json.RawMessage(`{"cluster":{"inherit":true}}`), Spec: json.RawMessage(kubernetes),
		}},
		"of a custom deployment": {instances, Work{
			Target: Target{Service: "web", Environment: "prod", Infrastructure: "hall", Image: "1"}, Stage: "s",
			Place: json.RawMessage(`{"script":` + instances + `}`), Spec: json.RawMessage(instances),
		}},
		"of today": {`{"target":{"service":"web","environment":"prod"},"execution":"e","stage":"s","step":"n","place":{"door":1}}`, Work{
			Target: Target{Service: "web", Environment: "prod"}, Execution: "e", Stage: "s", Step: "n", Place: json.RawMessage(`{"door":1}`),
		}},
		"of a script": {`{"shell":"Bash","script":"list"}`, Work{}},
	} {
		var got Work
		err := json.Unmarshal([]byte(c.payload), &got)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
