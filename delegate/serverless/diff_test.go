package serverless_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/internal/testservers"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/serverless"
	"github.com/slipway-cd/slipway/pkg/task"
)

// A preview tells what a deployment would change, code too, and changes nothing.
func TestDiff(t *testing.T) {
	t.Parallel()
	w, programs := testaws.NewWorld(t), testservers.Osls(t, "osls")
	w.UnderPolicy("../../docs/serverless.md")
	compared := func(files map[string]string) (diff string, changed []string) {
		t.Helper()
		s := begin(t, w, programs, files)
		before := len(w.Calls())
		r := s.does(lane.OpDiff, task.Succeeded, func(p *lane.Spec) { p.Options = []string{"--param=level=debug", "--force", "--verbose"} })
		for _, c := range w.Calls()[before:] {
			if _, name, _ := strings.Cut(c.Operation, ":"); testaws.Changing(name) && !strings.HasPrefix(name, "Validate") {
				t.Errorf("the preview calls %s", c.Operation)
			}
		}
		if n := len(s.Kept()); n != 0 {
			t.Errorf("the preview keeps %d checkpoints", n)
		}
		var out struct {
			Output struct {
				Diff    string
				Changed []string
			}
		}
		if err := json.Unmarshal(r.Outputs, &out); err != nil {
			t.Fatal(err)
		}
		return out.Output.Diff, out.Output.Changed
	}
	service := func(text, seconds string) map[string]string {
		files := service(text)
		files["serverless.yml"] += "    environment: {LEVEL: '${param:level, \"info\"}'}\n    timeout: " + seconds + "\n"
		files["serverless.yml"] = strings.Replace(files["serverless.yml"], "  hello: {handler: index.hello}", "  hello:\n    handler: index.hello", 1)
		return files
	}
	if _, got := compared(service("one", "3")); len(got) == 0 {
		t.Error("of nothing there nothing would change")
	}
	begin(t, w, programs, service("one", "3")).does(lane.OpDeploy, task.Succeeded, func(p *lane.Spec) { p.Options = []string{"--param=level=debug"} })
	if diff, got := compared(service("one", "3")); len(got) != 0 {
		t.Errorf("of the same would change %v:\n%s", got, diff)
	}
	diff, got := compared(service("two", "9"))
	if all := strings.Join(got, " "); !strings.Contains(all, "AWS::Lambda::Function/HelloLambdaFunction") || !strings.Contains(all, "AWS::Lambda::Version/HelloLambdaVersion") ||
		!strings.Contains(diff, "+    \"Timeout\": 9") || !strings.Contains(diff, "CodeSha256") {
		t.Errorf("there would change %v:\n%s", got, diff)
	}
}
