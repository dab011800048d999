// Package dispatch says which delegates may take a task
// (semantics/pipeline §12.2 and §12.3) and, where none may, why not.
//
// It is pure. Who claims a task first is the store's matter, how long a task
// waits for a delegate is pkg/engine's.
package dispatch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

const (
	// Alive is how long after its last heartbeat a delegate counts as connected
	// (semantics/pipeline §12.1), beyond the silence that it has announced.
	Alive = 2 * time.Minute
	// LongestQuiet bounds the silence that a delegate may announce.
	LongestQuiet = 10 * time.Minute
)

// Eligible says whether a delegate may take a task now.
func Eligible(t store.Task, d store.Delegate, now time.Time) bool {
	return d.Scope.Covers(t.Scope) && Connected(d, now) && !d.Draining && !busy(d) &&
		slices.Contains(d.Kinds, t.Kind) && carriesAll(d, t.Selectors) && there(t, d) && len(missing(t, d)) == 0
}

// Fits says whether a delegate that is connected may see tasks of a scope and
// carries all selectors, whatever it is doing now.
func Fits(d store.Delegate, scope ref.Scope, selectors []string, now time.Time) bool {
	return d.Scope.Covers(scope) && Connected(d, now) && !d.Draining && carriesAll(d, selectors)
}

// Connected says whether a delegate counts as there. While its socket is open
// an idle one is silent for longer: that the socket closes would be seen.
func Connected(d store.Delegate, now time.Time) bool {
	return now.Sub(d.LastSeen) <= Alive+min(d.Quiet, LongestQuiet)
}

func busy(d store.Delegate) bool { return d.Capacity > 0 && d.Running >= d.Capacity }

// carries says whether one of a delegate's tags, its name or its host is the
// selector. Case says nothing; a part of a tag doesn't count. Of a delegate
// whose token is bound the host doesn't count: nothing proves it.
func carries(d store.Delegate, selector string) bool {
	is := func(tag string) bool { return strings.EqualFold(tag, selector) }
	return is(d.Name) || d.Binding == nil && is(d.Host) || slices.ContainsFunc(d.Tags, is)
}

// carriesAll: every selector must be carried; a task without any may go to
// any delegate (semantics/pipeline §12.3, item 2).
func carriesAll(d store.Delegate, selectors []string) bool {
	for _, s := range selectors {
		if !carries(d, s) {
			return false
		}
	}
	return true
}

// shown is how many delegates an explanation names.
const shown = 10

// Explain says for people why a task finds no delegate: what it wants and, for
// each delegate, what it lacks. Delegates of other projects are not named.
func Explain(t store.Task, delegates []store.Delegate, now time.Time) string {
	var b strings.Builder
	b.WriteString(Untooled(t, delegates, now))
	b.WriteString("No eligible delegate(s) in account to execute task.")
	fmt.Fprintf(&b, " The task is of kind %s in %s", t.Kind, t.Scope)
	if len(t.Selectors) > 0 {
		fmt.Fprintf(&b, " and wants a delegate with all of the selectors [%s]", strings.Join(t.Selectors, ", "))
	}
	b.WriteString(".")
	known := slices.DeleteFunc(slices.Clone(delegates), func(d store.Delegate) bool { return d.Scope.Account != t.Scope.Account })
	foreign := len(known)
	known = slices.DeleteFunc(known, func(d store.Delegate) bool { return !d.Scope.Covers(t.Scope) })
	foreign -= len(known)
	if len(known) == 0 {
		b.WriteString(" No delegate is connected in this scope or above it.")
	}
	slices.SortFunc(known, func(a, c store.Delegate) int {
		return cmp.Or(cmp.Compare(a.Name, c.Name), cmp.Compare(a.Host, c.Host), cmp.Compare(a.ID, c.ID))
	})
	for _, d := range known[:min(len(known), shown)] {
		fmt.Fprintf(&b, " Delegate %s on %s with tags [%s] %s.", d.Name, d.Host, strings.Join(d.Tags, ", "), strings.Join(reasons(t, d, now), " and "))
	}
	if more := len(known) - shown; more > 0 {
		fmt.Fprintf(&b, " %s not eligible either.", count(more, "more is", "more are"))
	}
	if foreign > 0 {
		fmt.Fprintf(&b, " %s of other scopes.", count(foreign, "delegate is", "delegates are"))
	}
	return b.String()
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// reasons says why a delegate may not take a task.
func reasons(t store.Task, d store.Delegate, now time.Time) []string {
	var why []string
	if !Connected(d, now) {
		why = append(why, fmt.Sprintf("was last seen %s ago", now.Sub(d.LastSeen).Round(time.Second)))
	}
	if d.Draining {
		why = append(why, "is stopping")
	}
	if !slices.Contains(d.Kinds, t.Kind) {
		why = append(why, fmt.Sprintf("can't run tasks of kind %s", t.Kind))
	}
	if !there(t, d) {
		why = append(why, "isn't on the machine that has the workspace")
	}
	for _, m := range missing(t, d) {
		why = append(why, "has "+m)
	}
	lacks := slices.DeleteFunc(slices.Clone(t.Selectors), func(s string) bool { return carries(d, s) })
	if len(lacks) > 0 {
		why = append(why, fmt.Sprintf("lacks [%s]", strings.Join(lacks, ", ")))
	}
	if busy(d) {
		why = append(why, fmt.Sprintf("has all of its %d places taken", d.Capacity))
	}
	if len(why) == 0 {
		why = append(why, "may take it but hasn't")
	}
	return why
}
