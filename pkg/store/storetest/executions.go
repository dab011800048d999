package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func executionCases() []testCase {
	return []testCase{
		{"a created execution is read as it was", createdAsItWas},
		{"the same id again gives back what is stored", createAgain},
		{"many creations with one id make one", raceCreateExecution},
		{"sequence numbers have no gaps and no doubles", sequences},
		{"executions with one plan share it", sharedPlan},
		{"a commit of the execution moves its version on", commitExecution},
		{"one of many commits of one version wins", raceCommitExecution},
		{"an interrupt is set once", setInterrupt},
		{"many interrupts at once are one", raceInterrupt},
		{"a pause is taken back, an abort never is", pauseInterrupt},
		{"an ended execution can't be interrupted", interruptEnded},
		{"an interrupt makes commits of the version before stale", interruptThenCommit},
		{"lists end before a time", listBefore},
		{"a preview is on no list and takes no number", previewUnlisted},
		{"lists go newest first and page", listExecutions},
		{"a list by status and time has just those", executionsFiltered},
		{"those under way are listed until they end", runningExecutions},
	}
}

func asFault(err error) (*fault.Error, bool) {
	var e *fault.Error
	return e, errors.As(err, &e)
}

func (b *bench) execution(name string) store.Execution {
	return store.Execution{
		ID: b.id(name), Scope: b.scope(), Pipeline: "deploy", Name: "Deploy it", PlanHash: b.id("plan"), Status: plan.Running,
		Inputs: json.RawMessage(`{"image":"web:1"}`), Actor: "ann", StartedAt: at(1), Deadline: at(3600),
	}
}

func (b *bench) create(e store.Execution) store.Execution {
	b.Helper()
	made, err := b.Store.CreateExecution(b.ctx(), e, []byte(`{"root":{}}`), b.record(audit.Start, e.ID))
	b.ok(err)
	return made
}

func createdAsItWas(b *bench) {
	e := b.execution("x1")
	e.Resume = &store.Resume{Execution: "x0", Stage: "deploy", All: true}
	e.RetryOf, e.RollbackOf, e.Parent = "x0", "x1", store.Holder{Execution: "x9", Node: "pipeline.stages.s.pipeline"}
	e.Override = &store.Override{Reason: "the fix", Scopes: []ref.Scope{b.scope()}}
	made := b.create(e)
	e.Version, e.Sequence = 1, 1
	same(b, "created", e, made)
	read, err := b.Store.Execution(b.ctx(), e.ID)
	b.ok(err)
	same(b, "read", e, read)
	doc, err := b.Store.Plan(b.ctx(), e.PlanHash)
	b.ok(err)
	same(b, "plan", `{"root":{}}`, string(doc))
	b.audited(audit.Start)
	_, err = b.Store.Execution(b.ctx(), b.id("none"))
	b.refused(err, fault.NotFound)
	_, err = b.Store.Plan(b.ctx(), b.id("none"))
	b.refused(err, fault.NotFound)
}

func createAgain(b *bench) {
	made := b.create(b.execution("x1"))
	other := b.execution("x1")
	other.Actor, other.Status = "bob", plan.Queued
	same(b, "created again", made, b.create(other))
	b.audited(audit.Start)
	same(b, "sequence of the next", 2, b.create(b.execution("x2")).Sequence)
}

func raceCreateExecution(b *bench) {
	b.allSucceed(func(i int) error {
		made, err := b.Store.CreateExecution(b.ctx(), b.execution("x1"), []byte(`{}`), b.record(audit.Start, "x1"))
		if err == nil && made.Sequence != 1 {
			return fmt.Errorf("sequence %d, want 1", made.Sequence)
		}
		return err
	})
	b.audited(audit.Start)
}

func sequences(b *bench) {
	seen := make([]int64, racers)
	b.allSucceed(func(i int) error {
		e := b.execution(fmt.Sprint("x", i))
		if i%2 == 1 {
			e.Pipeline = "other"
		}
		made, err := b.Store.CreateExecution(b.ctx(), e, []byte(`{}`), b.record(audit.Start, e.ID))
		seen[i] = made.Sequence
		return err
	})
	count := map[int64]int{}
	for _, s := range seen {
		count[s]++
	}
	for s := int64(1); s <= racers/2; s++ {
		if count[s] != 2 {
			b.Errorf("sequence number %d was given %d times to two pipelines", s, count[s])
		}
	}
	elsewhere := b.execution("elsewhere")
	elsewhere.Scope.Project = "other"
	same(b, "sequence of a pipeline of the same name in another project", 1, b.create(elsewhere).Sequence)
}

func sharedPlan(b *bench) {
	b.create(b.execution("x1"))
	_, err := b.Store.CreateExecution(b.ctx(), b.execution("x2"), []byte(`something else`), b.record(audit.Start, "x2"))
	b.ok(err)
	doc, err := b.Store.Plan(b.ctx(), b.id("plan"))
	b.ok(err)
	same(b, "plan", `{"root":{}}`, string(doc))
}

func commitExecution(b *bench) {
	e := b.create(b.execution("x1"))
	e.Status, e.Message, e.EndedAt = plan.Failed, "the target said <no> & more", at(7)
	b.ok(b.Store.CommitExecution(b.ctx(), e.ID, store.Commit{Execution: &e}))
	want := e
	want.Version = 2
	read, err := b.Store.Execution(b.ctx(), e.ID)
	b.ok(err)
	same(b, "read", want, read)
	b.refused(b.Store.CommitExecution(b.ctx(), e.ID, store.Commit{Execution: &e}), fault.StaleVersion)
	none := b.execution("none")
	none.Version = 1
	b.refused(b.Store.CommitExecution(b.ctx(), none.ID, store.Commit{Execution: &none}), fault.StaleVersion)
}

func raceCommitExecution(b *bench) {
	e := b.create(b.execution("x1"))
	winner := b.oneWins(fault.StaleVersion, func(i int) error {
		mine := e
		mine.Message = fmt.Sprint(i)
		return b.Store.CommitExecution(b.ctx(), e.ID, store.Commit{Execution: &mine})
	})
	read, err := b.Store.Execution(b.ctx(), e.ID)
	b.ok(err)
	same(b, "message", fmt.Sprint(winner), read.Message)
}

func setInterrupt(b *bench) {
	e := b.create(b.execution("x1"))
	want := e
	want.Interrupt, want.Version = store.InterruptAbort, 2
	for range 2 {
		got, err := b.Store.SetInterrupt(b.ctx(), e.ID, store.InterruptAbort, b.record(audit.Abort, e.ID))
		b.ok(err)
		same(b, "interrupted", want, got)
	}
	read, err := b.Store.Execution(b.ctx(), e.ID)
	b.ok(err)
	same(b, "read", want, read)
	b.audited(audit.Start, audit.Abort)
	_, err = b.Store.SetInterrupt(b.ctx(), b.id("none"), store.InterruptAbort, b.record(audit.Abort, "none"))
	b.refused(err, fault.NotFound)
}

func pauseInterrupt(b *bench) {
	e := b.create(b.execution("x1"))
	set := func(i store.Interrupt, a audit.Action) error {
		got, err := b.Store.SetInterrupt(b.ctx(), e.ID, i, b.record(a, e.ID))
		if err == nil {
			same(b, "interrupt", i, got.Interrupt)
		}
		return err
	}
	b.ok(set(store.InterruptNone, audit.Resume)) // no change, so not in the trail
	b.ok(set(store.InterruptPause, audit.Pause))
	b.ok(set(store.InterruptNone, audit.Resume))
	b.ok(set(store.InterruptPause, audit.Pause))
	b.ok(set(store.InterruptAbort, audit.Abort))
	b.refused(set(store.InterruptNone, audit.Resume), fault.Conflict)
	b.refused(set(store.InterruptPause, audit.Pause), fault.Conflict)
	b.audited(audit.Start, audit.Pause, audit.Resume, audit.Pause, audit.Abort)
}

func raceInterrupt(b *bench) {
	e := b.create(b.execution("x1"))
	b.allSucceed(func(int) error {
		_, err := b.Store.SetInterrupt(b.ctx(), e.ID, store.InterruptAbort, b.record(audit.Abort, e.ID))
		return err
	})
	b.audited(audit.Start, audit.Abort)
}

func interruptEnded(b *bench) {
	for _, s := range plan.Statuses() {
		if !s.Terminal() {
			continue
		}
		e := b.create(b.execution(string(s)))
		e.Status = s
		b.ok(b.Store.CommitExecution(b.ctx(), e.ID, store.Commit{Execution: &e}))
		_, err := b.Store.SetInterrupt(b.ctx(), e.ID, store.InterruptAbort, b.record(audit.Abort, e.ID))
		b.refused(err, fault.Conflict)
	}
}

func interruptThenCommit(b *bench) {
	e := b.create(b.execution("x1"))
	_, err := b.Store.SetInterrupt(b.ctx(), e.ID, store.InterruptAbort, b.record(audit.Abort, e.ID))
	b.ok(err)
	b.refused(b.Store.CommitExecution(b.ctx(), e.ID, store.Commit{Execution: &e}), fault.StaleVersion)
}

func listExecutions(b *bench) {
	// Two of each second, so that a page ends between equals.
	for i, name := range numbered("x", 10) {
		e := b.execution(name)
		e.StartedAt = at(i / 2)
		if i%5 == 0 {
			e.Pipeline = "other"
		}
		b.create(e)
	}
	elsewhere := b.execution("elsewhere")
	elsewhere.Scope.Project = ""
	b.create(elsewhere)
	for _, c := range []struct {
		pipeline string
		want     int
	}{{"", 10}, {"deploy", 8}, {"other", 2}, {"none", 0}} {
		for _, limit := range []int{1, 3, 50} {
			list := everyPage(b, limit, func(p store.Page) ([]store.Execution, string, error) {
				return b.Store.ListExecutions(b.ctx(), store.ExecutionFilter{Scope: b.scope(), Pipeline: c.pipeline}, p)
			})
			seen := map[string]bool{}
			for i, e := range list {
				seen[e.ID] = true
				if i > 0 && e.StartedAt.After(list[i-1].StartedAt) {
					b.Errorf("execution %s is newer than the one before it", e.ID)
				}
				if c.pipeline != "" && e.Pipeline != c.pipeline {
					b.Errorf("pipeline %q lists one of %q", c.pipeline, e.Pipeline)
				}
			}
			same(b, fmt.Sprintf("executions of %q by %d", c.pipeline, limit), c.want, len(seen))
			same(b, "doubles", len(seen), len(list))
		}
	}
}

// executionsFiltered: a list by status and by time has exactly those that are
// asked for, newest first, however its pages are cut.
func executionsFiltered(b *bench) {
	statuses := []plan.Status{plan.Success, plan.Failed, plan.Running, plan.Aborted}
	for i := range 12 {
		e := b.execution(fmt.Sprintf("x%02d", i))
		e.StartedAt, e.Status = at(100*i), statuses[i%len(statuses)]
		b.create(e)
	}
	for _, c := range []struct {
		since    time.Time
		statuses []plan.Status
		want     []string
	}{
		{time.Time{}, []plan.Status{plan.Failed}, []string{"x09", "x05", "x01"}},
		{time.Time{}, []plan.Status{plan.Failed, plan.Aborted}, []string{"x11", "x09", "x07", "x05", "x03", "x01"}},
		{time.Time{}, []plan.Status{plan.Expired}, nil},
		{at(1000), nil, []string{"x11", "x10"}},
		{at(1001), nil, []string{"x11"}},
		{at(500), []plan.Status{plan.Failed}, []string{"x09", "x05"}},
		{at(5000), nil, nil},
	} {
		for _, limit := range []int{1, 2, 50} {
			var got []string
			for _, e := range everyPage(b, limit, func(p store.Page) ([]store.Execution, string, error) {
				return b.Store.ListExecutions(b.ctx(), store.ExecutionFilter{Scope: b.scope(), Since: c.since, Statuses: c.statuses}, p)
			}) {
				got = append(got, strings.TrimPrefix(e.ID, b.id("")))
			}
			same(b, fmt.Sprintf("those %v since %s by %d", c.statuses, c.since, limit), c.want, got)
		}
	}
}

func listBefore(b *bench) {
	for i := range 5 {
		e := b.execution(fmt.Sprintf("x%d", i))
		e.StartedAt = at(100 * (i / 2 * 2)) // two at once
		b.create(e)
	}
	for _, c := range []struct {
		before, since time.Time
		want          []string
	}{
		{at(0), time.Time{}, nil},
		{at(1), time.Time{}, []string{"x1", "x0"}},
		{at(200), time.Time{}, []string{"x1", "x0"}},
		{at(201), time.Time{}, []string{"x3", "x2", "x1", "x0"}},
		{at(5000), at(200), []string{"x4", "x3", "x2"}},
	} {
		for _, limit := range []int{1, 3, 50} {
			var got []string
			for _, e := range everyPage(b, limit, func(p store.Page) ([]store.Execution, string, error) {
				return b.Store.ListExecutions(b.ctx(), store.ExecutionFilter{Scope: b.scope(), Since: c.since, Before: c.before}, p)
			}) {
				got = append(got, strings.TrimPrefix(e.ID, b.id("")))
			}
			same(b, fmt.Sprintf("those before %s since %s by %d", c.before, c.since, limit), c.want, got)
		}
	}
}

func previewUnlisted(b *bench) {
	first := b.create(b.execution("x1"))
	e := b.execution("x2")
	e.Preview = true
	made := b.create(e)
	e.Version, e.Sequence = 1, 2
	same(b, "created", e, made)
	same(b, "created again", e, b.create(e))
	made.Status = plan.Success
	b.ok(b.Store.CommitExecution(b.ctx(), e.ID, store.Commit{Execution: &made}))
	read, err := b.Store.Execution(b.ctx(), e.ID)
	b.ok(err)
	made.Version = 2
	same(b, "read", made, read)
	for _, pipeline := range []string{"", e.Pipeline} {
		list, _, err := b.Store.ListExecutions(b.ctx(), store.ExecutionFilter{Scope: b.scope(), Pipeline: pipeline}, store.Page{Limit: 10})
		b.ok(err)
		same(b, "list of "+pipeline, []store.Execution{first}, list)
	}
	same(b, "sequence of the next", 2, b.create(b.execution("x3")).Sequence)
}

func runningExecutions(b *bench) {
	var want []string
	for i, name := range []string{"x1", "x2", "x3", "queued", "x5"} {
		e := b.execution(name)
		e.StartedAt = at(10 + i)
		e = b.create(e)
		switch name {
		case "x2": // has ended
			e.Status = plan.Failed
			b.ok(b.Store.CommitExecution(b.ctx(), e.ID, store.Commit{Execution: &e}))
		case "x5": // is too young
		case "queued":
			e.Status = plan.QueuedConcurrency
			b.ok(b.Store.CommitExecution(b.ctx(), e.ID, store.Commit{Execution: &e}))
			want = append(want, e.ID)
		default:
			want = append(want, e.ID)
		}
	}
	list := everyPage(b, 2, func(p store.Page) ([]store.Execution, string, error) {
		return b.Store.RunningExecutions(b.ctx(), at(14), p)
	})
	var got []string
	for _, e := range list {
		if e.Scope.Account == b.account { // other cases share the store
			got = append(got, e.ID)
		}
	}
	same(b, "executions under way", want, got)
}
