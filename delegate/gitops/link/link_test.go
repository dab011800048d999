package link

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/agent"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// plane is a control plane that says what a test wants.
type plane struct {
	mu        sync.Mutex
	documents []protocol.Documents // the answers, one after the other
	news      protocol.News
	welcome   protocol.Welcome
	polls     int
	refuses   int // a status; 0: it doesn't
	reports   chan protocol.Report
	answers   chan protocol.Answer
}

func newPlane() *plane {
	return &plane{welcome: protocol.Welcome{Seq: 3}, reports: make(chan protocol.Report, 10), answers: make(chan protocol.Answer, 10)}
}

// RoundTrip answers in the place of a server.
func (p *plane) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	status, out := http.StatusOK, any(nil)
	switch what := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]; {
	case p.refuses != 0:
		status, out = p.refuses, map[string]string{"code": string(fault.LeaseLost), "message": "another leads"}
	case what == "hello":
		out = p.welcome
	case what == "poll":
		p.polls++
		out = p.news
	case what == "documents" && len(p.documents) == 0:
		out = protocol.Documents{Version: p.news.Documents}
	case what == "documents":
		out, p.documents = p.documents[0], p.documents[1:]
	case what == "report":
		var report protocol.Report
		if err := json.Unmarshal(body, &report); err != nil {
			return nil, err
		}
		p.reports <- report
		out = protocol.Reported{Seq: report.Seq}
	case what == "answer":
		var a protocol.Answer
		if err := json.Unmarshal(body, &a); err != nil {
			return nil, err
		}
		p.answers <- a
	}
	doc, err := json.Marshal(out)
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(doc)), Request: r,
	}, err
}

func newLink(t *testing.T, p *plane, kept []protocol.Document, keep func(context.Context, []protocol.Document) error) *Link {
	t.Helper()
	l, err := New(Config{
		Client: agent.NewClient(agent.ClientConfig{URL: "http://plane", Token: "x", HTTP: &http.Client{Transport: p}}),
		Hello:  protocol.Hello{Lead: protocol.Lead{Agent: protocol.Agent{ID: "eu1"}, Fence: 1}, ClusterUID: "u"},
		Kept:   kept, Keep: keep, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// run runs a link until the test's end.
func run(t *testing.T, l *Link) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = l.Run(ctx) // it ends with the test
	}()
	t.Cleanup(func() { stop(); <-over })
}

func document(id, kind string, version int64, body any) protocol.Document {
	doc, err := json.Marshal(body)
	if err != nil {
		panic(err) // of a test's own value
	}
	return protocol.Document{ID: id, Kind: kind, Version: version, Body: doc}
}

func app(name string) gitops.Application { return gitops.Application{Meta: gitops.Meta{Name: name}} }

// TestDocumentsAreFetchedInParts: what was kept is there at once, what comes is kept,
// and each sort is read as what it is.
func TestDocumentsAreFetchedInParts(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.news = protocol.News{Documents: 7}
	p.documents = []protocol.Documents{
		{Version: 7, More: true, Upserts: []protocol.Document{
			document("b", protocol.KindApplication, 1, app("b")), document("r", protocol.KindRepository, 1, access.Repository{URL: "https://r"}),
			document("c", protocol.KindCertificate, 1, []access.Certificate{{Server: "a"}, {Server: "b"}}), document("n", protocol.KindCertificate, 1, nil),
		}},
		{Version: 7, Deletes: []string{"old"}, Upserts: []protocol.Document{
			document("s", protocol.KindSettings, 1, access.Settings{Name: "argocd-cm", Data: map[string]string{"a": "b"}}), document("z", "Something", 1, 1),
			document("k", protocol.KindCluster, 1, access.Cluster{Server: "https://c"}), document("p", protocol.KindProject, 1, gitops.Project{}),
		}},
	}
	kept := make(chan []protocol.Document, 10)
	l := newLink(t, p, []protocol.Document{document("old", protocol.KindApplication, 1, app("old"))}, func(_ context.Context, all []protocol.Document) error {
		kept <- all
		return nil
	})
	if d, _ := l.Documents(); !d.Known || len(d.Applications) != 1 {
		t.Errorf("what was kept is %+v", d)
	}
	run(t, l)
	if all := <-kept; len(all) != 8 {
		t.Errorf("%d documents are kept; want 8", len(all))
	}
	d, _ := l.Documents()
	want := Documents{
		Known: true, Applications: []gitops.Application{app("b")}, Projects: []gitops.Project{{}}, Clusters: []access.Cluster{{Server: "https://c"}},
		Access:   access.Known{Repositories: []access.Repository{{URL: "https://r"}}, Certificates: []access.Certificate{{Server: "a"}, {Server: "b"}}},
		Settings: map[string]string{"a": "b"},
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("the documents are (-want +got):\n%s", diff)
	}
}

// TestReportsAndAnswers: of each application the newest summary, in the numbers after
// those that the control plane has; requests come once, and answers go.
func TestReportsAndAnswers(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.news = protocol.News{Requests: 1, Open: []protocol.Request{{ID: "q1", Kind: protocol.RequestSync}}}
	p.documents = []protocol.Documents{{}, {}}
	l := newLink(t, p, nil, nil)
	for _, status := range []gitops.HealthCode{gitops.Progressing, gitops.Healthy} {
		if err := l.Report(protocol.AppKey{Name: "web"}, &protocol.Summary{Health: gitops.HealthStatus{Status: status}}); err != nil {
			t.Fatal(err)
		}
	}
	l.Synced(protocol.AppKey{Name: "web"}, gitops.HistoryEntry{ID: 4})
	run(t, l)
	r := <-p.reports
	if r.Seq != 4 || len(r.Apps) != 1 || r.Apps[0].Summary.Health.Status != gitops.Healthy || len(r.History) != 1 || r.Digest == "" {
		t.Errorf("reported is %+v", r)
	}
	if q := <-l.Requests(); q.ID != "q1" {
		t.Errorf("asked is %+v", q)
	}
	l.Look()
	l.Answer("q1", protocol.Result{Message: "done"})
	if a := <-p.answers; a.ID != "q1" || a.Result.Message != "done" || a.Fence != 1 {
		t.Errorf("answered is %+v", a)
	}
	select {
	case q := <-l.Requests():
		t.Errorf("%s was asked again", q.ID)
	default:
	}
	if err := l.Report(protocol.AppKey{Name: "web"}, nil); err != nil {
		t.Fatal(err)
	}
	if r := <-p.reports; r.Seq != 5 || len(r.Apps) != 1 || r.Apps[0].Summary != nil {
		t.Errorf("that it is gone is reported as %+v", r)
	}
}

// TestWhoIsDeposedEnds: another leads.
func TestWhoIsDeposedEnds(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.refuses = http.StatusConflict
	if err := newLink(t, p, nil, nil).Run(t.Context()); !fault.Is(err, fault.LeaseLost) {
		t.Errorf("it ends with %v", err)
	}
}

// TestManyReports: one takes so many applications, and the rest follows.
func TestManyReports(t *testing.T) {
	t.Parallel()
	r := newReports()
	for i := range protocol.MaxApps + 1 {
		if _, err := r.add(protocol.AppKey{Name: string(rune('a' + i))}, &protocol.Summary{}); err != nil {
			t.Fatal(err)
		}
	}
	first := r.next()
	if len(first.Apps) != protocol.MaxApps || r.all(first) {
		t.Errorf("the first has %d", len(first.Apps))
	}
	// One of them changes while the report is under way: it is reported again.
	if _, err := r.add(first.Apps[0].AppKey, &protocol.Summary{Hold: "x"}); err != nil {
		t.Fatal(err)
	}
	r.done(first)
	if second := r.next(); second.Seq != first.Seq+1 || len(second.Apps) != 2 || !r.all(second) {
		t.Errorf("the second is %d with %d", second.Seq, len(second.Apps))
	}
}

// TestAnAgentThatHearsSeldomAsks: its polls are for words that got lost.
func TestAnAgentThatHearsSeldomAsks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		hears func() bool
		most  int // polls in an hour
	}{
		"no delegate":                    {nil, 121},
		"a delegate with a socket":       {func() bool { return true }, 13},
		"a delegate whose socket closed": {func() bool { return false }, 121},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, news := newPlane(), make(chan struct{}, 1)
				p.welcome.PollEvery, p.welcome.Quiet = 30*time.Second, 5*time.Minute
				l := newLink(t, p, nil, nil)
				l.News, l.Hears = news, tt.hears
				ctx, stop := context.WithCancel(t.Context())
				over := make(chan struct{})
				go func() {
					defer close(over)
					_ = l.Run(ctx) // it ends with the test
				}()
				defer func() { stop(); <-over }()
				<-time.After(time.Hour + time.Second)
				synctest.Wait()
				asked := p.asked()
				if asked > tt.most || asked < tt.most-2 {
					t.Errorf("it asked %d times in an hour; want about %d", asked, tt.most)
				}
				news <- struct{}{}
				synctest.Wait()
				if now := p.asked(); now != asked+1 {
					t.Errorf("told of news, it asked %d times; want once", now-asked)
				}
			})
		})
	}
}

func (p *plane) asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.polls
}
