package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/dynamo"
)

// many is more references than fit into a transaction.
func many() []store.EntityKey {
	var refs []store.EntityKey
	for i := range 150 {
		refs = append(refs, store.EntityKey{Scope: scope, Kind: ref.Service, ID: fmt.Sprintf("s%03d", i)})
	}
	return refs
}

func referrers(t *testing.T, s *dynamo.Store, k store.EntityKey) int {
	t.Helper()
	who, _, err := s.Referrers(t.Context(), k, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return len(who)
}

func TestMoreReferencesThanATransactionHolds(t *testing.T) {
	t.Parallel()
	s := open(t)
	refs := many()
	record := audit.Record{Scope: scope, Action: audit.Update}
	first, last := save(t, s, refs[0].ID), save(t, s, refs[149].ID)
	pipeline := save(t, s, "pipeline", refs...)
	for _, target := range []store.Entity{first, last} {
		if n := referrers(t, s, target.Key); n != 1 {
			t.Errorf("%s has %d referrers, want 1", target.Key.ID, n)
		}
		if err := s.DeleteEntity(t.Context(), target.Key, 1, record); !fault.Is(err, fault.Referenced) {
			t.Errorf("deleting %s has the error %v, want one with the code %s", target.Key.ID, err, fault.Referenced)
		}
	}
	pipeline.Refs = nil
	pipeline, err := s.SaveEntity(t.Context(), pipeline, record)
	if err != nil {
		t.Fatal(err)
	}
	if n := referrers(t, s, last.Key); n != 0 {
		t.Errorf("what is no longer named has %d referrers", n)
	}
	if err := s.DeleteEntity(t.Context(), last.Key, 1, record); err != nil {
		t.Errorf("what is no longer named can't be deleted: %v", err)
	}
	pipeline.Refs = refs
	if pipeline, err = s.SaveEntity(t.Context(), pipeline, record); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteEntity(t.Context(), pipeline.Key, pipeline.Version, record); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteEntity(t.Context(), first.Key, 1, record); err != nil {
		t.Errorf("what a deleted entity named can't be deleted: %v", err)
	}
}

// TestASaveThatFailsNamesNothing: the reference items that it wrote before its
// transaction stay, and nobody takes them for references.
func TestASaveThatFailsNamesNothing(t *testing.T) {
	t.Parallel()
	client, name := table(t)
	s := dynamo.New(client, config(name))
	target := save(t, s, many()[149].ID)
	broken := dynamo.New(dynamodb.New(client.Options(), failTransactions), config(name))
	e := store.Entity{Key: store.EntityKey{Scope: scope, Kind: ref.Pipeline, ID: "deploy"}, Refs: many()}
	if _, err := broken.SaveEntity(t.Context(), e, audit.Record{Scope: scope}); err == nil {
		t.Fatal("the save succeeded")
	}
	if n := referrers(t, s, target.Key); n != 0 {
		t.Errorf("there are %d referrers, want none", n)
	}
	if err := s.DeleteEntity(t.Context(), target.Key, 1, audit.Record{Scope: scope}); err != nil {
		t.Errorf("the target can't be deleted: %v", err)
	}
}

func failTransactions(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("fail", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			if _, ok := in.Parameters.(*dynamodb.TransactWriteItemsInput); ok {
				return middleware.InitializeOutput{}, middleware.Metadata{}, errors.New("the network is down")
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.After)
	})
}
