package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/extent"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
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

// A step whose outputs don't fit to those that its execution keeps fails by
// itself, and the execution goes on. Small ones always have room.
func TestAStepWhoseOutputsHaveNoRoomFails(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true, Data: data})
	const pipeline = `pipeline:
  identifier: wordy
  name: Wordy
  orgIdentifier: default
  projectIdentifier: default_project
  stages:
    - stage:
        identifier: s
        name: S
        type: Custom
        spec:
          execution:
            steps:
              - step: {identifier: held, name: held, type: HarnessApproval, timeout: 1h, spec: {approvalMessage: "go on?", approvers: {minimumCount: 1, userGroups: [account._account_all_users]}}}
              - step: {identifier: first, name: first, type: ShellScript, timeout: 1m, spec: LARGE}
              - step:
                  identifier: second
                  name: second
                  type: ShellScript
                  timeout: 1m
                  spec: LARGE
                  failureStrategies: [{onFailure: {errors: [ResourceLimitsFailure], action: {type: Ignore}}}]
              - step:
                  identifier: third
                  name: third
                  type: ShellScript
                  timeout: 1m
                  spec: {shell: Bash, outputVariables: [{name: B, type: String, value: B}], source: {type: Inline, spec: {script: 'B="<+execution.steps.first.output.outputVariables.A>"; B=${#B}'}}}
`
	large := `{shell: Bash, outputVariables: [{name: A, type: String, value: A}], source: {type: Inline, spec: {script: "A=$(head -c 5000 /dev/zero | tr '\\0' x)"}}}`
	s.Apply(t, strings.NewReplacer("LARGE", large).Replace(pipeline))
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	id := s.Begin(t, "wordy", nil)
	if _, err := s.Until(ctx, id, func(e e2e.Execution) bool { return e.Root.Find("held").Status == "ApprovalWaiting" }); err != nil {
		t.Fatal(err)
	}
	// While nobody else has the database, almost all of the room is taken.
	s.Stop(t)
	beside(t, data, func(kept store.Store) {
		keep := store.Keeping{Bytes: extent.MaxOutputs - 6000, Most: extent.MaxOutputs}
		if err := kept.CommitExecution(t.Context(), id, store.Commit{Keeps: keep}); err != nil {
			t.Fatal(err)
		}
	})
	token := s.Token // which is told once
	s = e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true, Data: data})
	s.Token = token
	if err := s.Call(t.Context(), "POST", "/v1/executions/"+id+"/nodes/held/approval", map[string]any{"action": "APPROVE"}, nil); err != nil {
		t.Fatal(err)
	}
	e, err := s.Until(ctx, id, e2e.Ended)
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Root.Find("first"); got.Status != "Success" {
		t.Errorf("what fits is %s: %s", got.Status, got.Message)
	}
	if got := e.Root.Find("second"); got.Status != "IgnoreFailed" || !strings.Contains(got.Message, "more than 64 MiB in all") {
		t.Errorf("what doesn't is %s: %s", got.Status, got.Message)
	}
	if got := e.Root.Find("third"); got.Status != "Success" {
		t.Errorf("the one after it is %s: %s", got.Status, got.Message)
	}
	s.Stop(t)
	beside(t, data, func(kept store.Store) {
		nodes, err := kept.AllNodes(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		states := store.States(nodes)
		if got := states[plan.NodeID(e.Root.Find("second").ID)]; len(got.Outputs) > 0 {
			t.Errorf("what doesn't fit is kept: %d bytes", len(got.Outputs))
		}
		if got := states[plan.NodeID(e.Root.Find("third").ID)]; !strings.Contains(string(got.Outputs), `"5000"`) {
			t.Errorf("the one after it puts out %s", got.Outputs)
		}
	})
}

// beside opens a server's store, which isn't running.
func beside(t *testing.T, data string, f func(store.Store)) {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(data, "slipway.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	kept, err := sqlite.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	f(kept.Store)
}
