package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// A loop whose number an expression gives is counted when it begins. It fails
// by its strategy where the execution would have more nodes than it may.
func TestALoopThatBringsTooManyNodesFails(t *testing.T) {
	t.Parallel()
	onEveryHost(t, tooManyNodes)
}

func tooManyNodes(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	const pipeline = `pipeline:
  identifier: wide
  name: Wide
  orgIdentifier: default
  projectIdentifier: default_project
  variables: [{name: n, type: String, value: "199"}]
  stages:
    - stage:
        identifier: few
        name: Few
        type: Custom
        spec: {execution: {steps: [STEP]}}
        strategy: {parallelism: "<+pipeline.variables.n.substring(0, 1)>"}
    - stage:
        identifier: many
        name: Many
        type: Custom
        strategy: {parallelism: <+pipeline.variables.n>}
        failureStrategies: [{onFailure: {errors: [ResourceLimitsFailure], action: {type: Ignore}}}]
        spec: {execution: {steps: [{stepGroup: {identifier: g, name: g, strategy: {repeat: {times: 100}}, steps: [STEP]}}]}}
    - stage:
        identifier: after
        name: After
        type: Custom
        spec: {execution: {steps: [STEP]}}
`
	step := `{step: {identifier: w, name: w, type: Wait, spec: {duration: 1s}, when: {stageStatus: Failure}}}`
	s.Apply(t, strings.ReplaceAll(pipeline, "STEP", step))
	e := s.Run(t, "wide", nil)
	many := e.Root.Find("many")
	if e.Status != "IgnoreFailed" || many.Status != "IgnoreFailed" || !strings.Contains(many.Message, "more than 20000 nodes") || len(many.Children) > 0 {
		t.Errorf("the execution is %s, the loop %s with %d iterations: %q", e.Status, many.Status, len(many.Children), many.Message)
	}
	if after := e.Root.Find("after"); after.Status != "Success" {
		t.Errorf("the stage after it is %s; want it to run", after.Status)
	}
	if few := e.Root.Find("few"); len(few.Children) != 1 {
		t.Errorf("the loop before it has %d iterations, want 1", len(few.Children))
	}
	var rehearsed struct {
		Root struct{ Children []struct{ Unknown []string } }
	}
	if err := s.Call(t.Context(), "POST", "/v1/pipelines/wide/plan", map[string]any{}, &rehearsed); err != nil {
		t.Fatal(err)
	}
	if u := rehearsed.Root.Children[1].Unknown; len(u) != 1 || !strings.Contains(u[0], "more than 20000 nodes") {
		t.Errorf("the plan says %q of the loop; want why it can't begin", u)
	}
}

// An execution and a plan of almost as many nodes as there may be are answered
// in parts that a function can give back; whoever asks on sees all of them.
func TestTheLargestExecutionIsAnsweredInParts(t *testing.T) {
	t.Parallel()
	onEveryHost(t, answeredInParts)
}

// bigNode is what the test reads of a node.
type bigNode struct {
	ID       string
	Status   string
	Children []*bigNode
	Hidden   *struct {
		Nodes, From int
		Statuses    map[string]int
	}
}

func (n *bigNode) count() (shown, hidden int) {
	shown = 1
	if n.Hidden != nil {
		hidden = n.Hidden.Nodes
	}
	for _, c := range n.Children {
		s, h := c.count()
		shown, hidden = shown+s, hidden+h
	}
	return shown, hidden
}

func answeredInParts(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	const groups, steps = 195, 99
	const all = 3 + groups*(2+steps) // with the pipeline, the stage and the loop
	one := `{step: {identifier: sN, name: s, type: Wait, spec: {duration: 1s}}}`
	var list []string
	for i := range steps {
		list = append(list, strings.Replace(one, "sN", fmt.Sprint("s", i), 1))
	}
	s.Apply(t, fmt.Sprintf(`pipeline:
  identifier: large
  name: Large
  orgIdentifier: default
  projectIdentifier: default_project
  stages:
    - stage:
        identifier: st
        name: St
        type: Custom
        spec: {execution: {steps: [{stepGroup: {identifier: g, name: g, strategy: {repeat: {times: %d}}, steps: [
          {stepGroup: {identifier: in, name: in, when: {stageStatus: Failure}, steps: [%s]}}]}}]}}
`, groups, strings.Join(list, ", ")))
	e := s.Run(t, "large", nil)
	var answer struct{ Root *bigNode }
	ask := func(method, path string) int {
		t.Helper()
		var raw json.RawMessage
		var in any
		if method == "POST" {
			in = map[string]any{}
		}
		answer.Root = nil
		if err := s.Call(t.Context(), method, path, in, &raw); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &answer); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(string(raw))
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > execution.MaxAnswer {
			t.Errorf("%s %s is answered with %d bytes", method, path, len(text))
		}
		return len(text)
	}
	for _, c := range [][2]string{{"GET", "/v1/executions/" + e.ID}, {"POST", "/v1/pipelines/large/plan"}} {
		size := ask(c[0], c[1])
		shown, hidden := answer.Root.count()
		if shown+hidden != all || shown > execution.MaxShown {
			t.Errorf("%s: %d nodes are shown in %d bytes and %d are hidden; there are %d", c[1], shown, size, hidden, all)
		}
		group := answer.Root.Children[0].Children[0].Children[groups-1].Children[0]
		if group.Hidden == nil || group.Hidden.Nodes != steps {
			t.Fatalf("%s: of the last group's steps are hidden %+v; want all", c[1], group.Hidden)
		}
		ask(c[0], fmt.Sprintf("%s?node=%s&from=%d", c[1], group.ID, group.Hidden.From+1))
		if shown, hidden := answer.Root.count(); answer.Root.ID != group.ID || shown != steps || hidden != 0 {
			t.Errorf("%s: of the rest below %s %d nodes are shown, and %d are hidden", c[1], group.ID, shown, hidden)
		}
	}
}

// What is written out is refused when it is saved: nothing is left to plan.
func TestNestedLoopsThatAreWrittenOutAreRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, wire.ServeConfig{})
	steps := `{step: {identifier: w, name: w, type: Wait, spec: {duration: 1s}}}`
	for _, id := range []string{"a", "b", "c", "d"} {
		steps = "{stepGroup: {identifier: " + id + ", name: g, strategy: {repeat: {times: 256}}, steps: [" + steps + "]}}"
	}
	doc := "pipeline: {identifier: bomb, name: bomb, orgIdentifier: default, projectIdentifier: default_project, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [" + steps + "]}}}}]}"
	err := s.Call(t.Context(), "PUT", "/v1/entities", doc, nil)
	if err == nil || !strings.Contains(err.Error(), "more than 20000 nodes") {
		t.Errorf("saving gives %v; want it refused for its nodes", err)
	}
}
