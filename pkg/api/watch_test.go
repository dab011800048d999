package api_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// event is one server-sent event.
type event struct{ name, data string }

// stream opens the events of an execution and gives the next one at each call;
// false at the end.
func (c *control) stream(id string) func() (event, bool) {
	c.t.Helper()
	return c.streamAs(c.admin, id)
}

func (c *control) streamAs(token, id string) func() (event, bool) {
	c.t.Helper()
	return c.events(token, "/v1/executions/"+id+"/events")
}

// events opens a stream of events with a token and gives the next one at each call; false at
// the end.
func (c *control) events(token, path string) func() (event, bool) {
	c.t.Helper()
	return c.eventsWith(path, "Authorization", "Bearer "+token)
}

// streamWith opens an execution's with headers, as pairs of name and value.
func (c *control) streamWith(id string, headers ...string) func() (event, bool) {
	c.t.Helper()
	return c.eventsWith("/v1/executions/"+id+"/events", headers...)
}

func (c *control) eventsWith(path string, headers ...string) func() (event, bool) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.url+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = resp.Body.Close() })
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		c.t.Fatalf("content type %q", got)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return func() (event, bool) {
		var e event
		for lines.Scan() {
			if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				e.name = name
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				e.data = data
				return e, true
			}
		}
		return e, false
	}
}

func TestWatchingGivesTheTreeAndThenChangesUntilTheEnd(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.register("d1")
	e := c.run(pipeline)
	a := c.claim("d1")
	next := c.stream(e.ID)
	first, _ := next()
	var tree api.ExecutionTree
	if err := json.Unmarshal([]byte(first.data), &tree); err != nil || first.name != api.EventTree || tree.ID != e.ID || tree.Status.Terminal() {
		t.Fatalf("the first event is %+v, %v; want the tree of a running execution", first, err)
	}
	c.post(c.dlg, taskPath("d1", a, "result"), protocol.Report{Fence: 1, Result: task.Result{Status: task.Failed, Message: "no"}}, nil)
	last := map[plan.NodeID]plan.Status{}
	status := tree.Status
	for {
		got, more := next()
		if !more {
			break
		}
		var change api.ExecutionChange
		if err := json.Unmarshal([]byte(got.data), &change); err != nil || got.name != api.EventChange {
			t.Fatalf("the event is %+v, %v; want a change", got, err)
		}
		status = change.Execution.Status
		for _, n := range change.Nodes {
			if last[n.ID] = n.Status; len(n.Children) > 0 {
				t.Errorf("the change of %s has its children", n.ID)
			}
		}
	}
	if status != plan.Failed {
		t.Errorf("the last status is %s; want Failed", status)
	}
	for id, s := range last {
		if s != plan.Failed {
			t.Errorf("%s was last heard of as %s; want Failed", id, s)
		}
	}
	if len(last) != 3 { // the pipeline, the stage and the step
		t.Errorf("heard of %d nodes; want 3: %v", len(last), last)
	}

	// Whoever comes late, or again, gets the whole and the end at once.
	again := c.stream(e.ID)
	if first, _ := again(); first.name != api.EventTree || !strings.Contains(first.data, `"message":"no"`) {
		t.Errorf("the first event of a late stream is %+v", first)
	}
	if got, more := again(); more {
		t.Errorf("then came %+v; want the end", got)
	}
}

func TestWatchingEndsWithTheToken(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.register("d1")
	e := c.run(pipeline)
	a := c.claim("d1")
	var made api.NewToken
	c.send(http.MethodPost, "/v1/tokens", `{"name": "leaver", "kind": "user"}`, &made)
	next := c.streamAs(made.Secret, e.ID)
	if first, more := next(); !more || first.name != api.EventTree {
		t.Fatalf("the first event is %+v; want the tree", first)
	}
	c.send(http.MethodDelete, "/v1/tokens/"+made.ID, "", nil)
	c.post(c.dlg, taskPath("d1", a, "result"), protocol.Report{Fence: 1, Result: task.Result{Status: task.Succeeded}}, nil)
	if got, more := next(); more {
		t.Errorf("after the token was revoked came %+v", got)
	}
}

func TestWatchingEndsWhereNobodyIsLetIn(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.register("d1")
	e := c.run(pipeline)
	a := c.claim("d1")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+"/v1/login/token", strings.NewReader(`{"token":"`+c.admin+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", c.url)
	r.Header.Set("X-Slipway-Console", "1")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || len(resp.Cookies()) != 1 {
		t.Fatalf("the login answers %s, %v", resp.Status, err)
	}
	session := resp.Cookies()[0]
	next := c.streamWith(e.ID, "Cookie", session.Name+"="+session.Value, "X-Slipway-Console", "1", "Sec-Fetch-Site", "same-origin")
	if first, more := next(); !more || first.name != api.EventTree {
		t.Fatalf("the first event is %+v; want the tree", first)
	}
	_, err = c.Save(t.Context(), apiclient.Document{YAML: []byte("ipAllowlist: {identifier: office, name: Office, allowedSourceType: [UI], ipAddress: 203.0.113.0/24}")})
	if err != nil {
		t.Fatal(err)
	}
	c.post(c.dlg, taskPath("d1", a, "result"), protocol.Report{Fence: 1, Result: task.Result{Status: task.Succeeded}}, nil) // delegates go on
	if got, more := next(); more {
		t.Errorf("after nobody was let in any more came %+v", got)
	}
}
