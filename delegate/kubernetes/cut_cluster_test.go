package kubernetes

import (
	"encoding/pem"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// cutProxy stands before an API server and cuts off the answer to every other
// of its requests, somewhere: those are what the steps must live with, so each
// is answered when it is asked again.
type cutProxy struct {
	mu   sync.Mutex
	seen map[string]int
	cuts int
}

// modify cuts off an answer, but for those that have no end.
func (c *cutProxy) modify(resp *http.Response) error {
	if resp.Request.URL.Query().Get("watch") != "" || strings.HasSuffix(resp.Request.URL.Path, "/log") {
		return nil
	}
	doc, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := resp.Request.Method + resp.Request.URL.String()
	c.seen[key]++
	cut := c.seen[key]%2 == 1 && len(doc) > 0
	resp.Header.Del("Content-Length")
	resp.ContentLength = -1
	resp.Body = io.NopCloser(&brokenOff{doc: doc, after: len(doc)})
	if cut {
		c.cuts++
		sum := fnv.New32()
		_, _ = io.WriteString(sum, key)
		resp.Body = io.NopCloser(&brokenOff{doc: doc, after: int(sum.Sum32()) % len(doc), breaks: true})
	}
	return nil
}

// brokenOff is a body that ends early.
type brokenOff struct {
	doc    []byte
	at     int
	after  int
	breaks bool
}

// Read reads up to the break.
func (b *brokenOff) Read(p []byte) (int, error) {
	if b.at == b.after {
		if b.breaks {
			return 0, io.ErrUnexpectedEOF
		}
		return 0, io.EOF
	}
	n := copy(p, b.doc[b.at:b.after])
	b.at += n
	return n, nil
}

// behind has the steps of a site go through a proxy that cuts answers off.
func (s *site) behind(t *testing.T) *cutProxy {
	t.Helper()
	to, err := url.Parse(s.config.Host)
	check(t, err)
	via, err := rest.TransportFor(rest.CopyConfig(s.config))
	check(t, err)
	c := &cutProxy{seen: map[string]int{}}
	server := httptest.NewTLSServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, Transport: via, ModifyResponse: c.modify, FlushInterval: -1,
	})
	t.Cleanup(server.Close)
	s.cluster.URL = server.URL
	s.cluster.CAPEM = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	return c
}

// Every second answer of the API server is cut off, and each step comes to what
// it comes to with a whole one.
func TestStepsWithAnswersThatAreCutOff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		stage besideStage
		want  []string
	}{
		{"canary", canaryStage(), []string{"cfg-1=1 cfg-canary=2 web:nginx:1 web-canary:nginx:2 Succeeded Succeeded", "cfg-1=1 web:nginx:1 Succeeded Succeeded"}},
		{"colours", colorStage(), []string{
			"cfg=1 cfg-green=2 web-blue:nginx:1 web-green:nginx:2 web>blue web-stage>green Succeeded Succeeded",
			"cfg=1 cfg-green=2 web-blue:nginx:1 web-green:nginx:2 web>green web-stage>blue Succeeded Succeeded",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			c := s.behind(t)
			p := tt.stage.begin(t, s, patiently)
			was := s.sight(t)
			for i, op := range tt.stage.steps {
				s.succeed(t, in(p, op))
				if got := s.sight(t).sum(); got != tt.want[i] {
					t.Errorf("after %s: got %s; want %s", op, got, tt.want[i])
				}
			}
			for _, op := range tt.stage.rollback {
				s.succeed(t, undo(p, op))
			}
			if diff := cmp.Diff(was.before(), s.sight(t).before()); diff != "" {
				t.Errorf("after the rollback (-want +got):\n%s", diff)
			}
			if c.cuts < 20 {
				t.Errorf("only %d answers were cut off", c.cuts)
			}
		})
	}
	t.Run("rolling", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		s.behind(t)
		s.succeed(t, s.step(lane.OpRolling, patiently("nginx:1", "1")))
		p := s.step(lane.OpRolling, patiently("nginx:2", "2"))
		s.succeed(t, p)
		if got, want := s.sum(t), "nginx:2 cfg-1 cfg-2 Succeeded Succeeded"; got != want {
			t.Errorf("got %s; want %s", got, want)
		}
		s.succeed(t, in(p, lane.OpRollingRollback))
	})
}
