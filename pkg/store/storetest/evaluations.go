package storetest

import (
	"bytes"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/store"
)

func evaluationCases() []testCase {
	return []testCase{
		{"an evaluation is kept once", keepEvaluationOnce},
		{"evaluations are listed newest first, by scope and by execution", listEvaluations},
		{"an evaluation that has expired isn't there", expiredEvaluation},
	}
}

func (b *bench) evaluation(id string, seconds int) policy.Evaluation {
	scope := b.scope()
	return policy.Evaluation{
		ID: id, Scope: scope, Org: scope.Org, Project: scope.Project, Type: "pipeline", Action: "onrun", Entity: "pipeline web", Actor: "me", Status: policy.Refused,
		Sets: []policy.EvaluatedSet{{Set: "house", Status: policy.Refused, Policies: []policy.Evaluated{
			{Policy: "names", Severity: policy.Error, Status: policy.Refused, Messages: []string{"no"}},
		}}},
		CreatedAt: at(seconds), ExpiresAt: at(seconds).Add(policy.KeptFor),
	}
}

func keepEvaluationOnce(b *bench) {
	e := b.evaluation("e/1", 0)
	input := bytes.Repeat([]byte(`{"long": true} `), 10_000) // more than an item takes
	b.ok(b.Store.KeepEvaluation(b.ctx(), e, input))
	again := e
	again.CreatedAt, again.Entity = at(5), "pipeline other"
	b.ok(b.Store.KeepEvaluation(b.ctx(), again, []byte("{}")))
	got, kept, err := b.Store.Evaluation(b.ctx(), e.Scope.Account, e.ID, at(9))
	b.ok(err)
	same(b, "evaluation", e, got)
	same(b, "its input", string(input), string(kept))
	list, _, err := b.Store.ListEvaluations(b.ctx(), store.EvaluationsOf{Scope: e.Scope}, at(9), store.Page{})
	b.ok(err)
	same(b, "evaluations", []policy.Evaluation{e}, list)
	_, _, err = b.Store.Evaluation(b.ctx(), "another", e.ID, at(9))
	b.refused(err, fault.NotFound)
}

func listEvaluations(b *bench) {
	var want []policy.Evaluation
	for i, id := range []string{"c", "a", "b", "d#1", "d/2"} {
		e := b.evaluation(id, i/2)
		if i > 2 {
			e.Execution, e.Node, e.Attempt = "x1", "pipeline.stages.s", 2
		}
		b.ok(b.Store.KeepEvaluation(b.ctx(), e, []byte("{}")))
		want = append(want, e)
	}
	above := b.evaluation("z", 9)
	above.Scope.Project, above.Project = "", ""
	b.ok(b.Store.KeepEvaluation(b.ctx(), above, []byte("{}")))
	slices.SortFunc(want, func(x, y policy.Evaluation) int {
		if c := y.CreatedAt.Compare(x.CreatedAt); c != 0 {
			return c
		}
		return bytes.Compare([]byte(y.ID), []byte(x.ID))
	})
	for size := 1; size <= len(want)+1; size++ {
		var got []policy.Evaluation
		for page := (store.Page{Limit: size}); ; {
			part, next, err := b.Store.ListEvaluations(b.ctx(), store.EvaluationsOf{Scope: want[0].Scope}, at(20), page)
			b.ok(err)
			got = append(got, part...)
			if page.Token = next; next == "" {
				break
			}
		}
		same(b, "evaluations", want, got)
	}
	got, _, err := b.Store.ListEvaluations(b.ctx(), store.EvaluationsOf{Scope: want[0].Scope, Execution: "x1"}, at(20), store.Page{})
	b.ok(err)
	same(b, "evaluations of an execution", slices.DeleteFunc(slices.Clone(want), func(e policy.Evaluation) bool { return e.Execution == "" }), got)
}

func expiredEvaluation(b *bench) {
	e := b.evaluation("old", 0)
	e.ExpiresAt = e.CreatedAt.Add(time.Minute)
	b.ok(b.Store.KeepEvaluation(b.ctx(), e, []byte("{}")))
	_, _, err := b.Store.Evaluation(b.ctx(), e.Scope.Account, e.ID, e.ExpiresAt)
	b.refused(err, fault.NotFound)
	list, _, err := b.Store.ListEvaluations(b.ctx(), store.EvaluationsOf{Scope: e.Scope}, e.ExpiresAt, store.Page{})
	b.ok(err)
	same(b, "evaluations", 0, len(list))
	b.ok(b.Store.KeepEvaluation(b.ctx(), b.evaluation("new", 3600), []byte("{}"))) // and it may be forgotten
}
