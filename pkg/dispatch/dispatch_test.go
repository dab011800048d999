package dispatch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/dispatch"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

var (
	now     = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	account = ref.Scope{Account: "acme"}
	org     = ref.Scope{Account: "acme", Org: "shop"}
	project = ref.Scope{Account: "acme", Org: "shop", Project: "web"}
)

// delegate is one that may take anything of the account.
func delegate(change func(*store.Delegate)) store.Delegate {
	d := store.Delegate{
		ID: "d1", Scope: account, Name: "blue", Host: "h1", Tags: []string{"eu", "linux"}, Kinds: []task.Kind{task.KindShell, task.KindHTTP},
		Capacity: 10, LastSeen: now.Add(-time.Second),
	}
	if change != nil {
		change(&d)
	}
	return d
}

func work(scope ref.Scope, selectors ...string) store.Task {
	return store.Task{ID: "t1", Scope: scope, Kind: task.KindShell, Selectors: selectors}
}

func TestEligible(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		task   store.Task
		change func(*store.Delegate)
		want   bool
	}{
		"pipeline §12.3 no selectors: any delegate":            {work(project), nil, true},
		"pipeline §12.3 all selectors":                         {work(project, "eu", "linux"), nil, true},
		"pipeline §12.3 one selector is lacking":               {work(project, "eu", "arm"), nil, false},
		"pipeline §12.3 case says nothing":                     {work(project, "EU"), nil, true},
		"pipeline §12.3 a part of a tag doesn't count":         {work(project, "lin"), nil, false},
		"pipeline §12.1 the name is a tag":                     {work(project, "Blue"), nil, true},
		"pipeline §12.1 the host is a tag":                     {work(project, "h1", "blue", "eu"), nil, true},
		"a bound delegate's name counts":                       {work(project, "blue", "eu"), func(d *store.Delegate) { d.Binding = &store.Binding{} }, true},
		"a bound delegate's host doesn't count":                {work(project, "h1"), func(d *store.Delegate) { d.Binding = &store.Binding{} }, false},
		"pipeline §12.2 project task, delegate of the org":     {work(project), func(d *store.Delegate) { d.Scope = org }, true},
		"pipeline §12.2 project task, delegate of the project": {work(project), func(d *store.Delegate) { d.Scope = project }, true},
		"pipeline §12.2 org task, delegate of the project":     {work(org), func(d *store.Delegate) { d.Scope = project }, false},
		"pipeline §12.2 account task, delegate of the org":     {work(account), func(d *store.Delegate) { d.Scope = org }, false},
		"pipeline §12.2 a sibling project":                     {work(project), func(d *store.Delegate) { d.Scope = project; d.Scope.Project = "api" }, false},
		"pipeline §12.2 another account":                       {work(project), func(d *store.Delegate) { d.Scope.Account = "other" }, false},
		"pipeline §12.3 a kind that it can't run":              {work(project), func(d *store.Delegate) { d.Kinds = []task.Kind{task.KindHTTP} }, false},
		"pipeline §12.3 all places taken":                      {work(project), func(d *store.Delegate) { d.Running = 10 }, false},
		"pipeline §12.3 one place free":                        {work(project), func(d *store.Delegate) { d.Running = 9 }, true},
		"pipeline §12.1 seen 2 minutes ago":                    {work(project), func(d *store.Delegate) { d.LastSeen = now.Add(-2 * time.Minute) }, true},
		"pipeline §12.1 not seen for longer":                   {work(project), func(d *store.Delegate) { d.LastSeen = now.Add(-2*time.Minute - 1) }, false},
		"it has announced its silence": {work(project), func(d *store.Delegate) {
			d.LastSeen, d.Quiet = now.Add(-7*time.Minute), 5*time.Minute
		}, true},
		"it is silent for longer": {work(project), func(d *store.Delegate) {
			d.LastSeen, d.Quiet = now.Add(-7*time.Minute-1), 5*time.Minute
		}, false},
		"nobody may be silent for hours": {work(project), func(d *store.Delegate) {
			d.LastSeen, d.Quiet = now.Add(-13*time.Minute), 5*time.Hour
		}, false},
		"its socket has closed since": {work(project), func(d *store.Delegate) {
			d.LastSeen, d.Quiet = now.Add(-4*time.Minute), 5*time.Minute
			*d = d.Unplug(1, now.Add(-3*time.Minute))
		}, false},
		"it has just closed": {work(project), func(d *store.Delegate) {
			d.LastSeen, d.Quiet = now.Add(-4*time.Minute), 5*time.Minute
			*d = d.Unplug(1, now.Add(-time.Minute))
		}, true},
		"pipeline §12.1 draining": {work(project), func(d *store.Delegate) { d.Draining = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := dispatch.Eligible(c.task, delegate(c.change), now); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}

// TestSection14 is semantics/pipeline §14.40: of {a}, {a,b} and {b} only
// the second may, and there is no falling back while it is offline.
func TestSection14(t *testing.T) {
	t.Parallel()
	tagged := func(name string, tags ...string) store.Delegate {
		return delegate(func(d *store.Delegate) { d.ID, d.Name, d.Tags = name, name, tags })
	}
	all := []store.Delegate{tagged("d1", "a"), tagged("d2", "a", "b"), tagged("d3", "b")}
	eligible := func() string {
		var names []string
		for _, d := range all {
			if dispatch.Eligible(work(project, "a", "b"), d, now) {
				names = append(names, d.Name)
			}
		}
		return fmt.Sprint(names)
	}
	if got := eligible(); got != "[d2]" {
		t.Errorf("eligible are %s, want [d2]", got)
	}
	all[1].LastSeen = now.Add(-time.Hour)
	if got := eligible(); got != "[]" {
		t.Errorf("eligible are %s, want none", got)
	}
	want := "No eligible delegate(s) in account to execute task." +
		" The task is of kind shell in acme/shop/web and wants a delegate with all of the selectors [a, b]." +
		" Delegate d1 on h1 with tags [a] lacks [b]." +
		" Delegate d2 on h1 with tags [a, b] was last seen 1h0m0s ago." +
		" Delegate d3 on h1 with tags [b] lacks [a]."
	if diff := cmp.Diff(want, dispatch.Explain(work(project, "a", "b"), all, now)); diff != "" {
		t.Errorf("explanation (-want +got):\n%s", diff)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	const begin = "No eligible delegate(s) in account to execute task. The task is of kind shell in acme/shop/web."
	many := make([]store.Delegate, 12)
	long := begin
	for i := range many {
		many[i] = delegate(func(d *store.Delegate) { d.Name, d.Draining = fmt.Sprintf("d%02d", i), true })
		if i < 10 {
			long += fmt.Sprintf(" Delegate d%02d on h1 with tags [eu, linux] is stopping.", i)
		}
	}
	for name, c := range map[string]struct {
		delegates []store.Delegate
		want      string
	}{
		"none":                {nil, begin + " No delegate is connected in this scope or above it."},
		"of another account":  {[]store.Delegate{delegate(func(d *store.Delegate) { d.Scope.Account = "other" })}, begin + " No delegate is connected in this scope or above it."},
		"of a sibling only":   {[]store.Delegate{delegate(func(d *store.Delegate) { d.Scope = ref.Scope{Account: "acme", Org: "lab"} })}, begin + " No delegate is connected in this scope or above it. 1 delegate is of other scopes."},
		"several reasons":     {[]store.Delegate{delegate(func(d *store.Delegate) { d.Kinds, d.Running = nil, 10 })}, begin + " Delegate blue on h1 with tags [eu, linux] can't run tasks of kind shell and has all of its 10 places taken."},
		"eligible, unclaimed": {[]store.Delegate{delegate(nil)}, begin + " Delegate blue on h1 with tags [eu, linux] may take it but hasn't."},
		"many":                {many, long + " 2 more are not eligible either."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, dispatch.Explain(work(project), c.delegates, now)); diff != "" {
				t.Errorf("explanation (-want +got):\n%s", diff)
			}
		})
	}
}
