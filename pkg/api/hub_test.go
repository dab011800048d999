package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

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
