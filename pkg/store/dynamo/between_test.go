package dynamo_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/dynamo"
	"github.com/slipway-cd/slipway/pkg/task"
)

// before calls do once, before a client's first request that writes: what a
// method read before that is then old.
func before(do func()) func(*dynamodb.Options) {
	var once sync.Once
	return func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("before", func(
				ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
			) (middleware.InitializeOutput, middleware.Metadata, error) {
				switch in.Parameters.(type) {
				case *dynamodb.TransactWriteItemsInput, *dynamodb.UpdateItemInput, *dynamodb.PutItemInput:
					once.Do(do)
				}
				return next.HandleInitialize(ctx, in)
			}), middleware.After)
		})
	}
}

// two is a store whose first write comes after something that another one did.
type two struct {
	*testing.T
	slow, quick *dynamo.Store
	between     func() // what the quick one does
}

func pair(t *testing.T) *two {
	t.Helper()
	client, name := table(t)
	p := &two{T: t, quick: dynamo.New(client, config(name))}
	p.slow = dynamo.New(dynamodb.New(client.Options(), before(func() { p.between() })), config(name))
	return p
}

func (p *two) ok(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *two) refused(err error, want fault.Code) {
	p.Helper()
	if fault.CodeOf(err) != want {
		p.Errorf("error has code %q, want %q: %v", fault.CodeOf(err), want, err)
	}
}

// trail makes a record of a trail of its own, so that it isn't the trail at
// which two changes meet.
func trail(account string) audit.Record {
	return audit.Record{Scope: ref.Scope{Account: account}, Action: audit.Update}
}

func (p *two) task() {
	p.Helper()
	_, err := p.quick.CreateTask(p.Context(), store.Task{ID: "t1", Scope: scope, Token: "token-1"})
	p.ok(err)
}

func (p *two) claim(s *dynamo.Store) []store.Task {
	p.Helper()
	list, err := s.ClaimTasks(p.Context(), "d1", 1, []task.ID{"t1"}, config("").Now())
	p.ok(err)
	return list
}

// ended asserts how a task ended, and that nobody is offered it or holds it.
func (p *two) ended(want store.TaskStatus) {
	p.Helper()
	t, err := p.quick.Task(p.Context(), "t1")
	p.ok(err)
	open, _, err := p.quick.OpenTasks(p.Context(), scope.Account, store.Page{})
	p.ok(err)
	held, err := p.quick.DelegateTasks(p.Context(), "d1")
	p.ok(err)
	if t.Status != want || len(open) != 0 || len(held) != 0 {
		p.Errorf("the task is %s, %d are open, %d are held; want %s, none, none", t.Status, len(open), len(held), want)
	}
}

func TestChangesThatMeet(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*two){
		"delete and the first reference":     func(p *two) { deleteAndRefer(p, false) },
		"delete and a new reference":         func(p *two) { deleteAndRefer(p, true) },
		"save and save":                      saveAndSave,
		"claim and cancel":                   claimAndCancel,
		"claim and a new token":              claimAndToken,
		"claim and claim":                    claimAndClaim,
		"claim and one that is given back":   claimAndRelease,
		"cancel and claim":                   cancelAndClaim,
		"cancel and complete":                cancelAndComplete,
		"release and cancel":                 releaseAndCancel,
		"interrupt and end":                  interruptAndEnd,
		"interrupt and commit":               interruptAndCommit,
		"two executions of one pipeline":     startAndStart,
		"two records of one trail":           appendAndAppend,
		"a queue that was emptied and begun": takeAfterAll,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(pair(t))
		})
	}
}

func deleteAndRefer(p *two, named bool) {
	shop := save(p.T, p.quick, "shop")
	if named {
		former := save(p.T, p.quick, "former", shop.Key)
		p.ok(p.quick.DeleteEntity(p.Context(), former.Key, 1, trail("quick")))
	}
	p.between = func() { save(p.T, p.quick, "user", shop.Key) }
	p.refused(p.slow.DeleteEntity(p.Context(), shop.Key, 1, trail("slow")), fault.Referenced)
	_, err := p.quick.Entity(p.Context(), shop.Key)
	p.ok(err)
}

func saveAndSave(p *two) {
	e := save(p.T, p.quick, "shop")
	change := func(s *dynamo.Store, name string) error {
		changed := e
		changed.Name = name
		_, err := s.SaveEntity(p.Context(), changed, trail(name))
		return err
	}
	p.between = func() { p.ok(change(p.quick, "quick")) }
	p.refused(change(p.slow, "slow"), fault.StaleVersion)
	read, err := p.quick.Entity(p.Context(), e.Key)
	p.ok(err)
	records, err := p.quick.ListAudit(p.Context(), "slow", 1, 1)
	p.ok(err)
	if read.Name != "quick" || read.Version != 2 || len(records) != 0 {
		p.Errorf("the entity has the name %q and version %d, %d records tell of the refused save", read.Name, read.Version, len(records))
	}
}

func claimAndCancel(p *two) {
	p.task()
	p.between = func() {
		_, err := p.quick.CancelTask(p.Context(), "t1")
		p.ok(err)
	}
	if list := p.claim(p.slow); len(list) != 0 {
		p.Errorf("%d cancelled tasks are claimed", len(list))
	}
	p.ended(store.TaskCancelled)
}

func claimAndToken(p *two) {
	p.task()
	p.between = func() {
		_, err := p.quick.CreateTask(p.Context(), store.Task{ID: "t1", Scope: scope, Token: "token-2"})
		p.ok(err)
	}
	list := p.claim(p.slow)
	if len(list) != 1 || list[0].Token != "token-2" {
		p.Errorf("claimed is %+v, want the task with its new token", list)
	}
}

func claimAndClaim(p *two) {
	p.task()
	p.between = func() {
		list, err := p.quick.ClaimTasks(p.Context(), "d2", 1, []task.ID{"t1"}, config("").Now())
		if err != nil || len(list) != 1 {
			p.Errorf("%d tasks are claimed, %v", len(list), err)
		}
	}
	if list := p.claim(p.slow); len(list) != 0 {
		p.Errorf("%d tasks are claimed twice", len(list))
	}
}

// claimAndRelease: a fence is given once.
func claimAndRelease(p *two) {
	p.task()
	p.between = func() {
		p.claim(p.quick)
		p.ok(p.quick.ReleaseTask(p.Context(), "t1", "d1", 1))
	}
	if list := p.claim(p.slow); len(list) != 1 || list[0].Fence != 2 {
		p.Errorf("claimed is %+v, want the task with fence 2", list)
	}
}

func cancelAndClaim(p *two) {
	p.task()
	p.between = func() { p.claim(p.quick) }
	got, err := p.slow.CancelTask(p.Context(), "t1")
	p.ok(err)
	if got.Delegate != "d1" { // the caller tells it to stop
		p.Errorf("the task is cancelled with the holder %q, want d1", got.Delegate)
	}
	p.ended(store.TaskCancelled)
}

func cancelAndComplete(p *two) {
	p.task()
	p.claim(p.quick)
	p.between = func() {
		_, err := p.quick.CompleteTask(p.Context(), "t1", "d1", 1, task.Result{Status: task.Succeeded})
		p.ok(err)
	}
	got, err := p.slow.CancelTask(p.Context(), "t1")
	p.ok(err)
	if got.Status != store.TaskDone || got.Result == nil {
		p.Errorf("the task is %s with the result %v, want it done", got.Status, got.Result)
	}
	p.ended(store.TaskDone)
}

func releaseAndCancel(p *two) {
	p.task()
	p.claim(p.quick)
	p.between = func() {
		_, err := p.quick.CancelTask(p.Context(), "t1")
		p.ok(err)
	}
	p.refused(p.slow.ReleaseTask(p.Context(), "t1", "d1", 1), fault.LeaseLost)
	p.ended(store.TaskCancelled)
}

func (p *two) start(s *dynamo.Store, id string) store.Execution {
	p.Helper()
	e, err := s.CreateExecution(p.Context(), store.Execution{ID: id, Scope: scope, Pipeline: "deploy", PlanHash: "h", Status: plan.Running}, nil, trail(id))
	p.ok(err)
	return e
}

func interruptAndEnd(p *two) {
	e := p.start(p.quick, "x1")
	p.between = func() {
		e.Status = plan.Success
		p.ok(p.quick.CommitExecution(p.Context(), "x1", store.Commit{Execution: &e}))
	}
	_, err := p.slow.SetInterrupt(p.Context(), "x1", store.InterruptAbort, trail("slow"))
	p.refused(err, fault.Conflict)
}

func interruptAndCommit(p *two) {
	e := p.start(p.quick, "x1")
	p.between = func() {
		e.Message = "going on"
		p.ok(p.quick.CommitExecution(p.Context(), "x1", store.Commit{Execution: &e}))
	}
	got, err := p.slow.SetInterrupt(p.Context(), "x1", store.InterruptAbort, trail("slow"))
	p.ok(err)
	want := e
	want.Interrupt, want.Version = store.InterruptAbort, 3
	read, err := p.quick.Execution(p.Context(), "x1")
	p.ok(err)
	for what, have := range map[string]store.Execution{"given": got, "read": read} {
		if diff := cmp.Diff(want, have); diff != "" {
			p.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

func startAndStart(p *two) {
	p.start(p.quick, "x0")
	p.between = func() { p.start(p.quick, "x1") }
	if e := p.start(p.slow, "x2"); e.Sequence != 3 {
		p.Errorf("the third execution has the sequence number %d", e.Sequence)
	}
}

func appendAndAppend(p *two) {
	add := func(s *dynamo.Store) audit.Record {
		r, err := s.AppendAudit(p.Context(), trail("acme"))
		p.ok(err)
		return r
	}
	first := add(p.quick)
	var second audit.Record
	p.between = func() { second = add(p.quick) }
	third := add(p.slow)
	var v audit.Verifier
	for _, r := range []audit.Record{first, second, third} {
		p.ok(v.Check(r))
	}
}

// takeAfterAll: the queue is as long as it was read, and another one.
func takeAfterAll(p *two) {
	holder := func(i int) store.Holder { return store.Holder{Execution: fmt.Sprint("x", i), Node: "a"} }
	_, err := p.quick.TakeTurn(p.Context(), "key", holder(1))
	p.ok(err)
	p.between = func() {
		_, err := p.quick.EndTurn(p.Context(), "key", holder(1))
		p.ok(err)
		_, err = p.quick.TakeTurn(p.Context(), "key", holder(2))
		p.ok(err)
	}
	got, err := p.slow.TakeTurn(p.Context(), "key", holder(3))
	p.ok(err)
	if diff := cmp.Diff([]store.Holder{holder(2), holder(3)}, got); diff != "" {
		p.Errorf("queue (-want +got):\n%s", diff)
	}
}
