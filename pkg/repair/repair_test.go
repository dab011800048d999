package repair_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/asl"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/statemachine"
	"github.com/slipway-cd/slipway/pkg/statemachine/embedded"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/wire/plane"

	"github.com/slipway-cd/slipway/pkg/api"
)

const pipeline = `pipeline:
  identifier: p
  name: p
  stages:
    - stage:
        identifier: s
        name: s
        type: Custom
        spec:
          execution:
            steps:
              - step: {identifier: work, name: work, type: ShellScript, timeout: 10m, spec: {shell: Bash, onDelegate: true, source: {type: Inline, spec: {script: "true"}}}}
`

// all has a sweep look also at what begins this very millisecond.
const all = -time.Second

// stubborn is a Runner that doesn't start runs, as if the process had died
// before it could.
type stubborn struct{ *embedded.Runner }

func (stubborn) Start(context.Context, string, json.RawMessage) error { return nil }

// bench is a control plane without a delegate, so that steps stay under way.
type bench struct {
	*plane.Plane
	store  *sqlite.Store
	runner *embedded.Runner
}

// setup makes one; its starts do nothing if idle.
func setup(t *testing.T, idle bool) bench {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	key, err := secret.LoadKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := embedded.Machines()
	if err != nil {
		t.Fatal(err)
	}
	b := bench{store: s}
	machines, err := asl.Open(t.Context(), asl.Config{
		DB: db, Machines: definitions, Concurrency: 4,
		Functions: map[string]asl.Handler{embedded.Function: func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
			return b.Engine.Handle(ctx, in)
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = machines.Close(context.Background())
		_ = db.Close()
	})
	b.runner = embedded.New(machines)
	hub := api.NewHub()
	parts := plane.Parts{
		Store: s.Store, Runner: b.runner, Waker: hub, Master: key, Log: slog.New(slog.DiscardHandler),
		Alone: true, Changed: api.NewFeed().Changed,
	}
	if idle {
		parts.Runner = stubborn{b.runner}
	}
	b.Plane = plane.New(parts)
	return b
}

func (b bench) start(t *testing.T) store.Execution {
	t.Helper()
	scope := ref.Scope{Account: plane.Account, Org: "default", Project: "web"}
	_, err := b.store.SaveEntity(t.Context(), store.Entity{
		Key: store.EntityKey{Scope: scope, Kind: ref.Pipeline, ID: "p"}, Name: "p", YAML: []byte(pipeline),
	}, audit.Record{Time: time.Now(), Actor: "ada", Scope: scope, Action: audit.Create, Kind: "pipeline", ID: "p"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := b.Launch.Start(t.Context(), launch.Request{Scope: scope, Pipeline: "p", By: audit.Author{Actor: "ada"}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// status waits until a node has one of the statuses.
func (b bench) status(t *testing.T, id string, node plan.NodeID, want ...plan.Status) *execution.TreeNode {
	t.Helper()
	for {
		n, err := b.Executions.FindNode(t.Context(), id, string(node))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range want {
			if n.Status == s {
				return n
			}
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("%s is %s, want %v", node, n.Status, want)
		case <-time.After(time.Millisecond):
		}
	}
}

const root, work plan.NodeID = "pipeline", "pipeline.stages.s.spec.execution.steps.work"

func TestAMissingRunIsStarted(t *testing.T) {
	t.Parallel()
	b := setup(t, true)
	e := b.start(t)
	young, err := b.Repair.Sweep(t.Context(), plane.Account, time.Hour)
	if err != nil || young.Looked > 0 {
		t.Errorf("executions that have just begun: %+v, %v; want them left alone", young, err)
	}
	b.Repair.Launch.Runner = b.runner
	got, err := b.Repair.Sweep(t.Context(), plane.Account, all)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{e.ID}, got.Started); diff != "" {
		t.Errorf("started (-want +got):\n%s", diff)
	}
	b.status(t, e.ID, work, plan.TaskWaiting)
	if again, err := b.Repair.Sweep(t.Context(), plane.Account, all); err != nil || again.Looked != 1 || again.Started != nil || again.OldestTask <= 0 {
		t.Errorf("again: %+v, %v; want nothing to do, and the age of the open task", again, err)
	}
}

// Somebody stops the machine: the plan says why, and nothing is left running.
func TestAStoppedRunBreaksItsExecutionOff(t *testing.T) {
	t.Parallel()
	b := setup(t, false)
	e := b.start(t)
	b.status(t, e.ID, work, plan.TaskWaiting)
	if err := b.runner.Stop(t.Context(), statemachine.RunName(e.ID, string(root)), "by hand"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := b.Repair.Sweep(t.Context(), plane.Account, all); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.status(t, e.ID, root, plan.Errored); !strings.Contains(n.Message, "by hand") {
		t.Errorf("the message is %q; want the cause in it", n.Message)
	}
	b.status(t, e.ID, work, plan.Aborted)
	after, err := b.store.Execution(t.Context(), e.ID)
	if err != nil || after.Status != plan.Errored || !strings.Contains(after.Message, "by hand") {
		t.Errorf("the execution is %s %q, %v", after.Status, after.Message, err)
	}
	if open, _, err := b.store.OpenTasks(t.Context(), plane.Account, store.Page{}); err != nil || len(open) > 0 {
		t.Errorf("tasks %+v are open still, %v", open, err)
	}
}

// dying is a store that fails to cancel tasks, as if the process had died.
type dying struct {
	store.Tasks
	dead atomic.Bool
}

func (d *dying) CancelTask(ctx context.Context, id task.ID) (store.Task, error) {
	if d.dead.Load() {
		return store.Task{}, errors.New("cut off")
	}
	return d.Tasks.CancelTask(ctx, id)
}

// The plan is written before the tasks are cancelled: a call that is cut off
// in between is made again, and cancels them.
func TestABreakThatIsCutOffIsFinished(t *testing.T) {
	t.Parallel()
	b := setup(t, false)
	cut := &dying{Tasks: b.store.Tasks}
	b.Engine.Store.Tasks = cut
	e := b.start(t)
	b.status(t, e.ID, work, plan.TaskWaiting)
	if err := b.runner.Stop(t.Context(), statemachine.RunName(e.ID, string(root)), "by hand"); err != nil {
		t.Fatal(err)
	}
	open := func() int {
		list, _, err := b.store.OpenTasks(t.Context(), plane.Account, store.Page{})
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	cut.dead.Store(true)
	if err := b.Repair.RunEnded(t.Context(), e.ID, root, "ABORTED"); err == nil || open() != 1 {
		t.Fatalf("the first call: %v, %d tasks are open; want it cut off", err, open())
	}
	b.status(t, e.ID, root, plan.Errored)
	cut.dead.Store(false)
	if err := b.Repair.RunEnded(t.Context(), e.ID, root, "ABORTED"); err != nil || open() != 0 {
		t.Errorf("the second call: %v, %d tasks are open still", err, open())
	}
}

func TestTheEndOfAnUnknownRunIsNoError(t *testing.T) {
	t.Parallel()
	b := setup(t, false)
	if err := b.Repair.RunEnded(t.Context(), "x0", root, "ABORTED"); err != nil {
		t.Error(err)
	}
	if run, err := b.runner.Describe(t.Context(), "none"); err != nil || run.State != statemachine.RunUnknown {
		t.Errorf("a run that never was is %+v, %v", run, err)
	}
}

// broken is a Runner that panics over the runs of one execution.
type broken struct {
	*embedded.Runner
	execution string
}

func (b broken) Describe(ctx context.Context, name string) (statemachine.Run, error) {
	if strings.HasPrefix(name, b.execution) {
		panic("no plan")
	}
	return b.Runner.Describe(ctx, name)
}

// An execution that makes the engine panic keeps no other from being repaired.
func TestAnExecutionThatPanicsIsAlone(t *testing.T) {
	t.Parallel()
	b := setup(t, true)
	bad := b.start(t)
	good, err := b.Launch.Start(t.Context(), launch.Request{
		Scope: ref.Scope{Account: plane.Account, Org: "default", Project: "web"}, Pipeline: "p", By: audit.Author{Actor: "ada"},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Repair.Runner = broken{b.runner, bad.ID}
	b.Repair.Launch.Runner = b.runner
	got, err := b.Repair.Sweep(t.Context(), plane.Account, all)
	if err == nil || !strings.Contains(err.Error(), bad.ID) {
		t.Errorf("the error is %v; want it to name %s", err, bad.ID)
	}
	if diff := cmp.Diff([]string{good.ID}, got.Started); diff != "" {
		t.Errorf("started (-want +got):\n%s", diff)
	}
}
