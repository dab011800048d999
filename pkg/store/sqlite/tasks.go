package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// tasks is store.Tasks.
type tasks struct {
	db     *sqlitedb.DB
	recent *recentTasks
}

const taskColumns = `id, status, delegate, claim, fence, lease_until, token, created_at, doc, payload, result`

// What delegates ask for all the time: the work is that of what they get, not
// of what there is.
const (
	selectOpenTasks = `SELECT ` + taskColumns + ` FROM task
		WHERE account = ? AND status = 'Open' AND (created_at, id) > (?, ?) ORDER BY created_at, id LIMIT ?`
	selectTask      = `SELECT ` + taskColumns + ` FROM task WHERE id = ?`
	selectHeldTasks = `SELECT ` + taskColumns + ` FROM task WHERE delegate = ? AND status = 'Claimed' ORDER BY id`
)

func scanTask(row scanner) (store.Task, error) {
	t, _, err := measureTask(row)
	return t, err
}

// measureTask scans a task and says how many bytes its texts have.
func measureTask(row scanner) (t store.Task, texts int, err error) {
	var lease, created int64
	var doc, payload, result []byte
	if err := row.Scan(&t.ID, &t.Status, &t.Delegate, &t.Claim, &t.Fence, &lease, &t.Token, &created, &doc, &payload, &result); err != nil {
		return store.Task{}, 0, err
	}
	if err := json.Unmarshal(doc, &t); err != nil {
		return store.Task{}, 0, fmt.Errorf("decode task %s: %w", t.ID, err)
	}
	t.LeaseUntil, t.CreatedAt = fromMillis(lease), fromMillis(created)
	if len(payload) > 0 {
		t.Payload = payload
	}
	if result != nil {
		if err := json.Unmarshal(result, &t.Result); err != nil {
			return store.Task{}, 0, fmt.Errorf("decode the result of task %s: %w", t.ID, err)
		}
	}
	return t, len(doc) + len(payload) + len(result), nil
}

func readTask(tx *sqlitedb.Tx, id task.ID) (store.Task, error) {
	t, err := scanTask(tx.QueryRow(selectTask, string(id)))
	return t, missing(err, "task %q", id)
}

// changedTask runs a statement that gives a task back as it is now.
func (s tasks) changedTask(tx *sqlitedb.Tx, statement string, args ...any) (store.Task, error) {
	t, texts, err := measureTask(tx.QueryRow(statement, args...))
	if err == nil {
		tx.Then(func() { s.recent.put(t, texts) })
	}
	return t, err
}

// changeTask runs an UPDATE that has a condition. When the condition is lost,
// otherwise decides by the task as it is.
func (s tasks) changeTask(ctx context.Context, id task.ID, otherwise func(store.Task) (store.Task, error), update string, args ...any) (store.Task, error) {
	return apply(ctx, s.db, func(tx *sqlitedb.Tx) (store.Task, error) {
		t, err := s.changedTask(tx, update+` RETURNING `+taskColumns, args...)
		if !errors.Is(err, sql.ErrNoRows) {
			return t, err
		}
		if t, err = readTask(tx, id); err != nil {
			return store.Task{}, err
		}
		return otherwise(t)
	})
}

// unchanged gives a task back as it is.
func unchanged(t store.Task) (store.Task, error) { return t, nil }

func leaseLost(t store.Task, delegate string, fence int64) error {
	return fault.New(fault.LeaseLost, "task %q isn't delegate %q's with fence %d: it is %s with fence %d", t.ID, delegate, fence, t.Status, t.Fence)
}

// CreateTask stores an open task, or gives one that is under way its new token.
func (s tasks) CreateTask(ctx context.Context, t store.Task) (store.Task, error) {
	doc, err := json.Marshal(t)
	if err != nil {
		return store.Task{}, fmt.Errorf("encode task %s: %w", t.ID, err)
	}
	return apply(ctx, s.db, func(tx *sqlitedb.Tx) (store.Task, error) {
		made, err := s.changedTask(tx, `INSERT INTO task (id, account, status, delegate, fence, lease_until, token, created_at, doc, payload)
			VALUES (?, ?, 'Open', '', 0, 0, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING `+taskColumns,
			string(t.ID), t.Scope.Account, t.Token, millis(t.CreatedAt), string(doc), nonNil(t.Payload))
		if !errors.Is(err, sql.ErrNoRows) {
			return made, err
		}
		if err := exec(tx, `UPDATE task SET token = ? WHERE id = ? AND status IN ('Open', 'Claimed')`, t.Token, string(t.ID)); err != nil {
			return store.Task{}, err
		}
		return s.changedTask(tx, selectTask, string(t.ID))
	})
}

// Task reads one.
func (s tasks) Task(ctx context.Context, id task.ID) (store.Task, error) {
	if t, ok := s.recent.task(id); ok {
		return t, nil
	}
	return read(ctx, s.db, func(tx *sqlitedb.Tx) (store.Task, error) { return readTask(tx, id) })
}

// OpenTasks lists an account's open tasks, the oldest first.
func (s tasks) OpenTasks(ctx context.Context, account string, page store.Page) ([]store.Task, string, error) {
	if page.Token == "" {
		if tasks, known := s.recent.openTasks(account, bounded(page.Limit)); known {
			return tasks, "", nil
		}
	}
	place := func(t store.Task) moment { return momentOf(t.CreatedAt, string(t.ID)) }
	return byTime(ctx, s.db, page, oldest, place, func(tx *sqlitedb.Tx, beyond moment, limit int) ([]store.Task, error) {
		return rows(tx, scanTask, selectOpenTasks, account, beyond.at, beyond.id, limit)
	})
}

// loadOpen finds out which tasks are open.
func (s tasks) loadOpen(ctx context.Context) error {
	open, err := read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.Task, error) {
		return rows(tx, func(row scanner) (t store.Task, err error) {
			err = row.Scan(&t.Scope.Account, &t.ID)
			return t, err
		}, `SELECT account, id FROM task WHERE status = 'Open'`)
	})
	for _, t := range open {
		s.recent.noteOpen(t.Scope.Account, t.ID)
	}
	return err
}

// ClaimTasks gives the delegate those that are still open.
func (s tasks) ClaimTasks(ctx context.Context, delegate string, claim int64, ids []task.ID, leaseUntil time.Time) ([]store.Task, error) {
	return apply(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.Task, error) {
		var claimed []store.Task
		for _, id := range ids {
			t, err := s.changedTask(tx, `UPDATE task SET status = 'Claimed', delegate = ?, claim = ?, fence = fence + 1, lease_until = ?
				WHERE id = ? AND status = 'Open' RETURNING `+taskColumns, delegate, claim, millis(leaseUntil), string(id))
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err != nil {
				return nil, err
			}
			claimed = append(claimed, t)
		}
		return claimed, nil
	})
}

// RenewTask extends the lease of who holds the fence.
func (s tasks) RenewTask(ctx context.Context, id task.ID, delegate string, fence int64, leaseUntil time.Time) (store.Task, error) {
	return s.changeTask(ctx, id, func(t store.Task) (store.Task, error) {
		if t.Status != store.TaskOpen && t.Delegate == delegate && t.Fence == fence {
			return t, nil // it has ended; the status says how
		}
		return store.Task{}, leaseLost(t, delegate, fence)
	}, `UPDATE task SET lease_until = ? WHERE id = ? AND delegate = ? AND fence = ? AND status = 'Claimed'`,
		millis(leaseUntil), string(id), delegate, fence)
}

// CompleteTask stores the result of who holds the fence.
func (s tasks) CompleteTask(ctx context.Context, id task.ID, delegate string, fence int64, r task.Result) (store.Task, error) {
	result, err := json.Marshal(r)
	if err != nil {
		return store.Task{}, fmt.Errorf("encode the result of task %s: %w", id, err)
	}
	return s.changeTask(ctx, id, func(t store.Task) (store.Task, error) {
		if t.Status == store.TaskDone && t.Delegate == delegate && t.Fence == fence {
			return t, nil
		}
		return store.Task{}, leaseLost(t, delegate, fence)
	}, `UPDATE task SET status = 'Done', result = ? WHERE id = ? AND delegate = ? AND fence = ? AND status = 'Claimed'`,
		string(result), string(id), delegate, fence)
}

// CancelTask ends a task that has no result yet.
func (s tasks) CancelTask(ctx context.Context, id task.ID) (store.Task, error) {
	return s.changeTask(ctx, id, unchanged,
		`UPDATE task SET status = 'Cancelled' WHERE id = ? AND status IN ('Open', 'Claimed')`, string(id))
}

// ReleaseTask gives a claimed task back.
func (s tasks) ReleaseTask(ctx context.Context, id task.ID, delegate string, fence int64) error {
	_, err := s.changeTask(ctx, id, func(t store.Task) (store.Task, error) {
		if t.Status == store.TaskOpen && t.Fence == fence && fence > 0 {
			return t, nil // given back already, and nobody has claimed it since
		}
		return store.Task{}, leaseLost(t, delegate, fence)
	}, `UPDATE task SET status = 'Open', delegate = '', claim = 0, lease_until = 0 WHERE id = ? AND delegate = ? AND fence = ? AND status = 'Claimed'`,
		string(id), delegate, fence)
	return err
}

// DelegateTasks lists what a delegate holds.
func (s tasks) DelegateTasks(ctx context.Context, delegate string) ([]store.Task, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.Task, error) {
		return rows(tx, scanTask, selectHeldTasks, delegate)
	})
}
