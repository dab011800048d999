// Package storetest is the suite that every implementation of store.Store
// passes. It asserts what store.go's comments say and nothing of how it is
// done; a method is first described there, then here, then written.
//
// Every case works in an account of its own, so one store may serve them all.
package storetest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Run runs the suite. open gives a store that is closed when the test ends.
func Run(t *testing.T, open func(*testing.T) store.Store) {
	t.Helper()
	groups := []struct {
		name  string
		cases []testCase
	}{
		{"entities", entityCases()},
		{"saves", saveCases()},
		{"executions", executionCases()},
		{"nodes", nodeCases()},
		{"turns", turnCases()},
		{"tasks", taskCases()},
		{"claims", claimCases()},
		{"checkpoints", checkpointCases()},
		{"provisions", provisionCases()},
		{"delegates", delegateCases()},
		{"secrets", secretCases()},
		{"logs", logCases()},
		{"audit", auditCases()},
		{"tokens", tokenCases()},
		{"answers", answerCases()},
		{"fires", fireCases()},
		{"evaluations", evaluationCases()},
		{"polls", pollCases()},
		{"placements", placementCases()},
		{"files", fileCases()},
		{"gitops", gitOpsCases()},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(&bench{T: t, Store: open(t), account: strings.NewReplacer("/", "-", "#", "-").Replace(t.Name())})
				})
			}
		})
	}
}

// testCase is one sentence of store.go and how it shows.
type testCase struct {
	name string
	run  func(*bench)
}

// bench is what a case works with.
type bench struct {
	*testing.T
	Store   store.Store
	account string
}

func (b *bench) ctx() context.Context { return b.Context() }

// id makes an id that no other case has.
func (b *bench) id(name string) string { return b.account + "." + name }

// scope is the case's own project.
func (b *bench) scope() ref.Scope {
	return ref.Scope{Account: b.account, Org: "default", Project: "web"}
}

// at is a moment so many seconds after the suite's beginning of time.
func at(seconds int) time.Time {
	return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(seconds) * time.Second)
}

// record is an audit record about something of the case.
func (b *bench) record(action audit.Action, id string) audit.Record {
	return audit.Record{Time: at(0), Actor: "ann", Scope: b.scope(), Action: action, Kind: "pipeline", ID: id}
}

// ok ends the case if err isn't nil.
func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatalf("unexpected error %s: %v", fault.CodeOf(err), err)
	}
}

// refused ends the case unless err has the code.
func (b *bench) refused(err error, want fault.Code) {
	b.Helper()
	if fault.CodeOf(err) != want {
		b.Fatalf("error has code %q, want %q: %v", fault.CodeOf(err), want, err)
	}
}

// same compares; nil and empty are the same to a store.
func same[T any](b *bench, what string, want, got T) {
	b.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), longBytes()); diff != "" {
		b.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// longBytes compares long texts at once: byte by byte it takes seconds.
func longBytes() cmp.Option {
	return cmp.FilterValues(func(a, b []byte) bool { return max(len(a), len(b)) > 4<<10 }, cmp.Comparer(bytes.Equal))
}

// audited asserts which actions the case's account has on record.
func (b *bench) audited(want ...audit.Action) {
	b.Helper()
	records, err := b.Store.ListAudit(b.ctx(), b.account, 1, 100)
	b.ok(err)
	var got []audit.Action
	for _, r := range records {
		got = append(got, r.Action)
	}
	same(b, "audited actions", want, got)
}

// racers is how many goroutines try the same thing at once.
const racers = 64

// race runs fn in many goroutines at once and gives their errors.
func race(fn func(i int) error) []error {
	errs := make([]error, racers)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			<-start
			errs[i] = fn(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

// oneWins races fn and asserts that one goroutine succeeds and all others are
// refused with the code. It gives the winner.
func (b *bench) oneWins(code fault.Code, fn func(i int) error) int {
	b.Helper()
	winner, winners := -1, 0
	for i, err := range race(fn) {
		switch {
		case err == nil:
			winner = i
			winners++
		case fault.CodeOf(err) != code:
			b.Errorf("racer %d lost with code %q, want %q: %v", i, fault.CodeOf(err), code, err)
		}
	}
	if winners != 1 {
		b.Fatalf("%d of %d racers won, want 1", winners, racers)
	}
	return winner
}

// allSucceed races fn and asserts that nobody is refused.
func (b *bench) allSucceed(fn func(i int) error) {
	b.Helper()
	for i, err := range race(fn) {
		if err != nil {
			b.Fatalf("racer %d: %v", i, err)
		}
	}
}

// everyPage reads a list page by page, asserts the pages' sizes, and gives all
// of it. A list that doesn't end is an error.
func everyPage[T any](b *bench, limit int, list func(store.Page) ([]T, string, error)) []T {
	b.Helper()
	var all []T
	page := store.Page{Limit: limit}
	for range 1000 {
		part, next, err := list(page)
		b.ok(err)
		if len(part) > limit || next != "" && len(part) == 0 {
			b.Fatalf("a page of at most %d has %d and the next token %q", limit, len(part), next)
		}
		all = append(all, part...)
		if next == "" {
			return all
		}
		page.Token = next
	}
	b.Fatal("the list has no last page")
	return nil
}

// numbered gives prefix0, prefix1, ... with as many digits as the last needs.
func numbered(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%0*d", prefix, len(fmt.Sprint(n-1)), i)
	}
	return out
}
