package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/dynamo"
)

// Executions of one pipeline that start at the same moment want the same
// sequence number and the same end of the trail. Each gets its own, and the
// tries stay few.
func TestManyStartAtOnce(t *testing.T) {
	t.Parallel()
	m := &meter{}
	s := open(t, m.watch)
	const crowd, fewTries = 60, 30
	sequences := make([]int64, crowd)
	if _, err := s.CreateExecution(t.Context(), starting("first"), []byte("{}"), startRecord()); err != nil {
		t.Fatal(err)
	}
	m.reading()
	var all sync.WaitGroup
	for i := range crowd {
		all.Go(func() {
			x, err := s.CreateExecution(t.Context(), starting(fmt.Sprint("x", i)), []byte("{}"), startRecord())
			if err != nil {
				t.Errorf("start %d: %v", i, err)
			}
			sequences[i] = x.Sequence
		})
	}
	all.Wait()
	if requests, _ := m.reading(); len(requests) > crowd*fewTries {
		t.Errorf("%d starts took %d requests, want at most %d for each", crowd, len(requests), fewTries)
	}
	slices.Sort(sequences)
	if sequences[0] != 2 || sequences[crowd-1] != crowd+1 || len(slices.Compact(sequences)) != crowd {
		t.Errorf("the sequence numbers are %v, want 2 to %d", sequences, crowd+1)
	}
	verified(t, s, crowd+1)
}

func starting(id string) store.Execution {
	return store.Execution{ID: id, Scope: scope, Pipeline: "p", PlanHash: "h", Status: plan.Running, StartedAt: config("").Now()}
}

func startRecord() audit.Record { return audit.Record{Scope: scope, Action: audit.Start} }

// verified checks that the trail is whole and has so many records.
func verified(t *testing.T, s *dynamo.Store, want int) {
	t.Helper()
	trail, err := s.ListAudit(t.Context(), scope.Account, 1, want+10)
	if err != nil || len(trail) != want {
		t.Fatalf("the trail has %d records, %v; want %d", len(trail), err, want)
	}
	var v audit.Verifier
	for _, r := range trail {
		if err := v.Check(r); err != nil {
			t.Error(err)
		}
	}
}

// stuck refuses every request for the backlog but those that write a change
// with it: whoever has made that ends before its record is in the trail.
func stuck(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("stuck", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			if p, ok := in.Parameters.(*dynamodb.GetItemInput); ok {
				if pk, _ := p.Key["pk"].(*types.AttributeValueMemberS); strings.HasPrefix(pk.Value, "B#") {
					return middleware.InitializeOutput{}, middleware.Metadata{}, errors.New("it ends here")
				}
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.After)
	})
}

// A change whose record was left in the backlog is made, and who reads the
// trail finds the record.
func TestRecordsThatWaitAreRead(t *testing.T) {
	t.Parallel()
	client, name := table(t)
	quick := dynamo.New(client, config(name))
	started := func(s *dynamo.Store, id string) {
		if _, err := s.CreateExecution(t.Context(), starting(id), []byte("{}"), startRecord()); err != nil {
			t.Error(err)
		}
	}
	started(quick, "first")
	meanwhile := before(func() { started(quick, "second") })
	started(dynamo.New(dynamodb.New(client.Options(), stuck, meanwhile), config(name)), "third")
	waiting, err := client.Query(t.Context(), &dynamodb.QueryInput{
		TableName: &name, KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: "B#" + scope.Account}},
	})
	if err != nil || waiting.Count != 1 {
		t.Errorf("%d records wait, %v; want the third", waiting.Count, err)
	}
	verified(t, quick, 3)
	started(quick, "fourth")
	verified(t, quick, 4)
}
