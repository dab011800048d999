package dynamo_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/dynamo"
)

// busy answers the first requests with an error, as DynamoDB does when it is
// asked too much: DynamoDB Local never is.
type busy struct {
	first int64 // how many
	err   error
	seen  atomic.Int64
}

func (b *busy) stand(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("busy", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			if b.seen.Add(1) <= b.first {
				return middleware.InitializeOutput{}, middleware.Metadata{}, b.err
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.After)
	})
}

func cancelled(codes ...string) error {
	e := &types.TransactionCanceledException{}
	for _, code := range codes {
		e.CancellationReasons = append(e.CancellationReasons, types.CancellationReason{Code: aws.String(code)})
	}
	return e
}

func TestWhatPassesIsTriedAgain(t *testing.T) {
	t.Parallel()
	nodes := store.Commit{Nodes: []store.Node{{ID: "a", State: plan.State{Status: plan.Running}}, {ID: "b"}}}
	for name, c := range map[string]struct {
		err error
		do  func(context.Context, *dynamo.Store) error
	}{
		"a read that is throttled": {&types.ThrottlingException{}, func(ctx context.Context, s *dynamo.Store) error {
			_, err := s.ListDelegates(ctx, "acme", time.Time{})
			return err
		}},
		"a write over the throughput": {&types.ProvisionedThroughputExceededException{}, func(ctx context.Context, s *dynamo.Store) error {
			return s.PutDelegate(ctx, store.Delegate{ID: "d1", Scope: scope})
		}},
		"a write beside a transaction": {&types.TransactionConflictException{}, func(ctx context.Context, s *dynamo.Store) error {
			return s.AppendLog(ctx, 1<<20, store.LogChunk{Stream: "s"})
		}},
		"a transaction beside another": {cancelled("TransactionConflict"), func(ctx context.Context, s *dynamo.Store) error {
			return s.CommitExecution(ctx, "x1", nodes)
		}},
		"a commit of one node": {&types.TransactionConflictException{}, func(ctx context.Context, s *dynamo.Store) error {
			return s.CommitExecution(ctx, "x1", store.Commit{Nodes: nodes.Nodes[:1]})
		}},
		"a transaction that is throttled": {cancelled("ThrottlingError"), func(ctx context.Context, s *dynamo.Store) error {
			return s.CommitExecution(ctx, "x1", nodes)
		}},
		"a change with an audit record": {&types.RequestLimitExceeded{}, func(ctx context.Context, s *dynamo.Store) error {
			_, err := s.AppendAudit(ctx, audit.Record{Scope: scope, Action: audit.Create})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &busy{first: 3, err: c.err}
			if err := c.do(t.Context(), open(t, b.stand)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOtherErrorsAreNotTriedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want fault.Code
	}{
		"a table that isn't there":   {&types.ResourceNotFoundException{}, fault.Internal},
		"a lost condition":           {cancelled("ConditionalCheckFailed"), fault.StaleVersion},
		"a lost one and a conflict":  {cancelled("ConditionalCheckFailed", "TransactionConflict"), fault.StaleVersion},
		"what can't be a write ever": {cancelled("ValidationError"), fault.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &busy{first: 1000, err: c.err}
			nodes := []store.Node{{ID: "a"}, {ID: "b"}}
			err := dynamo.New(dynamodb.New(dynamodb.Options{}, b.stand), config("none")).CommitExecution(t.Context(), "x1", store.Commit{Nodes: nodes})
			if got := fault.CodeOf(err); got != c.want || b.seen.Load() != 1 {
				t.Errorf("%d requests end with code %q, want 1 and %q: %v", b.seen.Load(), got, c.want, err)
			}
		})
	}
}

// TestBusyUntilTheEnd: the caller's deadline bounds the tries, and pauses keep
// them few.
func TestBusyUntilTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &busy{first: 1 << 40, err: &types.ThrottlingException{}}
		s := dynamo.New(dynamodb.New(dynamodb.Options{}, b.stand), config("none"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := s.Token(ctx, "t1")
		if !fault.Is(err, fault.Unavailable) {
			t.Errorf("error has code %q, want %q: %v", fault.CodeOf(err), fault.Unavailable, err)
		}
		if n := b.seen.Load(); n < 60 || n > 600 {
			t.Errorf("there were %d tries within a minute, want some hundred", n)
		}
	})
}
