package dynamo

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// evaluations is store.Evaluations. An evaluation is an item, and has a place in the
// list of its scope and in that of its execution, which have nothing but its id.
type evaluations struct{ table *table }

// errEvaluated: there is such an evaluation.
var errEvaluated = errors.New("the evaluation is there already")

// KeepEvaluation keeps one. An input that is large has a blob of its own, which goes
// when the item expires.
func (s evaluations) KeepEvaluation(ctx context.Context, e policy.Evaluation, input []byte) error {
	it := evaluationAt(e.Scope.Account, e.ID).item()
	it[Expires], it["account"] = num(e.ExpiresAt.Unix()), str(e.Scope.Account)
	if err := s.table.bodies.encodeOwn(ctx, it, "doc", e, largestPart); err != nil {
		return err
	}
	var err error
	if it["content"], err = s.table.bodies.packedOwn(ctx, input, largestPart); err != nil {
		return err
	}
	place := func(of store.EvaluationsOf) write {
		at := key{evaluationsPK(of), momentText(e.CreatedAt, e.ID)}.item()
		at[Expires] = num(e.ExpiresAt.Unix())
		return s.table.put(at, "", nil, nil)
	}
	writes := []write{s.table.put(it, missing, nil, errEvaluated), place(store.EvaluationsOf{Scope: e.Scope})}
	if e.Execution != "" {
		writes = append(writes, place(store.EvaluationsOf{Scope: e.Scope, Execution: e.Execution}))
	}
	err = again(ctx, func() error { return s.table.transact(ctx, writes...) })
	if errors.Is(err, errEvaluated) {
		s.table.abandon(ctx, writes...)
		return nil
	}
	return err
}

// Evaluation reads one with its input.
func (s evaluations) Evaluation(ctx context.Context, account, id string, now time.Time) (policy.Evaluation, []byte, error) {
	it, err := s.table.get(ctx, evaluationAt(account, id))
	if err != nil {
		return policy.Evaluation{}, nil, err
	}
	if it == nil {
		return policy.Evaluation{}, nil, store.NoEvaluation(id)
	}
	e, err := readEvaluation(ctx, s.table.bodies, it)
	if err == nil && !e.ExpiresAt.After(now) {
		err = store.NoEvaluation(id)
	}
	if err != nil {
		return policy.Evaluation{}, nil, err
	}
	input, err := s.table.bodies.unpacked(ctx, it, "content")
	return e, input, err
}

// ListEvaluations lists those of a scope, or of an execution, newest first.
func (s evaluations) ListEvaluations(ctx context.Context, of store.EvaluationsOf, now time.Time, page store.Page) ([]policy.Evaluation, string, error) {
	found, next, err := s.table.newestFirst(ctx, evaluationsPK(of), time.Time{}, page)
	if err != nil {
		return nil, "", err
	}
	keys := make([]key, len(found))
	for i, it := range found {
		keys[i] = evaluationAt(of.Scope.Account, momentID(text(it, "sk")))
	}
	items, err := s.table.getAll(ctx, keys)
	if err != nil {
		return nil, "", err
	}
	list, err := decodeAll(ctx, s.table.bodies, items, readEvaluation)
	return slices.DeleteFunc(list, func(e policy.Evaluation) bool { return !e.ExpiresAt.After(now) }), next, err
}

func readEvaluation(ctx context.Context, b bodies, it item) (policy.Evaluation, error) {
	var e policy.Evaluation
	err := b.decode(ctx, it, "doc", &e)
	e.Scope = ref.Scope{Account: text(it, "account"), Org: e.Org, Project: e.Project}
	return e, err
}
