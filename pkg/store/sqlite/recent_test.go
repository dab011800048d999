package sqlite

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/storetest"
	"github.com/slipway-cd/slipway/pkg/task"
)

func openIn(t *testing.T, r room) (*Store, *sqlitedb.DB) {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := newStore(t.Context(), db, r)
	if err != nil {
		t.Fatal(err)
	}
	return s, db
}

// What isn't kept any more is read.
func TestStoreWithoutRoom(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store {
		t.Helper()
		s, _ := openIn(t, room{})
		return s.Store
	})
}

// written does of everything that is kept what can be done to it.
func written(t *testing.T, s *Store, n int) string {
	t.Helper()
	ctx, at, scope := t.Context(), time.UnixMilli(1_700_000_000_000).UTC(), ref.Scope{Account: "a", Org: "o", Project: "p"}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	id := fmt.Sprint("x", n)
	_, err := s.CreateExecution(ctx, store.Execution{
		ID: id, Scope: scope, Pipeline: "p", PlanHash: "h", Status: plan.Running, StartedAt: at, Inputs: json.RawMessage(`{"a":"b"}`),
	}, []byte("{}"), audit.Record{Scope: scope})
	must(err)
	must(s.CommitExecution(ctx, id, store.Commit{Nodes: []store.Node{{ID: "p", State: plan.State{Status: plan.Running}}, {ID: "p.a", State: plan.State{Status: plan.Running}}}}))
	e, err := s.SetInterrupt(ctx, id, store.InterruptPause, audit.Record{Scope: scope})
	must(err)
	e.Message = "with a message"
	must(s.CommitExecution(ctx, id, store.Commit{Execution: &e, Nodes: []store.Node{{ID: "p.a", Version: 1, State: plan.State{Status: plan.Success, Attempt: 1}}}}))
	stale := store.Commit{Execution: &e, Nodes: []store.Node{{ID: "p.a", Version: 2, State: plan.State{Status: plan.Failed}}}}
	if s.CommitExecution(ctx, id, stale) == nil {
		t.Fatal("a commit over an old version was made")
	}
	var ids []task.ID
	for i := range 6 {
		k := task.ID(fmt.Sprint(id, ".", i))
		_, err := s.CreateTask(ctx, store.Task{
			ID: k, Scope: scope, Execution: id, Node: "p.a", Attempt: 1, Kind: task.KindShell, Selectors: []string{"x"}, Payload: json.RawMessage(`{}`),
			Token: "t", CreatedAt: at.Add(time.Duration(n*10-i) * time.Second),
		})
		must(err)
		ids = append(ids, k)
	}
	claimed, err := s.ClaimTasks(ctx, "d", 7, ids[:4], at.Add(time.Minute))
	if must(err); len(claimed) != 4 {
		t.Fatalf("claimed %v", claimed)
	}
	_, err = s.CompleteTask(ctx, ids[0], "d", 1, task.Result{Status: task.Succeeded, Outputs: json.RawMessage(`{"o":1}`)})
	must(err)
	_, err = s.CancelTask(ctx, ids[1])
	must(err)
	must(s.ReleaseTask(ctx, ids[2], "d", 1))
	_, err = s.RenewTask(ctx, ids[3], "d", 1, at.Add(time.Hour))
	must(err)
	_, err = s.CreateTask(ctx, store.Task{ID: ids[3], Scope: scope, Token: "t2", CreatedAt: at})
	must(err)
	for _, d := range []string{"d1", "d2"} {
		must(s.PutDelegate(ctx, store.Delegate{ID: fmt.Sprint(d, n), Scope: ref.Scope{Account: "a"}, Tags: []string{"t"}, LastSeen: at}))
	}
	must(s.BeatDelegate(ctx, "a", fmt.Sprint("d1", n), store.Beat{At: at.Add(time.Second), Running: 3}))
	must(s.DeleteDelegate(ctx, "a", fmt.Sprint("d2", n)))
	must(s.PutToken(ctx, store.AccessToken{ID: fmt.Sprint("k", n), Kind: store.TokenUser, Scope: scope}))
	_, err = s.Token(ctx, fmt.Sprint("k", n))
	must(err)
	must(s.PutToken(ctx, store.AccessToken{ID: fmt.Sprint("k", n), Kind: store.TokenUser, Scope: scope, Revoked: true}))
	return id
}

// seen is all that is read of what written has done.
func seen(t *testing.T, s *Store, n int) map[string]any {
	t.Helper()
	ctx, id, out := t.Context(), fmt.Sprint("x", n), map[string]any{}
	put := func(what string, v any, err error) { out[what] = fmt.Sprintf("%+v, %v", v, err) }
	e, err := s.Execution(ctx, id)
	put("execution", e, err)
	all, err := s.AllNodes(ctx, id)
	put("all nodes", all, err)
	some, err := s.Nodes(ctx, id, "p.a", "p.none", "p.a")
	put("nodes", some, err)
	for i := range 6 {
		k, err := s.Task(ctx, task.ID(fmt.Sprint(id, ".", i)))
		if k.Result != nil {
			put(fmt.Sprint("result ", i), *k.Result, nil)
		}
		k.Result = nil
		put(fmt.Sprint("task ", i), k, err)
	}
	open, next, err := s.OpenTasks(ctx, "a", store.Page{Limit: 100})
	for i := range open {
		open[i].Payload = nil // store.Tasks doesn't promise it
	}
	put("open tasks "+next, open, err)
	part, next, err := s.OpenTasks(ctx, "a", store.Page{Limit: 2})
	for i := range part {
		part[i].Payload = nil
	}
	put("some open tasks "+next, part, err)
	for _, d := range []string{"d1", "d2"} {
		d, err := s.Delegate(ctx, "a", fmt.Sprint(d, n))
		put("delegate "+d.ID, d, err)
	}
	k, err := s.Token(ctx, fmt.Sprint("k", n))
	put("token", k, err)
	return out
}

// Whatever is kept is what is stored, also where there is room for little.
func TestWhatIsKeptIsWhatIsStored(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]room{"much room": usualRoom(), "room for some": {runs: 4000, tasks: 4000, others: 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, db := openIn(t, r)
			for n := range 5 {
				written(t, s, n)
			}
			stored, err := newStore(t.Context(), db, room{})
			if err != nil {
				t.Fatal(err)
			}
			for n := range 5 {
				if diff := cmp.Diff(seen(t, stored, n), seen(t, s, n)); diff != "" {
					t.Errorf("of execution %d (-stored +read):\n%s", n, diff)
				}
			}
		})
	}
}

// A reader of nodes may do with their states what he likes.
func TestWhoReadsANodeHasItAlone(t *testing.T) {
	t.Parallel()
	s, _ := openIn(t, usualRoom())
	id := written(t, s, 1)
	for range 2 {
		all, err := s.AllNodes(t.Context(), id)
		if err != nil || len(all) != 2 || all[1].State.Outcome != nil {
			t.Fatalf("%+v, %v", all, err)
		}
		all[1].State.Outcome = new(plan.Outcome)
	}
}

func TestAShelfHoldsSoManyBytes(t *testing.T) {
	t.Parallel()
	s := newShelf[string, int](10)
	for i, k := range []string{"a", "b", "c"} {
		s.put(k, i, 3)
	}
	s.put("b", 7, 5) // a has to go
	s.put("d", 4, 2)
	got := map[string]int{}
	for _, k := range []string{"a", "b", "c", "d"} {
		if v, ok := s.get(k); ok {
			got[k] = v
		}
	}
	if diff := cmp.Diff(map[string]int{"b": 7, "c": 2, "d": 4}, got); diff != "" || s.bytes != 10 {
		t.Errorf("%d bytes (-want +got):\n%s", s.bytes, diff)
	}
	s.put("c", 1, 11) // b has to go, and c itself
	if _, ok := s.get("c"); ok || s.bytes != 2 || len(s.values) != 1 || len(s.order) != 1 {
		t.Errorf("a value that is too large is kept: %d bytes, %v, %v", s.bytes, s.values, s.order)
	}
}
