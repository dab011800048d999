package sqlite_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
	"github.com/slipway-cd/slipway/pkg/task"
)

// step does to the store what one step of an execution does: two commits of
// its node and its container, and a task from its making to its result.
func step(tb testing.TB, s *sqlite.Store, n int64) {
	tb.Helper()
	ctx := tb.Context()
	execution := fmt.Sprintf("x%d", n)
	node, stage := plan.NodeID("pipeline.stages.deploy.spec.execution.steps.rollout"), plan.NodeID("pipeline.stages.deploy")
	nodes := []store.Node{
		{Execution: execution, ID: node, State: plan.State{Status: plan.TaskWaiting, StartedAt: time.Unix(n, 0), Attempt: 1}},
		{Execution: execution, ID: stage, State: plan.State{Status: plan.Running, StartedAt: time.Unix(n, 0), Cursor: 1}},
	}
	must := func(err error) {
		if err != nil {
			tb.Error(err)
		}
	}
	must(s.CommitExecution(ctx, execution, store.Commit{Nodes: nodes}))
	id := task.ID(execution + "/" + string(node) + "/1")
	_, err := s.CreateTask(ctx, store.Task{
		ID: id, Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}, Execution: execution, Node: node, Attempt: 1,
		Kind: task.KindShell, Payload: json.RawMessage(`{"script":"echo this is a script of about usual length"}`),
		Timeout: time.Minute, LogStream: string(id), Token: "token", CreatedAt: time.Unix(n, 0),
	})
	must(err)
	claimed, err := s.ClaimTasks(ctx, "d1", 1, []task.ID{id}, time.Unix(n+30, 0))
	if err != nil || len(claimed) != 1 {
		tb.Errorf("claimed %d: %v", len(claimed), err)
	}
	_, err = s.CompleteTask(ctx, id, "d1", 1, task.Result{Status: task.Succeeded, Outputs: json.RawMessage(`{"output":{"x":"1"}}`)})
	must(err)
	for i := range nodes {
		nodes[i].Version, nodes[i].State.Status = 1, plan.Success
	}
	must(s.CommitExecution(ctx, execution, store.Commit{Nodes: nodes}))
}

// BenchmarkStep is one step after the other: five durable writes each.
func BenchmarkStep(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "slipway.db"))
	var n int64
	for b.Loop() {
		n++
		step(b, s, n)
	}
}

// BenchmarkSteps is 64 executions at once.
func BenchmarkSteps(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "slipway.db"))
	var n atomic.Int64
	b.SetParallelism(32) // times GOMAXPROCS
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			step(b, s, n.Add(1))
		}
	})
}

// BenchmarkReads is what a decision of the engine reads.
func BenchmarkReads(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "slipway.db"))
	e := store.Execution{ID: "x1", Scope: ref.Scope{Account: "acme"}, Pipeline: "p", PlanHash: "h", Status: plan.Running}
	if _, err := s.CreateExecution(b.Context(), e, []byte(`{}`), audit.Record{Scope: e.Scope}); err != nil {
		b.Fatal(err)
	}
	step(b, s, 1)
	b.Run("Execution", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Execution(b.Context(), "x1"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Nodes", func(b *testing.B) {
		for b.Loop() {
			got, err := s.Nodes(b.Context(), "x1", "pipeline.stages.deploy", "pipeline.stages.deploy.spec.execution.steps.rollout")
			if err != nil || len(got) != 2 {
				b.Fatal(len(got), err)
			}
		}
	})
	b.Run("OpenTasks", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := s.OpenTasks(b.Context(), "acme", store.Page{Limit: 200}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
