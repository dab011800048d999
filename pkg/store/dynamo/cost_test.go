package dynamo_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/dynamo"
	"github.com/slipway-cd/slipway/pkg/task"
)

// meter counts requests, and what they consume.
type meter struct {
	mu       sync.Mutex
	requests []string
	units    float64
}

// watch makes a client tell the meter.
func (m *meter) watch(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("meter", m.handle), middleware.After)
	})
}

func (m *meter) handle(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	const total = types.ReturnConsumedCapacityTotal
	switch p := in.Parameters.(type) {
	case *dynamodb.GetItemInput:
		p.ReturnConsumedCapacity = total
	case *dynamodb.BatchGetItemInput:
		p.ReturnConsumedCapacity = total
	case *dynamodb.QueryInput:
		p.ReturnConsumedCapacity = total
	case *dynamodb.PutItemInput:
		p.ReturnConsumedCapacity = total
	case *dynamodb.UpdateItemInput:
		p.ReturnConsumedCapacity = total
	case *dynamodb.TransactWriteItemsInput:
		p.ReturnConsumedCapacity = total
	}
	out, metadata, err := next.HandleInitialize(ctx, in)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, middleware.GetOperationName(ctx))
	units := 0.0
	for _, c := range consumed(out.Result) {
		units += aws.ToFloat64(c.CapacityUnits)
	}
	if p, ok := in.Parameters.(*dynamodb.TransactWriteItemsInput); ok {
		// DynamoDB Local adds up wrongly when a transaction puts several items.
		// Each costs two, as long as it has less than a KB.
		units = max(units, 2*float64(len(p.TransactItems)))
	}
	m.units += units
	return out, metadata, err
}

func consumed(result any) []types.ConsumedCapacity {
	one := func(c *types.ConsumedCapacity) []types.ConsumedCapacity {
		if c == nil {
			return nil
		}
		return []types.ConsumedCapacity{*c}
	}
	switch r := result.(type) {
	case *dynamodb.GetItemOutput:
		return one(r.ConsumedCapacity)
	case *dynamodb.QueryOutput:
		return one(r.ConsumedCapacity)
	case *dynamodb.PutItemOutput:
		return one(r.ConsumedCapacity)
	case *dynamodb.UpdateItemOutput:
		return one(r.ConsumedCapacity)
	case *dynamodb.BatchGetItemOutput:
		return r.ConsumedCapacity
	case *dynamodb.TransactWriteItemsOutput:
		return r.ConsumedCapacity
	}
	return nil
}

// reading ends a measurement.
func (m *meter) reading() ([]string, float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	requests, units := m.requests, m.units
	m.requests, m.units = nil, 0
	slices.Sort(requests)
	return requests, units
}

// TestCosts measures what docs/data-model.md says of the patterns that
// every step of every execution goes through.
func TestCosts(t *testing.T) {
	t.Parallel()
	m := &meter{}
	s := open(t, m.watch)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	create := func(id string) func(context.Context, *dynamo.Store) error {
		return func(ctx context.Context, s *dynamo.Store) error {
			x := store.Execution{ID: id, Scope: scope, Pipeline: "deploy", PlanHash: "h", Status: plan.Running, StartedAt: now}
			_, err := s.CreateExecution(ctx, x, []byte("{}"), audit.Record{Scope: scope, Action: audit.Start})
			return err
		}
	}
	node := func(id plan.NodeID) store.Node {
		return store.Node{Execution: "x1", ID: id, State: plan.State{Status: plan.Running, StartedAt: now}}
	}
	work := func(id task.ID) store.Task {
		return store.Task{
			ID: id, Scope: scope, Execution: "x1", Node: "pipeline.a", Kind: task.KindShell,
			Payload: []byte(`{"script":"true"}`), Token: "token", CreatedAt: now,
		}
	}
	for _, c := range []struct {
		pattern  string
		do       func(context.Context, *dynamo.Store) error
		requests []string
		units    float64
	}{
		{"AP-6 CreateExecution, the first of a month", create("x1"), []string{"GetItem", "GetItem", "GetItem", "PutItem", "TransactWriteItems"}, 3 + 1 + 16},
		{"AP-6 CreateExecution, another one", create("x2"), []string{"GetItem", "GetItem", "GetItem", "TransactWriteItems"}, 3 + 12},
		{"AP-7 Execution", func(ctx context.Context, s *dynamo.Store) error {
			_, err := s.Execution(ctx, "x2")
			return err
		}, []string{"GetItem"}, 1},
		{"AP-8 ListExecutions", func(ctx context.Context, s *dynamo.Store) error {
			list, _, err := s.ListExecutions(ctx, store.ExecutionFilter{Scope: scope}, store.Page{})
			return count(2, list, err)
		}, []string{"BatchGetItem", "Query", "Query"}, 2 + 1 + 1},
		{"AP-12 CommitExecution, first write of two nodes", func(ctx context.Context, s *dynamo.Store) error {
			return s.CommitExecution(ctx, "x1", store.Commit{Nodes: []store.Node{node("a"), node("b")}})
		}, []string{"TransactWriteItems"}, 4},
		{"AP-12 CommitExecution, two nodes again", func(ctx context.Context, s *dynamo.Store) error {
			a, b := node("a"), node("b")
			a.Version, b.Version = 1, 1
			return s.CommitExecution(ctx, "x1", store.Commit{Nodes: []store.Node{a, b}})
		}, []string{"TransactWriteItems"}, 4},
		{"AP-12 CommitExecution, one node", func(ctx context.Context, s *dynamo.Store) error {
			return s.CommitExecution(ctx, "x1", store.Commit{Nodes: []store.Node{node("c")}})
		}, []string{"PutItem"}, 1},
		{"AP-10 Nodes", func(ctx context.Context, s *dynamo.Store) error {
			list, err := s.Nodes(ctx, "x1", "a", "b")
			return count(2, list, err)
		}, []string{"BatchGetItem"}, 2},
		{"AP-14 CreateTask", func(ctx context.Context, s *dynamo.Store) error {
			_, err := s.CreateTask(ctx, work("t1"))
			return err
		}, []string{"TransactWriteItems"}, 6},
		{"AP-15 Task", func(ctx context.Context, s *dynamo.Store) error {
			_, err := s.Task(ctx, "t1")
			return err
		}, []string{"Query"}, 1},
		{"AP-16 OpenTasks", func(ctx context.Context, s *dynamo.Store) error {
			list, _, err := s.OpenTasks(ctx, "acme", store.Page{})
			return count(1, list, err)
		}, []string{"BatchGetItem", "Query"}, 2},
		{"AP-17 ClaimTasks", func(ctx context.Context, s *dynamo.Store) error {
			list, err := s.ClaimTasks(ctx, "d1", 1, []task.ID{"t1"}, now)
			return count(1, list, err)
		}, []string{"BatchGetItem", "TransactWriteItems"}, 2 + 6},
		{"AP-16 OpenTasks, none", func(ctx context.Context, s *dynamo.Store) error {
			list, _, err := s.OpenTasks(ctx, "acme", store.Page{})
			return count(0, list, err)
		}, []string{"Query"}, 0}, // AWS counts 1
		{"AP-18 RenewTask", func(ctx context.Context, s *dynamo.Store) error {
			_, err := s.RenewTask(ctx, "t1", "d1", 1, now.Add(time.Minute))
			return err
		}, []string{"UpdateItem"}, 1},
		{"AP-19 CompleteTask", func(ctx context.Context, s *dynamo.Store) error {
			_, err := s.CompleteTask(ctx, "t1", "d1", 1, task.Result{Status: task.Succeeded})
			return err
		}, []string{"UpdateItem"}, 1 + 1},
		{"AP-63 SaveEntities, three new ones", func(ctx context.Context, s *dynamo.Store) error {
			var set []store.Save
			for _, id := range []string{"a", "b", "c"} {
				key := store.EntityKey{Scope: scope, Kind: ref.Service, ID: id}
				set = append(set, store.Save{Entity: store.Entity{Key: key}, Audit: audit.Record{Scope: scope, Action: audit.Create}})
			}
			saved, err := s.SaveEntities(ctx, set)
			return count(3, saved, err)
		}, []string{"GetItem", "TransactWriteItems"}, 1 + 2*(3+3+1)},
		{"AP-103 Names, for the first time", func(ctx context.Context, s *dynamo.Store) error {
			list, err := s.Names(ctx, scope, ref.Service)
			return count(3, list, err)
		}, []string{"GetItem", "PutItem", "Query"}, 1 + 1 + 1},
		{"AP-103 Names", func(ctx context.Context, s *dynamo.Store) error {
			list, err := s.Names(ctx, scope, ref.Service)
			return count(3, list, err)
		}, []string{"GetItem", "Query"}, 1 + 0.5},
		{"AP-64 EntitiesAt", func(ctx context.Context, s *dynamo.Store) error {
			var keys []store.EntityKey
			for _, id := range []string{"a", "b", "none"} {
				keys = append(keys, store.EntityKey{Scope: scope, Kind: ref.Service, ID: id})
			}
			found, err := s.EntitiesAt(ctx, keys)
			return count(2, found, err)
		}, []string{"BatchGetItem"}, 2}, // AWS counts 1 for what isn't there
	} {
		if err := c.do(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", c.pattern, err)
		}
		requests, units := m.reading()
		if !slices.Equal(requests, c.requests) {
			t.Errorf("%s makes the requests %v, want %v", c.pattern, requests, c.requests)
		}
		if units != c.units {
			t.Errorf("%s consumes %v units, want %v", c.pattern, units, c.units)
		}
	}
}

// count makes an error of a list that has another length.
func count[T any](want int, list []T, err error) error {
	if err == nil && len(list) != want {
		return fmt.Errorf("%d are listed, want %d", len(list), want)
	}
	return err
}
