package dynamo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/dynamo"
)

// twice sends every put of an item again, as the SDK does when an answer got
// lost on the way.
func twice(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("twice", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			if _, put := in.Parameters.(*dynamodb.PutItemInput); put {
				if out, meta, err := next.HandleInitialize(ctx, in); err != nil {
					return out, meta, err
				}
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.After)
	})
}

// A write that is refused leaves no blob behind, and what is stored keeps its
// own, whatever was said of the write.
func TestRefusedWritesLeaveNoBlob(t *testing.T) {
	t.Parallel()
	quoted, err := json.Marshal(string(large("large ")))
	if err != nil {
		t.Fatal(err)
	}
	node := func(id string, version int64) store.Node {
		return store.Node{ID: plan.NodeID(id), Version: version, State: plan.State{Status: plan.Running, Outputs: quoted}}
	}
	for name, tt := range map[string]struct {
		sent func(*dynamodb.Options)
		run  func(t *testing.T, s *dynamo.Store) error
		want int // blobs
	}{
		"a node": {run: func(t *testing.T, s *dynamo.Store) error {
			t.Helper()
			commit(t, s, store.Commit{Nodes: []store.Node{node("a", 0)}})
			return s.CommitExecution(t.Context(), "x1", store.Commit{Nodes: []store.Node{node("a", 0)}})
		}, want: 1},
		"several nodes and a stale one": {run: func(t *testing.T, s *dynamo.Store) error {
			t.Helper()
			commit(t, s, store.Commit{Nodes: []store.Node{node("a", 0)}})
			return s.CommitExecution(t.Context(), "x1", store.Commit{Nodes: []store.Node{node("b", 0), node("a", 0), node("c", 0)}})
		}, want: 1},
		"a node whose first answer got lost": {sent: twice, run: func(t *testing.T, s *dynamo.Store) error {
			t.Helper()
			return s.CommitExecution(t.Context(), "x1", store.Commit{Nodes: []store.Node{node("a", 0)}})
		}, want: 1},
		"a file": {run: func(t *testing.T, s *dynamo.Store) error {
			t.Helper()
			f := store.File{Key: ref.File{Scope: scope, Path: "/a.sh"}}
			if _, err := s.SaveFile(t.Context(), f, []byte("true"), audit.Record{Scope: scope}); err != nil {
				t.Fatal(err)
			}
			_, err := s.SaveFile(t.Context(), f, []byte("false"), audit.Record{Scope: scope})
			return err
		}, want: 1},
		"an execution": {run: func(t *testing.T, s *dynamo.Store) error {
			t.Helper()
			x := store.Execution{ID: "x1", Scope: scope, Pipeline: "p", PlanHash: "h", Status: plan.Running, Inputs: quoted}
			for range 2 { // the second gives back the first
				if _, err := s.CreateExecution(t.Context(), x, []byte("{}"), audit.Record{Scope: scope, Action: audit.Start}); err != nil {
					t.Fatal(err)
				}
			}
			x.Version = 7
			return s.CommitExecution(t.Context(), "x1", store.Commit{Execution: &x})
		}, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, table := table(t)
			b := &blobs{}
			cfg := config(table)
			cfg.Blobs = b
			if tt.sent != nil {
				client = dynamodb.New(client.Options(), tt.sent)
			}
			s := dynamo.New(client, cfg)
			if err := tt.run(t, s); !fault.Is(err, fault.StaleVersion) {
				t.Errorf("the last write gives %v, want that it is stale", err)
			}
			if len(b.bodies) != tt.want {
				t.Errorf("there are %d blobs, want %d", len(b.bodies), tt.want)
			}
			nodes, err := s.AllNodes(t.Context(), "x1")
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range nodes {
				if !bytes.Equal(n.State.Outputs, quoted) {
					t.Errorf("node %s has %d bytes of outputs, want %d", n.ID, len(n.State.Outputs), len(quoted))
				}
			}
		})
	}
}

func commit(t *testing.T, s *dynamo.Store, c store.Commit) {
	t.Helper()
	if err := s.CommitExecution(t.Context(), "x1", c); err != nil {
		t.Fatal(err)
	}
}
