package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// lossy stands between a delegate and its server. It loses the answers to the
// first claims that get something: claimed is called, and the delegate hears
// nothing.
type lossy struct {
	mu      sync.Mutex
	left    int
	claimed func()
}

func (l *lossy) lose(r *http.Response) error {
	if !strings.HasSuffix(r.Request.URL.Path, "/claim") || r.StatusCode != http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == 0 || !bytes.Contains(body, []byte(`"tasks":[{`)) {
		return nil
	}
	l.left--
	l.claimed()
	return errors.New("the server was killed")
}

// Killed each time it has given a delegate a task and before the delegate hears
// of it, the server offers the task again: no lease has to end, no attempt is
// counted, and every step's side effect happens once. Leases here are longer
// than any test.
func TestAServerKilledInAClaim(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, addr := filepath.Join(dir, "marks"), freeAddr(t)
	serve := func() *process {
		return spawn(t, serveEnv+"="+filepath.Join(dir, "data"), addrEnv+"="+addr, leaseEnv+"=1h")
	}
	p := serve()
	s := client(p)
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	const kills = 6
	proxy := httputil.NewSingleHostReverseProxy(target)
	between := &lossy{left: kills, claimed: func() { p.kill(); p = serve() }}
	proxy.ModifyResponse = between.lose
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	spawn(t, delegateEnv+"=outside", addrEnv+"="+front.URL, tokenEnv+"="+delegateToken(t, s))

	s.Apply(t, one("p", shell("a", "echo a >> "+file)+", "+shell("b", "echo b >> "+file)+", {parallel: ["+
		shell("c", "echo c >> "+file)+", "+shell("d", "echo d >> "+file)+"]}", ""))
	id := s.Begin(t, "p", nil)
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	e, err := s.Until(ctx, id, e2e.Ended)
	if err != nil || e.Status != "Success" {
		t.Fatalf("%v, %s: %s", err, e.Status, e.Message)
	}
	for _, step := range []string{"a", "b", "c", "d", "after"} {
		if n := e.Root.Find(step); n.Attempt != 1 {
			t.Errorf("step %s has the attempt %d: %s", step, n.Attempt, n.Message)
		}
	}
	if got, want := fmt.Sprint(marks(t, file)), fmt.Sprint(map[string]int{"a": 1, "b": 1, "c": 1, "d": 1}); got != want {
		t.Errorf("the steps' marks are %s, want %s", got, want)
	}
	if between.left != 0 {
		t.Errorf("the server was killed %d times, want %d", kills-between.left, kills)
	}
}
