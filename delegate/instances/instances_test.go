package instances_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/instances"
	"github.com/slipway-cd/slipway/delegate/shell"
	"github.com/slipway-cd/slipway/pkg/swimlane/custom"
	"github.com/slipway-cd/slipway/pkg/task"
)

// fleet is what a script writes in these tests.
const fleet = `cat > "$INSTANCE_OUTPUT_PATH" <<END
{"items": [
  {"metadata": {"name": "press"}, "zones": ["a", "b"], "size": 3},
  {"metadata": {"name": "lathe"}}
]}
END`

func find(t *testing.T, change func(*custom.Instances)) task.Result {
	t.Helper()
	p := custom.Instances{
		Script: task.Shell{Shell: "Bash", Script: fleet},
		List:   "items", Name: "metadata.name",
		Attributes: map[string]string{"instancename": "metadata.name", "zone": "zones[0]", "zones": "zones", "size": "$.size"},
	}
	if change != nil {
		change(&p)
	}
	env := executortest.New(t, nil)
	w := task.Work{Target: task.Target{Service: "engine", Environment: "floor", Infrastructure: "hall", Image: "1.4"}}
	r, err := instances.New(shell.New(os.Environ(), t.TempDir()))(t.Context(), executortest.Work(t, custom.Kind, w, nil, custom.Place{Script: p}), env.Env)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestInstancesAreFoundAndKept(t *testing.T) {
	t.Parallel()
	r := find(t, nil)
	var out struct {
		Found task.InstancesFound `json:"deploymentInfoOutcome"`
	}
	if err := json.Unmarshal(r.Outputs, &out); err != nil {
		t.Fatalf("%s: %v", r.Message, err)
	}
	want := task.InstancesFound{List: []task.InstanceFound{
		{HostName: "press", InstanceName: "press", Properties: map[string]string{"instancename": "press", "zone": "a", "zones": `["a","b"]`, "size": "3"}},
		{HostName: "lathe", InstanceName: "lathe", Properties: map[string]string{"instancename": "lathe"}},
	}}
	if diff := cmp.Diff(want, out.Found); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	changes := []task.Change{{Target: "custom:hall", Action: "found", Counted: true, Instances: []task.Instance{
		{Name: "press", Images: []string{"1.4"}, Properties: want.List[0].Properties}, {Name: "lathe", Images: []string{"1.4"}, Properties: want.List[1].Properties},
	}}}
	if diff := cmp.Diff(changes, r.Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// A list may be the whole document, and may be empty.
func TestListsThatAreTheDocument(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]int{
		`echo '[{"metadata": {"name": "a"}}]' > "$INSTANCE_OUTPUT_PATH"`: 1,
		`echo '[]' > "$INSTANCE_OUTPUT_PATH"`:                            0,
	} {
		r := find(t, func(p *custom.Instances) { p.Script.Script, p.List = script, "$" })
		if r.Status != task.Succeeded || len(r.Changes) != 1 || len(r.Changes[0].Instances) != want {
			t.Errorf("%s: %s %s: %+v; want %d instances", script, r.Status, r.Message, r.Changes, want)
		}
	}
}

func TestScriptsThatFindNoInstances(t *testing.T) {
	t.Parallel()
	write := func(doc string) func(*custom.Instances) {
		return func(p *custom.Instances) { p.Script.Script = "echo '" + doc + `' > "$INSTANCE_OUTPUT_PATH"` }
	}
	tests := map[string]struct {
		change func(*custom.Instances)
		want   string
	}{
		"it fails":            {func(p *custom.Instances) { p.Script.Script = "exit 3" }, "the script ended with exit code 3"},
		"it writes nothing":   {func(p *custom.Instances) { p.Script.Script = "true" }, "the script has written nothing to $INSTANCE_OUTPUT_PATH"},
		"it writes no JSON":   {write("press, lathe"), "what the script wrote isn't JSON"},
		"there is no list":    {write(`{"items": "press"}`), "instancesListPath items names no list"},
		"the list is missing": {write(`{}`), "instancesListPath items names no list"},
		"one has no name":     {write(`{"items": [{"metadata": {"name": "a"}}, {"name": "b"}]}`), "instance 1: there is no name at metadata.name"},
		"two have the name":   {write(`{"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "a"}}]}`), "instance 1: there is another one of the name a"},
		"a path is wrong":     {func(p *custom.Instances) { p.Attributes["zone"] = "$[" }, "instance 0: attribute zone: "},
		"there are too many": {func(p *custom.Instances) {
			p.Script.Script = `(echo '{"items": [0'; printf ',%s' $(seq 2000); echo ']}') > "$INSTANCE_OUTPUT_PATH"`
		}, "the script has found 2001 instances; the limit is 2000"},
		"it writes too much":   {func(p *custom.Instances) { p.Script.Script = `head -c 17000000 /dev/zero > "$INSTANCE_OUTPUT_PATH"` }, "the script has written 17000000 bytes"},
		"the list path is bad": {func(p *custom.Instances) { p.List = "$[" }, "instancesListPath $[ in what the script wrote"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := find(t, tt.change)
			if r.Status != task.Failed || !strings.Contains(r.Message, tt.want) || len(r.Changes) > 0 {
				t.Errorf("%s: %s; want %s", r.Status, r.Message, tt.want)
			}
		})
	}
}
