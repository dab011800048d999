package execution

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/statemachine"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
)

// idle is a Runner whose runs do nothing.
type idle struct{ statemachine.Runner }

func (idle) Start(context.Context, string, json.RawMessage) error { return nil }

// service gives the use cases over a store, on a clock that stands still.
func service(s store.Store, now func() time.Time) *Service {
	return serviceOn(s, now, idle{})
}

// serviceOn gives them over a Runner too.
func serviceOn(s store.Store, now func() time.Time, runner statemachine.Runner) *Service {
	cfg := engine.Config{Store: s, Runner: runner, Now: now, Log: slog.New(slog.DiscardHandler)}
	return New(Config{Store: s, Launch: launch.New(launch.Config{Store: s, Runner: runner, Now: now}), Engine: engine.NewHandler(cfg), Now: now})
}

// setup opens a real store.
func setup(tb testing.TB) store.Store {
	tb.Helper()
	db, err := sqlitedb.Open(tb.Context(), filepath.Join(tb.TempDir(), "test.db"))
	must(tb, err)
	tb.Cleanup(func() { _ = db.Close() }) // the test is over
	s, err := sqlite.New(tb.Context(), db)
	must(tb, err)
	return s.Store
}

// together is a store whose first readers of a list wait for each other.
type together struct {
	store.Executions

	all *sync.WaitGroup
}

func (t *together) ListExecutions(ctx context.Context, f store.ExecutionFilter, page store.Page) ([]store.Execution, string, error) {
	list, next, err := t.Executions.ListExecutions(ctx, f, page)
	t.all.Done()
	t.all.Wait()
	return list, next, err
}

// semantics/pipeline §5.4, post-deployment rollback: once, even if several ask
// for it at the same moment; again after one that failed.
func TestRollbacksAtOnceAreOne(t *testing.T) {
	t.Parallel()
	kept := setup(t)
	now := time.Now()
	clock := func() time.Time { return now }
	root := &plan.Node{ID: "pipeline", Kind: plan.KindPipeline, Identifier: "p", Children: []*plan.Node{{
		ID: "s", Kind: plan.KindStage, Identifier: "s", Rollback: []*plan.Node{{ID: "s.back", Kind: plan.KindStep, Identifier: "back"}},
	}}}
	doc, err := (&plan.Plan{Root: root}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	e, err := kept.CreateExecution(t.Context(), store.Execution{
		ID: "x1", Scope: ref.Scope{Account: "acme"}, Pipeline: "p", PlanHash: plan.Hash(doc), Status: plan.Success, StartedAt: now.Add(-time.Hour),
	}, doc, audit.Record{Scope: ref.Scope{Account: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	before := ""
	for _, key := range []string{"one", "two"} {
		first, keys := &together{Executions: kept.Executions, all: &sync.WaitGroup{}}, []string{"", "", key}
		first.all.Add(len(keys))
		s := kept
		s.Executions = first
		made, errs := make([]store.Execution, len(keys)), make([]error, len(keys))
		var g sync.WaitGroup
		for i, key := range keys {
			g.Go(func() { made[i], errs[i] = service(s, clock).Rollback(t.Context(), e.ID, RollbackRequest{Key: key}) })
		}
		g.Wait()
		for i := range keys {
			if errs[i] != nil || made[i].ID != made[0].ID || made[i].RollbackOf != e.ID || made[i].ID == before {
				t.Fatalf("request %d got execution %q, %v; want a new one, the same as the others got", i, made[i].ID, errs[i])
			}
		}
		if _, err := service(kept, clock).Rollback(t.Context(), e.ID, RollbackRequest{}); !fault.Is(err, fault.Conflict) {
			t.Errorf("a rollback after it: %v; want a conflict", err)
		}
		failed := made[0]
		failed.Status, before = plan.Failed, failed.ID
		if err := kept.CommitExecution(t.Context(), failed.ID, store.Commit{Execution: &failed}); err != nil {
			t.Fatal(err)
		}
	}
}
