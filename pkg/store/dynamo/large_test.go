package dynamo_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/dynamo"
	"github.com/slipway-cd/slipway/pkg/task"
)

var scope = ref.Scope{Account: "acme", Org: "default", Project: "web"}

// large is more than an item of DynamoDB may have.
func large(text string) []byte { return bytes.Repeat([]byte(text), 500<<10/len(text)) }

func TestLargeThingsAreReadAsTheyWere(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx := t.Context()
	same := func(t *testing.T, want, got []byte, err error) {
		t.Helper()
		if err != nil || !bytes.Equal(want, got) {
			t.Errorf("%d bytes came back as %d bytes, %v", len(want), len(got), err)
		}
	}
	quoted, err := json.Marshal(string(large("quoted ")))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("entity and its audit record", func(t *testing.T) {
		t.Parallel()
		e := store.Entity{Key: store.EntityKey{Scope: scope, Kind: ref.Pipeline, ID: "deploy"}, YAML: large("yaml\n")}
		_, err := s.SaveEntity(ctx, e, audit.Record{Scope: scope, Action: audit.Create, After: string(e.YAML)})
		if err != nil {
			t.Fatal(err)
		}
		read, err := s.Entity(ctx, e.Key)
		same(t, e.YAML, read.YAML, err)
		list, _, err := s.ListEntities(ctx, scope, ref.Pipeline, "", store.Page{})
		if err != nil || len(list) != 1 {
			t.Fatalf("%d entities are listed, %v", len(list), err)
		}
		same(t, e.YAML, list[0].YAML, nil)
		trail, err := s.ListAudit(ctx, scope.Account, 1, 1)
		if err != nil || len(trail) != 1 || trail[0].After != string(e.YAML) {
			t.Errorf("the trail has %d records, %v; want the document's", len(trail), err)
		}
	})
	t.Run("plan", func(t *testing.T) {
		t.Parallel()
		x := store.Execution{ID: "x1", Scope: ref.Scope{Account: "other"}, Pipeline: "deploy", PlanHash: "h", Status: plan.Running}
		if _, err := s.CreateExecution(ctx, x, large("plan"), audit.Record{Scope: x.Scope, Action: audit.Start}); err != nil {
			t.Fatal(err)
		}
		read, err := s.Plan(ctx, "h")
		same(t, large("plan"), read, err)
	})
	t.Run("task", func(t *testing.T) {
		t.Parallel()
		if _, err := s.CreateTask(ctx, store.Task{ID: "t1", Scope: scope, Payload: quoted}); err != nil {
			t.Fatal(err)
		}
		claimed, err := s.ClaimTasks(ctx, "d1", 1, []task.ID{"t1"}, config("").Now())
		if err != nil || len(claimed) != 1 {
			t.Fatalf("%d tasks are claimed, %v", len(claimed), err)
		}
		same(t, quoted, claimed[0].Payload, nil)
		if _, err := s.CompleteTask(ctx, "t1", "d1", 1, task.Result{Status: task.Succeeded, Outputs: quoted}); err != nil {
			t.Fatal(err)
		}
		read, err := s.Task(ctx, "t1")
		same(t, quoted, read.Payload, err)
		same(t, quoted, read.Result.Outputs, nil)
	})
	t.Run("as many nodes as go together", func(t *testing.T) {
		t.Parallel()
		var c store.Commit
		for i := range 90 { // each as large as an item: together ten transactions' worth
			c.Nodes = append(c.Nodes, store.Node{ID: plan.NodeID(fmt.Sprint(i)), State: plan.State{Status: plan.Success, Outputs: quoted}})
		}
		if err := s.CommitExecution(ctx, "x2", c); err != nil {
			t.Fatal(err)
		}
		read, err := s.Nodes(ctx, "x2", "0", "89")
		if err != nil || len(read) != 2 {
			t.Fatalf("%d nodes are read, %v", len(read), err)
		}
		same(t, quoted, read[1].State.Outputs, nil)
	})
	t.Run("log chunks", func(t *testing.T) {
		t.Parallel()
		for i := range 3 {
			if err := s.AppendLog(ctx, 100<<20, store.LogChunk{Stream: "s", Number: int64(i), Data: large(fmt.Sprint(i))}); err != nil {
				t.Fatal(err)
			}
		}
		read, err := s.ReadLog(ctx, "s", 1, 10)
		if err != nil || len(read) != 2 {
			t.Fatalf("%d chunks are read, %v", len(read), err)
		}
		same(t, large("2"), read[1].Data, nil)
	})
}

// TestManyOfAlmostLarge: an answer of DynamoDB ends at 1 MB, one to many keys at
// 16 MB; readers get all the same.
func TestManyOfAlmostLarge(t *testing.T) {
	t.Parallel()
	m := &meter{}
	s := open(t, m.watch)
	const few, many, size = 8, 55, 340 << 10
	for i := range few {
		if err := s.AppendLog(t.Context(), 100<<20, store.LogChunk{Stream: "s", Number: int64(i), Data: large("x")[:size]}); err != nil {
			t.Fatal(err)
		}
	}
	var ids []task.ID
	for i := range many {
		made, err := s.CreateTask(t.Context(), store.Task{ID: task.ID(fmt.Sprintf("t%02d", i)), Scope: scope, Payload: large("x")[:size]})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, made.ID)
	}
	chunks, err := s.ReadLog(t.Context(), "s", 0, 500)
	if err != nil || len(chunks) != few {
		t.Fatalf("%d chunks are read, %v; want %d", len(chunks), err, few)
	}
	for i, c := range chunks {
		if c.Number != int64(i) || len(c.Data) != size {
			t.Errorf("chunk %d has the number %d and %d bytes", i, c.Number, len(c.Data))
		}
	}
	m.reading()
	claimed, err := s.ClaimTasks(t.Context(), "d1", 1, ids, config("").Now())
	if requests, _ := m.reading(); !slices.Equal(requests[:3], []string{"BatchGetItem", "BatchGetItem", "BatchGetItem"}) {
		t.Errorf("the tasks fit into two answers: %v", requests)
	}
	if err != nil || len(claimed) != many {
		t.Fatalf("%d tasks are claimed, %v; want %d", len(claimed), err, many)
	}
	for i := range many {
		if c := claimed[i]; c.ID != ids[i] || len(c.Payload) != size {
			t.Errorf("task %d is %s with %d bytes", i, c.ID, len(c.Payload))
		}
	}
}

func TestChangedBlobsAreFound(t *testing.T) {
	t.Parallel()
	client, name := table(t)
	b := &blobs{}
	cfg := config(name)
	cfg.Blobs = b
	s := dynamo.New(client, cfg)
	k := store.EntityKey{Scope: scope, Kind: ref.Pipeline, ID: "deploy"}
	if _, err := s.SaveEntity(t.Context(), store.Entity{Key: k, YAML: large("yaml\n")}, audit.Record{Scope: scope}); err != nil {
		t.Fatal(err)
	}
	for key := range b.bodies {
		b.bodies[key] = large("evil\n")
	}
	if _, err := s.Entity(t.Context(), k); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("a changed blob is read with the error %v", err)
	}
}
