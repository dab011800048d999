package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/identity"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

func taskCases() []testCase {
	return []testCase{
		{"a created task is read as it was", taskAsItWas},
		{"a new task is open whatever the caller says", newTaskIsOpen},
		{"creating again replaces the token while the task is under way", recreateTask},
		{"creating again leaves an ended task alone", recreateEnded},
		{"many creations make one task", raceCreateTask},
		{"open tasks go oldest first and page", openTasks},
		{"open tasks are those that nobody has", openTasksOnly},
		{"a large payload is kept", largePayload},
	}
}

func (b *bench) taskID(name string) task.ID { return task.ID(b.id(name)) }

func (b *bench) task(name string) store.Task {
	return store.Task{
		ID: b.taskID(name), Scope: b.scope(), Execution: b.id("x1"), Node: "pipeline.stages.a", Attempt: 1, Look: 3, Kind: task.KindShell,
		Selectors: []string{"linux", "eu"}, Payload: json.RawMessage(`{"script":"echo <+x> && true"}`),
		Secrets:     map[string]string{"⟦1⟧": "secret:acme:x"},
		LateSecrets: map[string]task.LateSecret{"⟦2⟧": {Pull: &task.PullSecret{Form: task.PullDockerCfg, Registry: "https://r", ECR: &task.AWS{Auth: task.AWSKeys, SecretKey: "⟦1⟧"}}}},
		Identities:  map[string]identity.Identity{"identity-1": {Audience: identity.AWSAudience, Subject: "account:acme", Claims: map[string]string{"account_id": "acme"}, Tags: []string{"account_id"}}},
		LateTexts:   map[string]task.LateText{"⟦3⟧": {Name: "a", Git: &task.Git{URL: "https://g", Paths: []string{"b"}}, Base64: true}},
		Timeout:     90 * time.Second, LogStream: "x1/a/1", Token: "token-1",
		Status: store.TaskOpen, CreatedAt: at(1), Traceparent: "00-1-2-01",
	}
}

func (b *bench) createTask(name string) store.Task {
	b.Helper()
	t, err := b.Store.CreateTask(b.ctx(), b.task(name))
	b.ok(err)
	return t
}

func (b *bench) readTask(name string) store.Task {
	b.Helper()
	t, err := b.Store.Task(b.ctx(), b.taskID(name))
	b.ok(err)
	return t
}

// sameTask compares tasks but for their payloads, which needn't be given back.
func sameTask(b *bench, what string, want, got store.Task) {
	b.Helper()
	want.Payload, got.Payload = nil, nil
	same(b, what, want, got)
}

func sameTasks(b *bench, what string, want, got []store.Task) {
	b.Helper()
	same(b, what+": how many", len(want), len(got))
	for i := range want {
		sameTask(b, what, want[i], got[i])
	}
}

// open lists the ids of the account's open tasks.
func (b *bench) open() []task.ID {
	b.Helper()
	list, _, err := b.Store.OpenTasks(b.ctx(), b.account, store.Page{Limit: 500})
	b.ok(err)
	var ids []task.ID
	for _, t := range list {
		ids = append(ids, t.ID)
	}
	return ids
}

func taskAsItWas(b *bench) {
	want := b.task("t1")
	same(b, "created", want, b.createTask("t1"))
	same(b, "read", want, b.readTask("t1"))
	_, err := b.Store.Task(b.ctx(), b.taskID("none"))
	b.refused(err, fault.NotFound)
}

func newTaskIsOpen(b *bench) {
	t := b.task("t1")
	t.Status, t.Delegate, t.Fence, t.LeaseUntil, t.Result = store.TaskDone, "d", 3, at(9), &task.Result{}
	made, err := b.Store.CreateTask(b.ctx(), t)
	b.ok(err)
	same(b, "created", b.task("t1"), made)
	same(b, "open", []task.ID{t.ID}, b.open())
}

func recreateTask(b *bench) {
	b.createTask("t1")
	again := b.task("t1")
	again.Token, again.Payload, again.Kind, again.CreatedAt = "token-2", json.RawMessage(`{}`), task.KindHTTP, at(99)
	want := b.task("t1")
	want.Token = "token-2"
	got, err := b.Store.CreateTask(b.ctx(), again)
	b.ok(err)
	sameTask(b, "created again while open", want, got)

	b.claim("t1", "d1")
	again.Token = "token-3"
	got, err = b.Store.CreateTask(b.ctx(), again)
	b.ok(err)
	want.Token, want.Status, want.Delegate, want.Claim, want.Fence, want.LeaseUntil = "token-3", store.TaskClaimed, "d1", 1, 1, at(60)
	sameTask(b, "created again while claimed", want, got)
	same(b, "read", want, b.readTask("t1"))
}

func recreateEnded(b *bench) {
	b.createTask("done")
	b.claim("done", "d1")
	_, err := b.Store.CompleteTask(b.ctx(), b.taskID("done"), "d1", 1, task.Result{Status: task.Succeeded})
	b.ok(err)
	b.createTask("cancelled")
	_, err = b.Store.CancelTask(b.ctx(), b.taskID("cancelled"))
	b.ok(err)
	for _, name := range []string{"done", "cancelled"} {
		want := b.readTask(name)
		again := b.task(name)
		again.Token = "token-2"
		got, err := b.Store.CreateTask(b.ctx(), again)
		b.ok(err)
		sameTask(b, name, want, got)
	}
	same(b, "open", nil, b.open())
}

func raceCreateTask(b *bench) {
	b.allSucceed(func(i int) error {
		t := b.task("t1")
		t.Token = fmt.Sprint(i)
		got, err := b.Store.CreateTask(b.ctx(), t)
		if err == nil && got.Token != t.Token {
			return fmt.Errorf("the token is %q, want %q", got.Token, t.Token)
		}
		return err
	})
	same(b, "open", []task.ID{b.taskID("t1")}, b.open())
}

func openTasks(b *bench) {
	names := numbered("t", 12)
	for i := range names { // made in another order than listed, two of each second
		n := (i * 5) % len(names)
		t := b.task(names[n])
		t.CreatedAt = at(n / 2)
		_, err := b.Store.CreateTask(b.ctx(), t)
		b.ok(err)
	}
	for _, limit := range []int{1, 5, 50} {
		list := everyPage(b, limit, func(p store.Page) ([]store.Task, string, error) {
			return b.Store.OpenTasks(b.ctx(), b.account, p)
		})
		seen := map[task.ID]bool{}
		for i, t := range list {
			seen[t.ID] = true
			if i > 0 && t.CreatedAt.Before(list[i-1].CreatedAt) {
				b.Errorf("task %s is older than the one before it", t.ID)
			}
		}
		same(b, fmt.Sprintf("tasks by %d", limit), len(names), len(seen))
		same(b, "doubles", len(seen), len(list))
	}
	full := b.task("t00")
	full.CreatedAt = at(0)
	list, _, err := b.Store.OpenTasks(b.ctx(), b.account, store.Page{Limit: 1})
	b.ok(err)
	sameTasks(b, "the first", []store.Task{full}, list)
}

func openTasksOnly(b *bench) {
	for _, name := range []string{"open", "claimed", "done", "cancelled", "released"} {
		b.createTask(name)
	}
	for _, name := range []string{"claimed", "done", "released"} {
		b.claim(name, "d1")
	}
	_, err := b.Store.CompleteTask(b.ctx(), b.taskID("done"), "d1", 1, task.Result{Status: task.Failed})
	b.ok(err)
	_, err = b.Store.CancelTask(b.ctx(), b.taskID("cancelled"))
	b.ok(err)
	b.ok(b.Store.ReleaseTask(b.ctx(), b.taskID("released"), "d1", 1))
	same(b, "open", []task.ID{b.taskID("open"), b.taskID("released")}, b.open())
	elsewhere, _, err := b.Store.OpenTasks(b.ctx(), b.account+"x", store.Page{})
	b.ok(err)
	same(b, "open in another account", nil, elsewhere)
}

func largePayload(b *bench) {
	t := b.task("t1")
	script := make([]byte, 200<<10)
	for i := range script {
		script[i] = byte('a' + i%26)
	}
	t.Payload = json.RawMessage(`{"script":"` + string(script) + `"}`)
	_, err := b.Store.CreateTask(b.ctx(), t)
	b.ok(err)
	if got := b.readTask("t1").Payload; string(got) != string(t.Payload) {
		b.Errorf("a payload of %d bytes came back as other %d bytes", len(t.Payload), len(got))
	}
}
