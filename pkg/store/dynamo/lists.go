package dynamo

import (
	"context"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/store"
)

// listing is the writes that put a new execution on the lists of its scope and
// of its pipeline. known is the month of the pipeline's execution before: if it
// is this one's too, both lists have it in their directories.
func (s executions) listing(e store.Execution, known string) []write {
	var writes []write
	month := monthOf(e.StartedAt)
	for _, pipeline := range []string{"", e.Pipeline} {
		at := key{monthPK(e.Scope, pipeline, month), momentText(e.StartedAt, e.ID)}
		writes = append(writes, s.table.put(at.item(), "", nil, nil))
		if month != known {
			writes = append(writes, s.table.put(key{monthsPK(e.Scope, pipeline), month}.item(), "", nil, nil))
		}
	}
	return writes
}

// ListExecutions lists those of exactly one scope, the newest first. The lists
// know no status, so that an execution that changes isn't written there again:
// a page by status looks at the largest page's worth of executions.
func (s executions) ListExecutions(ctx context.Context, f store.ExecutionFilter, page store.Page) ([]store.Execution, string, error) {
	list := monthsPK(f.Scope, f.Pipeline)
	after, err := s.table.after(list, page.Token)
	if err != nil {
		return nil, "", err
	}
	if after == "" && !f.Before.IsZero() {
		after = momentText(f.Before, "")
	}
	limit := bounded(page.Limit)
	if len(f.Statuses) == 0 {
		return s.executionsBefore(ctx, f, after, limit)
	}
	found, next, err := s.executionsBefore(ctx, f, after, largestPage)
	if err != nil {
		return nil, "", err
	}
	found = slices.DeleteFunc(found, func(e store.Execution) bool { return !f.Has(e.Shown()) })
	if len(found) <= limit {
		return found, next, nil
	}
	return nextPage(s.table.pages, list, found, limit, func(e store.Execution) string { return momentText(e.StartedAt, e.ID) })
}

// executionsBefore are those of every status that began before a moment.
func (s executions) executionsBefore(ctx context.Context, f store.ExecutionFilter, after string, limit int) ([]store.Execution, string, error) {
	list := monthsPK(f.Scope, f.Pipeline)
	months, err := s.monthsBack(ctx, list, after, f.Since)
	if err != nil {
		return nil, "", err
	}
	var found []string
	for _, month := range months {
		q := query{pk: monthPK(f.Scope, f.Pipeline, month), backwards: true, limit: limit + 1 - len(found)}
		if after != "" {
			q.sk, q.values = "sk < :after", item{":after": str(after)}
		}
		part, err := s.table.query(ctx, q)
		if err != nil {
			return nil, "", err
		}
		for _, it := range part {
			if moment := text(it, "sk"); f.Since.IsZero() || moment >= momentText(f.Since, "") {
				found = append(found, moment)
			}
		}
		if len(found) > limit {
			break
		}
	}
	return s.executionsAt(ctx, list, found, limit)
}

// monthsBack reads which months a list has, from a moment backwards to a time.
func (s executions) monthsBack(ctx context.Context, list, from string, since time.Time) ([]string, error) {
	q := query{pk: list, backwards: true}
	if from != "" {
		month, err := momentMonth(from)
		if err != nil {
			return nil, err
		}
		q.sk, q.values = "sk <= :month", item{":month": str(month)}
	}
	found, err := s.table.query(ctx, q)
	var months []string
	for _, it := range found {
		if month := text(it, "sk"); since.IsZero() || month >= monthOf(since) {
			months = append(months, month)
		}
	}
	return months, err
}

// executionsAt makes a page of the moments of executions.
func (s executions) executionsAt(ctx context.Context, list string, moments []string, limit int) ([]store.Execution, string, error) {
	moments, next, err := nextPage(s.table.pages, list, moments, limit, func(moment string) string { return moment })
	if err != nil {
		return nil, "", err
	}
	var keys []key
	for _, moment := range moments {
		keys = append(keys, executionAt(momentID(moment)))
	}
	items, err := s.table.getAll(ctx, keys)
	if err != nil {
		return nil, "", err
	}
	executions, err := decodeAll(ctx, s.table.bodies, items, readExecution)
	return executions, next, err
}

// RunningExecutions lists those under way that began before a time. The index
// may still have some that have ended; they are left out of their page.
func (s executions) RunningExecutions(ctx context.Context, before time.Time, page store.Page) ([]store.Execution, string, error) {
	after, err := s.table.after(runningPK, page.Token)
	if err != nil {
		return nil, "", err
	}
	limit := bounded(page.Limit)
	if after >= momentText(before, "") {
		return nil, "", nil
	}
	found, err := s.table.query(ctx, query{
		index: IndexUnderWay, pk: runningPK, sk: "sk2 BETWEEN :after AND :before", limit: limit + 1,
		values: item{":after": str(after + "\x00"), ":before": str(momentText(before, ""))},
	})
	if err != nil {
		return nil, "", err
	}
	var moments []string
	for _, it := range found {
		moments = append(moments, text(it, "sk2"))
	}
	list, next, err := s.executionsAt(ctx, runningPK, moments, limit)
	return slices.DeleteFunc(list, func(e store.Execution) bool { return e.Status.Terminal() }), next, err
}
