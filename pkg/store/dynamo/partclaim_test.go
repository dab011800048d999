package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/dynamo"
	"github.com/slipway-cd/slipway/pkg/task"
)

// broken makes the first change of a task fail: before it is made, or after, as
// when its answer gets lost.
func broken(id task.ID, done bool) func(*dynamodb.Options) {
	var failed atomic.Bool
	return func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("broken", func(
				ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
			) (middleware.InitializeOutput, middleware.Metadata, error) {
				if p, ok := in.Parameters.(*dynamodb.TransactWriteItemsInput); !ok || !concerns(p, id) || !failed.CompareAndSwap(false, true) {
					return next.HandleInitialize(ctx, in)
				}
				if done {
					if out, meta, err := next.HandleInitialize(ctx, in); err != nil {
						return out, meta, err
					}
				}
				return middleware.InitializeOutput{}, middleware.Metadata{}, errors.New("the connection broke")
			}), middleware.After)
		})
	}
}

func concerns(in *dynamodb.TransactWriteItemsInput, id task.ID) bool {
	for _, w := range in.TransactItems {
		if w.Update != nil {
			pk, _ := w.Update.Key["pk"].(*types.AttributeValueMemberS)
			return strings.HasSuffix(pk.Value, string(id))
		}
	}
	return false
}

// Of a claim that fails in part nothing stays claimed: who claimed doesn't know
// of it.
func TestAClaimThatFailsInPartIsGivenBack(t *testing.T) {
	t.Parallel()
	for name, done := range map[string]bool{"before the write": false, "after it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, table := table(t)
			s := dynamo.New(client, config(table))
			var ids []task.ID
			for i := range 20 { // more than are claimed at once
				made, err := s.CreateTask(t.Context(), store.Task{ID: task.ID(fmt.Sprintf("t%02d", i)), Scope: scope, Token: "token"})
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, made.ID)
			}
			if _, err := s.ClaimTasks(t.Context(), "d1", 3, ids[:1], config("").Now()); err != nil {
				t.Fatal(err)
			}
			part := dynamo.New(dynamodb.New(client.Options(), broken("t10", done)), config(table))
			if list, err := part.ClaimTasks(t.Context(), "d1", 4, ids, config("").Now()); err == nil || len(list) > 0 {
				t.Errorf("the claim gives %d tasks and %v; want an error alone", len(list), err)
			}
			held, err := s.DelegateTasks(t.Context(), "d1")
			if err != nil || len(held) != 1 || held[0].ID != "t00" {
				t.Errorf("the delegate holds %d tasks, %v; want the one of its claim before", len(held), err)
			}
			open, _, err := s.OpenTasks(t.Context(), scope.Account, store.Page{Limit: 100})
			if err != nil || len(open) != len(ids)-1 {
				t.Errorf("%d tasks are open, %v; want %d", len(open), err, len(ids)-1)
			}
			list, err := s.ClaimTasks(t.Context(), "d2", 1, ids, config("").Now())
			if err != nil || len(list) != len(ids)-1 {
				t.Errorf("another delegate gets %d tasks, %v; want %d", len(list), err, len(ids)-1)
			}
		})
	}
}
