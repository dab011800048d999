package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// tasks is store.Tasks.
type tasks struct{ table *table }

// taskItem is an open task without its payload.
func (s tasks) taskItem(ctx context.Context, t store.Task) (item, error) {
	it := taskAt(t.ID).item()
	it["id"], it["status"], it["fence"] = str(string(t.ID)), str(string(store.TaskOpen)), num(0)
	it["token"], it["created"] = str(t.Token), num(millis(t.CreatedAt))
	return it, s.table.encode(ctx, it, "doc", t, largestPart) // the result comes into the same item
}

// readTask reads a task without its payload.
func readTask(ctx context.Context, b bodies, it item) (store.Task, error) {
	t := store.Task{
		ID: task.ID(text(it, "id")), Token: text(it, "token"), Status: store.TaskStatus(text(it, "status")), Delegate: text(it, "delegate"),
		Claim: number(it, "claim"), Fence: number(it, "fence"), LeaseUntil: fromMillis(number(it, "lease")), CreatedAt: fromMillis(number(it, "created")),
	}
	if err := b.decode(ctx, it, "doc", &t); err != nil {
		return store.Task{}, err
	}
	if _, ended := it["result"]; !ended {
		return t, nil
	}
	return t, b.decode(ctx, it, "result", &t.Result)
}

// errTaskExists: the task was created before.
var errTaskExists = errors.New("the task is there already")

// CreateTask stores an open task, or gives one that is under way its new token.
func (s tasks) CreateTask(ctx context.Context, t store.Task) (store.Task, error) {
	t.Status, t.Delegate, t.Fence, t.LeaseUntil, t.Result = store.TaskOpen, "", 0, time.Time{}, nil
	it, err := s.taskItem(ctx, t)
	if err != nil {
		return store.Task{}, err
	}
	writes := []write{s.table.put(it, missing, nil, errTaskExists), s.table.put(openItem(t), "", nil, nil)}
	if len(t.Payload) > 0 {
		payload := payloadAt(t.ID).item()
		if payload["payload"], err = s.table.packed(ctx, t.Payload, largestValue); err != nil {
			return store.Task{}, err
		}
		writes = append(writes, s.table.put(payload, "", nil, nil))
	}
	err = again(ctx, func() error { return s.table.transact(ctx, writes...) })
	switch {
	case err == nil:
		return t, nil
	case !errors.Is(err, errTaskExists):
		return store.Task{}, fmt.Errorf("create task %s: %w", t.ID, err)
	}
	it, _, err = s.table.change(ctx, taskAt(t.ID), "SET #token = :token", "#status IN (:open, :claimed)", item{
		":token": str(t.Token), ":open": str(string(store.TaskOpen)), ":claimed": str(string(store.TaskClaimed)),
	})
	if err != nil {
		return store.Task{}, fmt.Errorf("renew the token of task %s: %w", t.ID, err)
	}
	return readTask(ctx, s.table.bodies, it)
}

func openItem(t store.Task) item {
	it := openAt(t).item()
	it["id"] = str(string(t.ID))
	return it
}

// Task reads one, with its payload.
func (s tasks) Task(ctx context.Context, id task.ID) (store.Task, error) {
	parts, err := s.table.query(ctx, query{pk: taskPK(id)})
	if err != nil {
		return store.Task{}, err
	}
	for _, it := range parts {
		if keyOf(it) == taskAt(id) {
			return s.withPayload(ctx, it, parts)
		}
	}
	return store.Task{}, absent("task %q", id)
}

// withPayload reads a task whose payload is among other items.
func (s tasks) withPayload(ctx context.Context, it item, among []item) (store.Task, error) {
	t, err := readTask(ctx, s.table.bodies, it)
	if err != nil {
		return store.Task{}, err
	}
	for _, other := range among {
		if keyOf(other) == payloadAt(t.ID) {
			t.Payload, err = s.table.unpacked(ctx, other, "payload")
		}
	}
	return t, err
}

// OpenTasks lists an account's open tasks, the oldest first, without payloads.
func (s tasks) OpenTasks(ctx context.Context, account string, page store.Page) ([]store.Task, string, error) {
	list := openPK(account)
	after, err := s.table.after(list, page.Token)
	if err != nil {
		return nil, "", err
	}
	limit := bounded(page.Limit)
	q := query{pk: list, limit: limit + 1}
	if after != "" {
		q.sk, q.values = "sk > :after", item{":after": str(after)}
	}
	found, err := s.table.query(ctx, q)
	if err != nil {
		return nil, "", err
	}
	found, next, err := nextPage(s.table.pages, list, found, limit, func(it item) string { return text(it, "sk") })
	if err != nil {
		return nil, "", err
	}
	tasks, err := s.tasksNamed(ctx, found, func(it item) task.ID { return task.ID(text(it, "id")) })
	return slices.DeleteFunc(tasks, func(t store.Task) bool { return t.Status != store.TaskOpen }), next, err
}

// DelegateTasks lists what a delegate holds, by id, without payloads.
func (s tasks) DelegateTasks(ctx context.Context, delegate string) ([]store.Task, error) {
	found, err := s.table.query(ctx, query{index: IndexUnderWay, pk: heldPK(delegate)})
	if err != nil {
		return nil, err
	}
	tasks, err := s.tasksNamed(ctx, found, func(it item) task.ID { return task.ID(text(it, "sk2")) })
	// The index may lag behind the tasks.
	return slices.DeleteFunc(tasks, func(t store.Task) bool { return t.Status != store.TaskClaimed || t.Delegate != delegate }), err
}

func (s tasks) tasksNamed(ctx context.Context, in []item, id func(item) task.ID) ([]store.Task, error) {
	keys := make([]key, len(in))
	for i, it := range in {
		keys[i] = taskAt(id(it))
	}
	found, err := s.table.getAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	return decodeAll(ctx, s.table.bodies, found, readTask)
}
