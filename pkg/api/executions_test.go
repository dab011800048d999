package api_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

func TestADelegateDoesATask(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.register("d1")
	e := c.run(pipeline)
	a := c.claim("d1")
	if a.Kind != task.KindShell || a.Execution != e.ID || a.Fence != 1 || a.Attempt != 1 || !strings.Contains(string(a.Payload), "echo hello") {
		t.Errorf("the assignment is %+v", a)
	}

	// Its log, in two batches of which the first comes twice.
	first := protocol.LogBatch{Fence: 1, Chunks: [][]byte{[]byte(`{"t":1,"u":"Execute","l":"INFO","m":"one"}` + "\n")}}
	for range 2 {
		if got := c.post(c.dlg, taskPath("d1", a, "logs"), first, nil); got != http.StatusNoContent {
			t.Errorf("logs: status %d; want 204", got)
		}
	}
	second := protocol.LogBatch{Fence: 1, First: 1, Chunks: [][]byte{[]byte(`{"t":2,"m":"two"}` + "\n" + `{"t":3,"m":"three"}` + "\n")}}
	c.post(c.dlg, taskPath("d1", a, "logs"), second, nil)
	log, err := c.Log(t.Context(), e.ID, "greet", apiclient.LogQuery{})
	if err != nil {
		t.Fatal(err)
	}
	want := api.Log{
		Node: "pipeline.stages.say.spec.execution.steps.greet", Attempt: 1, Attempts: 1, Next: 2,
		Lines: []api.LogLine{{Time: 1, Unit: "Execute", Level: "INFO", Text: "one"}, {Time: 2, Text: "two"}, {Time: 3, Text: "three"}},
	}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}

	// Its lease, its result, which may come twice too.
	var beat protocol.HeartbeatAnswer
	if got := c.post(c.dlg, "d1/heartbeat", protocol.Heartbeat{Running: []protocol.Held{{ID: a.ID, Fence: 1}}}, &beat); got != 200 || len(beat.Cancel) > 0 {
		t.Errorf("heartbeat: status %d, %+v", got, beat)
	}
	in := protocol.Resolve{Fence: 1, Texts: map[string]string{"values.yaml": "who: <+pipeline.name>"}}
	if got := c.post(c.dlg, taskPath("d1", a, "resolve"), in, nil); got != http.StatusForbidden {
		t.Errorf("resolve: status %d; want 403 for a script, which fetches no files", got)
	}
	for range 2 {
		result := protocol.Report{Fence: 1, Result: task.Result{Status: task.Succeeded}}
		if got := c.post(c.dlg, taskPath("d1", a, "result"), result, nil); got != http.StatusNoContent {
			t.Errorf("result: status %d; want 204", got)
		}
	}
	if tree := c.ends(e.ID); tree.Status != plan.Success {
		t.Errorf("the execution is %s; want Success", tree.Status)
	}
	if log, err = c.Log(t.Context(), e.ID, "greet", apiclient.LogQuery{From: 2, Wait: 60}); err != nil || !log.Ended || len(log.Lines) > 0 {
		t.Errorf("the rest of the log is %+v, %v; want that it has ended", log, err)
	}
	if got := c.post(c.dlg, "d1", nil, nil); got != http.StatusNoContent {
		t.Errorf("goodbye: status %d; want 204", got)
	}
	if got := c.post(c.dlg, "d1/claim", protocol.Claim{Max: 1}, nil); got != http.StatusNotFound {
		t.Errorf("claim after goodbye: status %d; want 404", got)
	}
}

func TestADelegateSpeaksForItselfOnly(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.register("d1")
	c.register("d2")
	c.run(pipeline)
	a := c.claim("d1")
	for _, r := range []struct {
		delegate string
		fence    int64
	}{{"d2", 1}, {"d1", 2}, {"d1", 0}} {
		if got := c.post(c.dlg, taskPath(r.delegate, a, "result"), protocol.Report{Fence: r.fence}, nil); got != http.StatusConflict {
			t.Errorf("%s with fence %d: status %d; want 409", r.delegate, r.fence, got)
		}
	}
	other, err := c.CreateToken(t.Context(), ref.Scope{}, api.CreateToken{Kind: store.TokenDelegate, Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	for path, in := range map[string]any{
		"register": protocol.Register{ID: "d1", Name: "blue"}, "d1/claim": protocol.Claim{Max: 1}, "d1/heartbeat": protocol.Heartbeat{},
		taskPath("d1", a, "result"): protocol.Report{Fence: 1},
	} {
		if got := c.post(other.Secret, path, in, nil); got != http.StatusForbidden {
			t.Errorf("%s with another token: status %d; want 403", path, got)
		}
	}
	big := protocol.Report{Fence: 1, Result: task.Result{Status: task.Succeeded, Message: strings.Repeat("x", task.MaxResult)}}
	if got := c.post(c.dlg, taskPath("d1", a, "result"), big, nil); got != http.StatusRequestEntityTooLarge {
		t.Errorf("a result that is too large: status %d; want 413", got)
	}
	if got := c.post(c.dlg, taskPath("d1", a, "release"), protocol.Held{ID: a.ID, Fence: 1}, nil); got != http.StatusNoContent {
		t.Errorf("release: status %d; want 204", got)
	}
	if again := c.claim("d2"); again.ID != a.ID || again.Fence != 2 {
		t.Errorf("after the release %+v was claimed; want %s with fence 2", again, a.ID)
	}
}

// TestALateReportChangesNoSecretOutput: one that is refused leaves what the
// first has given to the steps that follow.
func TestALateReportChangesNoSecretOutput(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.register("d1")
	c.register("d2")
	c.run(`pipeline:
  name: pass
  identifier: pass
  stages:
    - stage:
        name: s
        identifier: s
        type: Custom
        spec:
          execution:
            steps:
              - step:
                  {name: make, identifier: make, type: ShellScript, timeout: 10m, spec: {shell: Bash, onDelegate: true, source: {type: Inline, spec: {script: "x"}},
                   outputVariables: [{name: key, type: Secret, value: key}]}}
              - step:
                  {name: use, identifier: use, type: ShellScript, timeout: 10m, spec: {shell: Bash, onDelegate: true,
                   source: {type: Inline, spec: {script: "use <+execution.steps.make.output.outputVariables.key>"}}}}
`)
	report := func(fence int64, key string) protocol.Report {
		return protocol.Report{Fence: fence, Result: task.Result{Status: task.Succeeded, SecretOutputs: map[string]string{"output.outputVariables.key": key}}}
	}
	a := c.claim("d1")
	if got := c.post(c.dlg, taskPath("d1", a, "result"), report(1, "right"), nil); got != http.StatusNoContent {
		t.Fatalf("result: status %d; want 204", got)
	}
	for delegate, fence := range map[string]int64{"d1": 0, "d2": 1} {
		if got := c.post(c.dlg, taskPath(delegate, a, "result"), report(fence, "wrong"), nil); got != http.StatusConflict {
			t.Errorf("%s with fence %d: status %d; want 409", delegate, fence, got)
		}
	}
	if got := c.post(c.dlg, taskPath("d1", a, "result"), report(1, "changed"), nil); got != http.StatusNoContent {
		t.Errorf("the result again: status %d; want 204", got)
	}
	use := c.claim("d1")
	if got := slices.Collect(maps.Values(use.Secrets)); !slices.Equal(got, []string{"right"}) {
		t.Errorf("the next step gets %q; want what was reported first", got)
	}
}

func TestATokenOfAProjectGetsItsTasksOnly(t *testing.T) {
	t.Parallel()
	c := serve(t)
	made, err := c.CreateToken(t.Context(), ref.Scope{Org: "default", Project: "shop"}, api.CreateToken{Kind: store.TokenDelegate, Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	c.register("d1")
	shop := *c
	shop.dlg = made.Secret
	shop.register("d2")
	c.run(pipeline)
	a := c.claim("d1")
	if got := c.post(c.dlg, taskPath("d1", a, "release"), protocol.Held{ID: a.ID, Fence: a.Fence}, nil); got != http.StatusNoContent {
		t.Fatalf("release: status %d; want 204", got)
	}
	var got api.Claimed
	if shop.post(shop.dlg, "d2/claim", protocol.Claim{Max: 1}, &got); len(got.Tasks) > 0 {
		t.Errorf("the delegate of project shop got %+v of project web", got.Tasks)
	}
	c.claim("d1")
}

func TestAnIdempotencyKeyStartsOneExecution(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.run(pipeline)
	start := func(body string) (int, string) {
		var e api.Execution
		status := c.send("POST", "/v1/pipelines/hello/executions"+scope, body, &e, "Idempotency-Key", "k")
		return status, e.ID
	}
	_, first := start("{}")
	if status, again := start("{}"); status != 200 || again != first {
		t.Errorf("again: status %d, execution %s; want %s", status, again, first)
	}
	if status, _ := start(`{"inputs":{"a":"b"}}`); status != 409 {
		t.Errorf("another body: status %d; want 409", status)
	}
	if _, err := c.Abort(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	c.ends(first)
	var again [2]api.Execution
	for i := range again {
		c.send("POST", "/v1/executions/"+first+"/retry", "", &again[i], "Idempotency-Key", "k")
	}
	if again[0].ID == "" || again[0].ID != again[1].ID || again[0].RetryOf != first {
		t.Errorf("the same retry twice: %+v; want one execution", again)
	}
	all, _, err := c.Executions(t.Context(), project(), apiclient.ExecutionFilter{Pipeline: "hello"}, apiclient.Page{})
	if err != nil || len(all) != 3 {
		t.Errorf("there are %d executions, %v; want 3", len(all), err)
	}
}

func TestAStepWhoseTaskNobodyHasIsTaskWaiting(t *testing.T) {
	t.Parallel()
	c := serve(t)
	e := c.run(pipeline)
	var seen []plan.Status
	err := c.Watch(t.Context(), e.ID, func(tree api.ExecutionTree) {
		greet := tree.Root.Children[0].Children[0]
		if len(seen) == 0 || seen[len(seen)-1] != greet.Status {
			seen = append(seen, greet.Status)
		}
		if greet.Status == plan.TaskWaiting && len(seen) < 3 {
			c.register("d1")
			a := c.claim("d1")
			if after, err := c.Execution(t.Context(), e.ID); err != nil || after.Root.Children[0].Children[0].Status != plan.Running {
				t.Errorf("a delegate has the task, and the step is %s, %v; want Running", after.Root.Children[0].Children[0].Status, err)
			}
			c.post(c.dlg, taskPath("d1", a, "result"), protocol.Report{Fence: a.Fence, Result: task.Result{Status: task.Succeeded}}, nil)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.Index(seen, plan.TaskWaiting); i < 0 || seen[len(seen)-1] != plan.Success {
		t.Errorf("the step was %v; want TaskWaiting among them and Success last", seen)
	}
}

// asking is a pipeline that waits for an approval.
const asking = `pipeline:
  identifier: ask
  name: Ask
  stages:
    - stage:
        identifier: s
        name: s
        type: Approval
        spec:
          execution:
            steps:
              - step:
                  identifier: go
                  name: Go on
                  type: HarnessApproval
                  timeout: 1m
                  spec:
                    approvalMessage: go?
                    approvers: {userGroups: [_project_all_users], minimumCount: 1, disallowPipelineExecutor: false}
`

func TestADecisionIsAuditedWithItsRequest(t *testing.T) {
	t.Parallel()
	c := serve(t)
	e := c.run(asking)
	err := c.Watch(t.Context(), e.ID, func(tree api.ExecutionTree) {
		if tree.Status == plan.ApprovalWaiting {
			status := c.send("POST", "/v1/executions/"+e.ID+"/nodes/go/approval", `{"action":"APPROVE","comments":"fine"}`, nil, api.RequestIDHeader, "req-7")
			if status != http.StatusNoContent && status != http.StatusConflict {
				t.Errorf("approve: status %d", status)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	records, _, err := c.Audit(t.Context(), apiclient.AuditChoice{}, apiclient.Page{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range records {
		if r.Action == audit.Approve {
			got = append(got, r.Actor+" "+r.Kind+" "+r.After+" "+r.Request)
		}
	}
	if diff := cmp.Diff([]string{"admin approval fine req-7"}, got); diff != "" {
		t.Errorf("approvals in the trail (-want +got):\n%s", diff)
	}
}

func TestAnExecutionOutsideTheScopeIsAsGoodAsNone(t *testing.T) {
	t.Parallel()
	c := serve(t)
	e := c.run(pipeline)
	made, err := c.CreateToken(t.Context(), ref.Scope{Org: "default", Project: "shop"}, api.CreateToken{Kind: store.TokenUser, Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	shop := apiclient.New(c.url, made.Secret)
	_, get := shop.Execution(t.Context(), e.ID)
	_, abort := shop.Abort(t.Context(), e.ID)
	_, retry := shop.Retry(t.Context(), e.ID, api.Retry{})
	_, log := shop.Log(t.Context(), e.ID, "greet", apiclient.LogQuery{})
	for name, err := range map[string]error{
		"get": get, "abort": abort, "retry": retry, "log": log,
		"watch":     shop.Watch(t.Context(), e.ID, func(api.ExecutionTree) {}),
		"approve":   shop.Answer(t.Context(), e.ID, "greet", api.ApprovalAnswer{Action: "APPROVE"}),
		"intervene": shop.Intervene(t.Context(), e.ID, "greet", api.Intervention{Action: plan.Retry}),
	} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v; want NOT_FOUND", name, err)
		}
	}
}

func TestALogIsFollowed(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.register("d1")
	e := c.run(pipeline)
	a := c.claim("d1")
	got := make(chan api.Log, 1)
	go func() {
		log, err := c.Log(t.Context(), e.ID, "greet", apiclient.LogQuery{Wait: 60})
		if err != nil {
			t.Error(err)
		}
		got <- log
	}()
	begun := time.Now()
	c.post(c.dlg, taskPath("d1", a, "logs"), protocol.LogBatch{Fence: 1, Chunks: [][]byte{[]byte(`{"t":1,"m":"here"}` + "\n")}}, nil)
	if log := <-got; len(log.Lines) != 1 || log.Lines[0].Text != "here" || log.Ended {
		t.Errorf("got %+v; want the line as soon as it is there", log)
	}
	if waited := time.Since(begun); waited > 30*time.Second {
		t.Errorf("it took %s", waited)
	}
}

// Who waits for an execution's end hears of it when it comes, and of how it
// stands if it doesn't; nobody waits for what he may not see.
func TestAnExecutionsEndIsWaitedFor(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.register("d1")
	e := c.run(pipeline)
	a := c.claim("d1")
	path := "/v1/executions/" + e.ID + "?wait="
	var now, ended api.ExecutionTree
	if got := c.send(http.MethodGet, path+"1", "", &now); got != http.StatusOK || now.Status.Terminal() {
		t.Errorf("status %d, the execution is %s; want that it runs on", got, now.Status)
	}
	done := make(chan int)
	go func() { done <- c.send(http.MethodGet, path+"60", "", &ended) }()
	c.post(c.dlg, taskPath("d1", a, "result"), protocol.Report{Fence: 1, Result: task.Result{Status: task.Succeeded}}, nil)
	if got := <-done; got != http.StatusOK || ended.Status != plan.Success || ended.Root.Status != plan.Success {
		t.Errorf("status %d, the execution is %s; want Success", got, ended.Status)
	}
	if got := c.send(http.MethodGet, path+"60", "", &now); got != http.StatusOK || now.Status != plan.Success {
		t.Errorf("after its end: status %d, %s", got, now.Status)
	}
	for path, want := range map[string]int{path + "61": http.StatusBadRequest, "/v1/executions/none?wait=60": http.StatusNotFound} {
		if got := c.send(http.MethodGet, path, "", nil); got != want {
			t.Errorf("%s: status %d; want %d", path, got, want)
		}
	}
}
