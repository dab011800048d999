package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	gitops "github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// listen opens a delegate's socket.
func (c *control) listen(token, delegate string) (conn *websocket.Conn, status int, err error) {
	conn, resp, err := websocket.Dial(c.t.Context(), strings.Replace(c.url, "http", "ws", 1)+"/v1/delegate/"+delegate+"/socket", //nolint:bodyclose // websocket.Dial says that nobody has to
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err == nil {
		c.t.Cleanup(func() { _ = conn.CloseNow() })
	}
	if resp != nil {
		status = resp.StatusCode
	}
	return conn, status, err
}

func hear(ctx context.Context, t *testing.T, conn *websocket.Conn) protocol.Wake {
	t.Helper()
	var w protocol.Wake
	if err := wsjson.Read(ctx, conn, &w); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestASocketTellsOfWorkAndOfCancels(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.register("d1")
	conn, _, err := c.listen(c.dlg, "d1")
	if err != nil {
		t.Fatal(err)
	}
	e := c.run(pipeline)
	if w := hear(t.Context(), t, conn); w.Type != "work" {
		t.Errorf("heard %+v; want work", w)
	}
	a := c.claim("d1")
	if _, err := c.Abort(t.Context(), e.ID); err != nil {
		t.Fatal(err)
	}
	for { // the word of work may come again
		w := hear(t.Context(), t, conn)
		if w.Type == "cancel" {
			if w.Task != a.ID {
				t.Errorf("heard %+v; want that %s is cancelled", w, a.ID)
			}
			return
		}
	}
}

// TestASocketTellsOfNews: the delegate that is a GitOps agent, too, hears over its
// socket that a document was saved, and others don't.
func TestASocketTellsOfNews(t *testing.T) {
	t.Parallel()
	c := serve(t)
	save := func(doc string) {
		if _, err := c.Save(t.Context(), apiclient.Document{Scope: project(), YAML: []byte(doc)}); err != nil {
			t.Fatal(err)
		}
	}
	save("gitopsAgent: {identifier: eu1, name: eu1, orgIdentifier: default, projectIdentifier: web}")
	socket := map[string]*websocket.Conn{}
	for _, id := range []string{"d1", "d2"} {
		c.register(id)
		conn, _, err := c.listen(c.dlg, id)
		if err != nil {
			t.Fatal(err)
		}
		socket[id] = conn
	}
	hello := gitops.Hello{Lead: gitops.Lead{Agent: gitops.Agent{Org: "default", Project: "web", ID: "eu1"}, Fence: 1}, ClusterUID: "u", Delegate: "d1"}
	if status := c.post(c.dlg, "gitops/hello", hello, &gitops.Welcome{}); status != http.StatusOK {
		t.Fatalf("the hello got status %d", status)
	}
	save("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, annotations: {slipway.dev/agent: eu1}}\nspec: {source: {repoURL: https://a/b, path: .}, destination: {name: in-cluster}}\n")
	c.run(pipeline)
	for id, told := range map[string]bool{"d1": true, "d2": false} {
		heard := map[string]bool{}
		for !heard["work"] || told && !heard["news"] {
			heard[hear(t.Context(), t, socket[id]).Type] = true
		}
		if heard["news"] != told {
			t.Errorf("%s heard %v; want news: %v", id, heard, told)
		}
	}
}

func TestASocketIsTheDelegatesOwn(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.register("d1")
	for _, try := range []struct {
		token, delegate string
		want            int
	}{{c.dlg, "d2", http.StatusNotFound}, {c.admin, "d1", http.StatusForbidden}, {"", "d1", http.StatusUnauthorized}} {
		_, status, err := c.listen(try.token, try.delegate)
		if err == nil || status != try.want {
			t.Errorf("socket of %s: %v; want status %d", try.delegate, err, try.want)
		}
	}
}
