package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
)

// TestCtrlCStopsLookingOnly follows an execution that never ends, and
// interrupts once its first line is there.
func TestCtrlCStopsLookingOnly(t *testing.T) {
	t.Parallel()
	running := outline(t, "Running\nstage a Running 0-")
	requests := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r.Method + " " + r.URL.Path
		doc, _ := json.Marshal(running) // the test's own value
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", api.EventTree, doc)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	ctx, interrupt := context.WithCancel(t.Context())
	var complaints bytes.Buffer
	stopped := false
	a := newApp(process{out: writerFunc(func([]byte) { interrupt() }), err: &complaints, stop: func() { stopped = true }})
	err := a.follower.follow(ctx, apiclient.New(s.URL, "pat.x"), "x1")
	var code exitCode
	if !errors.As(err, &code) || code != interrupted || !stopped {
		t.Errorf("ended with %v, stopped %v; want exit code 130, and that a second Ctrl-C ends the process", err, stopped)
	}
	for _, want := range []string{"the execution goes on", "slipway executions watch x1", "slipway abort x1"} {
		if !strings.Contains(complaints.String(), want) {
			t.Errorf("said %q; want %q in it", complaints.String(), want)
		}
	}
	close(requests)
	for r := range requests {
		if r != "GET /v1/executions/x1/events" {
			t.Errorf("asked %s", r)
		}
	}
}

// writerFunc is told of every write.
type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

func TestAScreenOverwritesWhatItDrewLast(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := screen{out: &out}
	s.draw([]string{"a", "b"}, []string{"hint"})
	s.draw([]string{"c"}, nil)
	want := "\x1b[2Ka\n\x1b[2Kb\n\x1b[2Khint\n\x1b[J" + "\x1b[3A\x1b[2Kc\n\x1b[J"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("drawn (-want +got):\n%s", diff)
	}
}
