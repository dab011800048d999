package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// control is a whole control plane without a delegate, whose part the test
// plays.
type control struct {
	*apiclient.Client
	t     *testing.T
	url   string
	admin string // token of the whole account
	dlg   string // token of a delegate
}

// project is where the tests' pipelines are.
func project() ref.Scope { return ref.Scope{Org: "default", Project: "web"} }

// serve starts a control plane that ends with the test.
func serve(t *testing.T) *control {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ready, done := make(chan wire.Info, 1), make(chan error, 1)
	go func() {
		done <- wire.Serve(ctx, wire.ServeConfig{
			Addr: "127.0.0.1:0", Data: t.TempDir(), Log: slog.New(slog.DiscardHandler),
			Ready: func(i wire.Info) { ready <- i },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case info := <-ready:
		c := &control{Client: apiclient.New(info.URL, info.Token), t: t, url: info.URL, admin: info.Token}
		made, err := c.CreateToken(t.Context(), ref.Scope{}, api.CreateToken{Kind: store.TokenDelegate, Name: "d"})
		if err != nil {
			t.Fatal(err)
		}
		c.dlg = made.Secret
		return c
	case err := <-done:
		t.Fatal(err)
		return nil
	}
}

// run saves a pipeline and starts it.
func (c *control) run(doc string) api.Execution {
	c.t.Helper()
	return c.runIn(project(), doc)
}

// runIn saves a pipeline in a project and starts it.
func (c *control) runIn(scope ref.Scope, doc string) api.Execution {
	c.t.Helper()
	saved, err := c.Save(c.t.Context(), apiclient.Document{Scope: scope, YAML: []byte(doc)})
	if err != nil {
		c.t.Fatal(err)
	}
	e, err := c.Start(c.t.Context(), scope, saved.ID, api.StartExecution{})
	if err != nil {
		c.t.Fatal(err)
	}
	return e
}

// ends waits for an execution's end.
func (c *control) ends(id string) api.ExecutionTree {
	c.t.Helper()
	var last api.ExecutionTree
	if err := c.Watch(c.t.Context(), id, func(t api.ExecutionTree) { last = t }); err != nil {
		c.t.Fatal(err)
	}
	return last
}

// send sends a user's request with headers, in pairs, and decodes the answer
// into out unless it is nil.
func (c *control) send(method, path, body string, out any, headers ...string) int {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.admin)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	if out != nil {
		if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
			c.t.Fatal(err)
		}
	}
	return resp.StatusCode
}

// post sends a delegate's request and decodes the answer. The status is
// given for the test to judge.
func (c *control) post(token, path string, in, out any) int {
	c.t.Helper()
	doc, err := json.Marshal(in)
	if err != nil {
		c.t.Fatal(err)
	}
	method := http.MethodPost
	if in == nil {
		method = http.MethodDelete
	}
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+"/v1/delegate/"+path, bytes.NewReader(doc))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if out != nil && resp.StatusCode == http.StatusOK {
		if err := json.Unmarshal(body, out); err != nil {
			c.t.Fatalf("%s: decode %s: %v", path, body, err)
		}
	}
	return resp.StatusCode
}

// register says hello as a delegate with an id.
func (c *control) register(id string) {
	c.t.Helper()
	var out protocol.Registered
	in := protocol.Register{ID: id, Name: "blue", Kinds: []task.Kind{task.KindShell}, Capacity: 5}
	if got := c.post(c.dlg, "register", in, &out); got != http.StatusOK || out.HeartbeatEvery <= 0 || out.PollEvery <= 0 {
		c.t.Fatalf("register: status %d, %+v", got, out)
	}
}

// A claim that announces silence counts as a heartbeat; others write nothing.
func TestAClaimMayBeAHeartbeat(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.register("d1")
	for _, quiet := range []time.Duration{0, 5 * time.Minute} {
		before := c.seen("d1")
		if got := c.post(c.dlg, "d1/claim", protocol.Claim{Max: 1, Running: 1, Quiet: quiet}, nil); got != http.StatusOK {
			t.Fatalf("claim: status %d", got)
		}
		if after := c.seen("d1"); (after.Running == 1) != (quiet > 0) || after.LastSeen.Before(before.LastSeen) {
			t.Errorf("announcing %s: %+v, before %+v", quiet, after, before)
		}
	}
}

// seen is a delegate as people see it.
func (c *control) seen(id string) api.Delegate {
	c.t.Helper()
	all, _, err := c.Delegates(c.t.Context(), ref.Scope{}, apiclient.Page{})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, d := range all {
		if d.ID == id {
			return d
		}
	}
	c.t.Fatalf("no delegate %s in %+v", id, all)
	return api.Delegate{}
}

// claim claims tasks until it gets some; each try asks for work that a
// wake-up would have told of.
func (c *control) claim(id string) task.Assignment {
	c.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		var out api.Claimed
		if got := c.post(c.dlg, id+"/claim", protocol.Claim{Max: 1}, &out); got != http.StatusOK {
			c.t.Fatalf("claim: status %d", got)
		}
		if len(out.Tasks) > 0 {
			return out.Tasks[0]
		}
	}
	c.t.Fatal("no task came")
	return task.Assignment{}
}

// taskPath is where a delegate speaks of a task.
func taskPath(delegate string, a task.Assignment, what string) string {
	return delegate + "/tasks/" + strings.ReplaceAll(string(a.ID), "/", "%2F") + "/" + what
}
