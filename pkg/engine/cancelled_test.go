package engine

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
	"github.com/slipway-cd/slipway/pkg/task"
)

// A task is cancelled before the decision to do so is written down: cut off in
// between and made again, the decision is the same.
func TestACancelChangesNoDecision(t *testing.T) {
	t.Parallel()
	began := time.UnixMilli(1_000_000_000).UTC()
	scope := ref.Scope{Account: "acme"}
	for _, tt := range []struct {
		name     string
		claimed  bool
		looks    bool
		joins    bool // a delegate that could take it comes once it is cancelled
		after    time.Duration
		failures []fault.FailureType
		again    bool // it looks again
		cancels  bool
	}{
		{name: "lost", claimed: true, after: time.Minute, failures: []fault.FailureType{fault.DelegateRestart}, cancels: true},
		{name: "lost as it looked", claimed: true, looks: true, after: time.Minute, again: true, cancels: true},
		{name: "held still", claimed: true, after: 10 * time.Second},
		{name: "taken by nobody", joins: true, after: 6 * time.Minute, failures: []fault.FailureType{fault.DelegateProvisioning}, cancels: true},
		{name: "open still", after: time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			kept := open(t)
			now := began
			h := NewHandler(Config{
				Store: kept.Store, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler), Steps: []step.Type{{Name: "work", Looks: tt.looks}},
			})
			s := newSim(t, pipeline(stage("s", st("a", timeout("1h"), func(n *plan.Node) { n.Type = "work" }))))
			first := s.advance("p", 0, At{})
			for first.Do == DoChildren {
				first = s.advance(first.Children[0].Node, 0, At{})
			}
			id := TaskID("x1", "p.s.a", 1, 0)
			work := store.Task{ID: id, Scope: scope, Execution: "x1", Node: "p.s.a", Attempt: 1, Kind: task.KindShell, Token: "t", CreatedAt: began}
			if _, err := kept.CreateTask(t.Context(), work); err != nil {
				t.Fatal(err)
			}
			if tt.claimed {
				if _, err := kept.ClaimTasks(t.Context(), "d1", 1, []task.ID{id}, began.Add(30*time.Second)); err != nil {
					t.Fatal(err)
				}
			}
			now = began.Add(tt.after)
			decide := func() (plan.State, bool) {
				in := s.input("p.s", 0, first.At)
				in.Now = s.now.Add(tt.after)
				in.Task = (&snapshot{r: h.Reader, ctx: t.Context(), execution: store.Execution{ID: "x1", Scope: scope}, results: map[At]bool{}}).task
				d := Next(in)
				for _, w := range d.Writes {
					if w.Node == "p.s.a" {
						return w.State, len(d.Cancel) > 0
					}
				}
				return s.states["p.s.a"], len(d.Cancel) > 0
			}
			before, cancels := decide()
			if diff := cmp.Diff(tt.failures, before.Failures); diff != "" || (before.Wait == plan.WaitLook) != tt.again || cancels != tt.cancels {
				t.Errorf("cancels %t, waits for %q, failures (-want +got):\n%s", cancels, before.Wait, diff)
			}
			if _, err := kept.CancelTask(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			if tt.joins {
				d := store.Delegate{ID: "d2", Scope: scope, Name: "late", Kinds: []task.Kind{task.KindShell}, Capacity: 1, LastSeen: now}
				if err := kept.PutDelegate(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			}
			after, _ := decide()
			for _, state := range []*plan.State{&before, &after} { // an explanation may be another by now
				if state.Message = ""; state.Outcome != nil {
					state.Outcome.Message = ""
				}
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the decision (-before +after the cancel):\n%s", diff)
			}
		})
	}
}

// open opens a store of the test's own.
func open(t *testing.T) *sqlite.Store {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the test is over
	s, err := sqlite.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
