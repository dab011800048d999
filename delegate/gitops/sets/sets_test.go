package sets

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate/gitops/generate"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

func TestMain(m *testing.M) {
	sandbox.Answer(generate.Verbs())
	os.Exit(m.Run())
}

// world is an agent around sets: it reconciles nothing, and deletes when it is told.
type world struct {
	sets *Sets

	mu       sync.Mutex
	kept     []protocol.Document
	down     bool // nothing can be kept
	tried    bool
	deleting map[string]func(error)
	reports  map[string]*protocol.Set
	news     chan struct{}
}

func newWorld(t *testing.T, kept []protocol.Document) *world {
	t.Helper()
	w := &world{kept: kept, deleting: map[string]func(error){}, reports: map[string]*protocol.Set{}, news: make(chan struct{}, 1)}
	s, err := New(Config{
		Sandbox: sandbox.New(0), Kept: kept, Log: slog.New(slog.DiscardHandler),
		Keep: func(_ context.Context, all []protocol.Document) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.down {
				w.tried = true
				ring(w.news)
				return errors.New("the cluster is away")
			}
			w.kept = all
			ring(w.news)
			return nil
		},
		Delete: func(name string, _ bool, done func(error)) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.deleting[name] = done
			ring(w.news)
			return nil
		},
		Report: func(name string, s *protocol.Set) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.reports[name] = s
			ring(w.news)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.sets = s
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return w
}

// names are the applications that are reconciled, of which one that goes is marked.
func (w *world) names() string {
	var out []string
	w.sets.Join(nil, func(all []gitops.Application) {
		for _, a := range all {
			out = append(out, a.Meta.Name)
		}
	})
	return strings.Join(out, " ")
}

// until waits for applications, and for a condition of a set.
func (w *world) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.After(time.Minute); !is(); {
		select {
		case <-w.sets.Changed():
		case <-w.news:
		case <-deadline:
			t.Fatalf("%s hasn't come; the applications are %s", what, w.names())
		}
	}
}

func (w *world) reported(name string) *protocol.Set {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reports[name]
}

// finish ends the deletion of an application.
func (w *world) finish(t *testing.T, name string) {
	t.Helper()
	w.until(t, "the deletion of "+name, func() bool {
		w.names()
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.deleting[name] != nil
	})
	w.mu.Lock()
	done := w.deleting[name]
	delete(w.deleting, name)
	w.mu.Unlock()
	done(nil)
}

// listed is a set of a list.
func listed(name string, elements ...string) appset.Set {
	set := appset.Set{Meta: gitops.Meta{Name: name}}
	l := &appset.List{}
	for _, e := range elements {
		l.Elements = append(l.Elements, json.RawMessage(`{"name":"`+e+`"}`))
	}
	set.Spec.Generators = []appset.Generator{{List: l}}
	set.Spec.Template.Meta.Name = "{{name}}"
	set.Spec.Template.Spec.Destination.Name = "in-cluster"
	return set
}

// TestTheLifeOfASet: applications come and go with its elements, over a restart, and
// are deleted with it.
func TestTheLifeOfASet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.sets.SetDocuments(Documents{Sets: []appset.Set{listed("s", "a", "b")}})
	w.until(t, "a and b", func() bool { return w.names() == "a b" })
	w.sets.SetDocuments(Documents{Sets: []appset.Set{listed("s", "b", "c")}})
	w.until(t, "c", func() bool { return w.names() == "a b c" }) // a goes
	w.finish(t, "a")
	w.until(t, "the end of a", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return !strings.Contains(string(w.kept[0].Body), `"a":`)
	})
	if got := w.names(); got != "b c" {
		t.Errorf("without a there are %s; want b c", got)
	}

	// Started anew it knows what is its own before anything is made.
	next := newWorld(t, w.kept)
	if got := next.names(); got != "" {
		t.Errorf("without documents there are %s", got)
	}
	broken := listed("s", "b")
	broken.Spec.Generators[0].List.ElementsYaml = "{"
	next.sets.SetDocuments(Documents{Sets: []appset.Set{broken}})
	if got := next.names(); got != "b c" {
		t.Errorf("after a restart there are %s; want b c", got)
	}
	next.until(t, "a failure", func() bool {
		s := next.reported("s")
		return s != nil && s.Conditions[0].Status == "True" && s.Conditions[0].Reason == string(generate.ParametersFailed)
	})
	if got := next.names(); got != "b c" {
		t.Errorf("after a failure there are %s; want b c", got)
	}

	gone := make(chan struct{})
	next.sets.Delete("s", func() { close(gone) })
	next.sets.SetDocuments(Documents{})
	next.finish(t, "b")
	next.finish(t, "c")
	<-gone
	next.until(t, "the end of the set", func() bool { return next.reported("s") == nil && next.names() == "" })
	next.sets.Delete("s", func() {}) // once more
}

// TestDocumentsThatGo: what a set has made whose document goes without anybody asking
// for more stays where it is, and is its own again when it comes back.
func TestDocumentsThatGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.sets.SetDocuments(Documents{Sets: []appset.Set{listed("s", "a")}})
	w.until(t, "a", func() bool { return w.names() == "a" })
	w.sets.SetDocuments(Documents{})
	w.until(t, "nothing", func() bool { return w.names() == "" && w.reported("s") == nil })
	if len(w.deleting) > 0 {
		t.Errorf("it deletes %v", w.deleting)
	}
	w.sets.SetDocuments(Documents{Sets: []appset.Set{listed("s", "b")}})
	w.until(t, "b", func() bool { return w.names() == "a b" })
	w.finish(t, "a")
	w.until(t, "b alone", func() bool { return w.names() == "b" })
}

// TestClusters: a set follows the clusters of the agent, and two sets don't share an
// application.
func TestClusters(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	set := appset.Set{Meta: gitops.Meta{Name: "s"}}
	set.Spec.Generators = []appset.Generator{{Clusters: &appset.Clusters{Selector: appset.Selector{MatchLabels: map[string]string{"stage": "prod"}}}}}
	set.Spec.Template.Meta.Name = "on-{{nameNormalized}}"
	set.Spec.Template.Spec.Destination.Server = "{{server}}"
	clusters := []access.Cluster{{Name: "EU", Server: "https://eu", Labels: map[string]string{"stage": "prod"}}, {Name: "dev", Server: "https://dev"}}
	w.sets.SetDocuments(Documents{Sets: []appset.Set{set}, Clusters: clusters})
	w.until(t, "one", func() bool { return w.names() == "on-eu" })
	clusters = append(slices.Clone(clusters), access.Cluster{Name: "us", Server: "https://us", Labels: map[string]string{"stage": "prod"}})
	w.sets.SetDocuments(Documents{Sets: []appset.Set{set, listed("t", "on-us", "other")}, Clusters: clusters})
	w.until(t, "all", func() bool { return w.names() == "on-eu on-us other" })
	w.until(t, "a conflict", func() bool {
		a, b := w.reported("s"), w.reported("t")
		return a != nil && b != nil && len(a.Applications)+len(b.Applications) == 3 && (a.Conditions[0].Status == "True") != (b.Conditions[0].Status == "True")
	})
}

// TestWhatIsntKept: nothing is done that isn't kept.
func TestWhatIsntKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.mu.Lock()
	w.down = true
	w.mu.Unlock()
	w.sets.SetDocuments(Documents{Sets: []appset.Set{listed("s", "a")}})
	w.until(t, "a try to keep it", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.tried
	})
	if got := w.names(); got != "" {
		t.Errorf("there are %s", got)
	}
	w.mu.Lock()
	w.down = false
	w.mu.Unlock()
	w.until(t, "a", func() bool { return w.names() == "a" })
}
