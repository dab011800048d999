package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
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
	first := task.LogBatch{Fence: 1, Chunks: [][]byte{[]byte(`{"t":1,"u":"Execute","l":"INFO","m":"one"}` + "\n")}}
	for range 2 {
		if got := c.post(c.dlg, taskPath("d1", a, "logs"), first, nil); got != http.StatusNoContent {
			t.Errorf("logs: status %d; want 204", got)
		}
	}
	second := task.LogBatch{Fence: 1, First: 1, Chunks: [][]byte{[]byte(`{"t":2,"m":"two"}` + "\n" + `{"t":3,"m":"three"}` + "\n")}}
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

	// Its lease, its texts, its result, which may come twice too.
	var beat task.HeartbeatAnswer
	if got := c.post(c.dlg, "d1/heartbeat", task.Heartbeat{Running: []task.Held{{ID: a.ID, Fence: 1}}}, &beat); got != 200 || len(beat.Cancel) > 0 {
		t.Errorf("heartbeat: status %d, %+v", got, beat)
	}
	var texts task.Resolved
	in := task.Resolve{Fence: 1, Texts: map[string]string{"values.yaml": "who: <+pipeline.name>"}}
	if got := c.post(c.dlg, taskPath("d1", a, "resolve"), in, &texts); got != 200 || texts.Texts["values.yaml"] != "who: hello" {
		t.Errorf("resolve: status %d, %+v", got, texts)
	}
	for range 2 {
		result := task.Report{Fence: 1, Result: task.Result{Status: task.Succeeded}}
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
	if got := c.post(c.dlg, "d1/claim", task.Claim{Max: 1}, nil); got != http.StatusNotFound {
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
		if got := c.post(c.dlg, taskPath(r.delegate, a, "result"), task.Report{Fence: r.fence}, nil); got != http.StatusConflict {
			t.Errorf("%s with fence %d: status %d; want 409", r.delegate, r.fence, got)
		}
	}
	other, err := c.CreateToken(t.Context(), ref.Scope{}, api.CreateToken{Kind: store.TokenDelegate, Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	for path, in := range map[string]any{
		"register": task.Register{ID: "d1", Name: "blue"}, "d1/claim": task.Claim{Max: 1}, "d1/heartbeat": task.Heartbeat{},
		taskPath("d1", a, "result"): task.Report{Fence: 1},
	} {
		if got := c.post(other.Secret, path, in, nil); got != http.StatusForbidden {
			t.Errorf("%s with another token: status %d; want 403", path, got)
		}
	}
	big := task.Report{Fence: 1, Result: task.Result{Status: task.Succeeded, Message: strings.Repeat("x", task.MaxResult)}}
	if got := c.post(c.dlg, taskPath("d1", a, "result"), big, nil); got != http.StatusRequestEntityTooLarge {
		t.Errorf("a result that is too large: status %d; want 413", got)
	}
	if got := c.post(c.dlg, taskPath("d1", a, "release"), task.Held{ID: a.ID, Fence: 1}, nil); got != http.StatusNoContent {
		t.Errorf("release: status %d; want 204", got)
	}
	if again := c.claim("d2"); again.ID != a.ID || again.Fence != 2 {
		t.Errorf("after the release %+v was claimed; want %s with fence 2", again, a.ID)
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
	if got := c.post(c.dlg, taskPath("d1", a, "release"), task.Held{ID: a.ID, Fence: a.Fence}, nil); got != http.StatusNoContent {
		t.Fatalf("release: status %d; want 204", got)
	}
	var got api.Claimed
	if shop.post(shop.dlg, "d2/claim", task.Claim{Max: 1}, &got); len(got.Tasks) > 0 {
		t.Errorf("the delegate of project shop got %+v of project web", got.Tasks)
	}
	c.claim("d1")
}

func TestAnIdempotencyKeyStartsOneExecution(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.run(pipeline)
	start := func(body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), "POST", c.url+"/v1/pipelines/hello/executions"+scope, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Api-Key", c.admin)
		r.Header.Set("Idempotency-Key", "k")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var e api.Execution
		if err := json.NewDecoder(resp.Body).Decode(&e); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, e.ID
	}
	_, first := start("{}")
	if status, again := start("{}"); status != 200 || again != first {
		t.Errorf("again: status %d, execution %s; want %s", status, again, first)
	}
	if status, _ := start(`{"inputs":{"a":"b"}}`); status != 409 {
		t.Errorf("another body: status %d; want 409", status)
	}
	all, _, err := c.Executions(t.Context(), project(), "hello", apiclient.Page{})
	if err != nil || len(all) != 2 {
		t.Errorf("there are %d executions, %v; want 2", len(all), err)
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
	_, retry := shop.Retry(t.Context(), e.ID)
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
	c.post(c.dlg, taskPath("d1", a, "logs"), task.LogBatch{Fence: 1, Chunks: [][]byte{[]byte(`{"t":1,"m":"here"}` + "\n")}}, nil)
	if log := <-got; len(log.Lines) != 1 || log.Lines[0].Text != "here" || log.Ended {
		t.Errorf("got %+v; want the line as soon as it is there", log)
	}
	if waited := time.Since(begun); waited > 30*time.Second {
		t.Errorf("it took %s", waited)
	}
}
