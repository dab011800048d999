package window

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/gitops"
)

func read(t *testing.T, windows ...gitops.SyncWindow) []*Window {
	t.Helper()
	out := make([]*Window, len(windows))
	for i, w := range windows {
		r, err := Read(w)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = r
	}
	return out
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	out, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestOverrun: syncs that began before a window opens or closes, as the nine
// scenarios of Argo CD's page have it. A sync begins at 10:30; it is asked at 11:30
// whether it may go on.
func TestOverrun(t *testing.T) {
	t.Parallel()
	allow := func(overrun bool) gitops.SyncWindow {
		return gitops.SyncWindow{Kind: Allow, Schedule: "0 10 * * *", Duration: "1h", Applications: []string{"*"}, SyncOverrun: overrun}
	}
	deny := func(overrun bool) gitops.SyncWindow {
		return gitops.SyncWindow{Kind: Deny, Schedule: "0 11 * * *", Duration: "1h", Applications: []string{"*"}, SyncOverrun: overrun}
	}
	for name, tt := range map[string]struct {
		windows []gitops.SyncWindow
		goesOn  bool
	}{
		"no window, then deny with overrun":                  {[]gitops.SyncWindow{deny(true)}, true},
		"no window, then deny without":                       {[]gitops.SyncWindow{deny(false)}, false},
		"allow with overrun, then deny with overrun":         {[]gitops.SyncWindow{allow(true), deny(true)}, true},
		"allow with overrun, then deny without":              {[]gitops.SyncWindow{allow(true), deny(false)}, false},
		"allow without, then deny with overrun":              {[]gitops.SyncWindow{allow(false), deny(true)}, true},
		"allow without, then deny without":                   {[]gitops.SyncWindow{allow(false), deny(false)}, false},
		"allow with overrun ends":                            {[]gitops.SyncWindow{allow(true)}, true},
		"allow without overrun ends":                         {[]gitops.SyncWindow{allow(false)}, false},
		"several allows with overrun end":                    {[]gitops.SyncWindow{allow(true), allow(true)}, true},
		"several allows end, one without overrun":            {[]gitops.SyncWindow{allow(true), allow(false)}, false},
		"two denies, one without overrun":                    {[]gitops.SyncWindow{deny(true), deny(false)}, false},
		"it should never have begun: denied at its start":    {[]gitops.SyncWindow{{Kind: Deny, Schedule: "0 10 * * *", Duration: "2h", Applications: []string{"*"}, SyncOverrun: true}}, false},
		"it should never have begun: not allowed, then deny": {[]gitops.SyncWindow{{Kind: Allow, Schedule: "0 20 * * *", Duration: "1h", Applications: []string{"*"}, SyncOverrun: true}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			windows := read(t, tt.windows...)
			blocked := Blocked(windows, Asked{Started: at(t, "2026-03-03T10:30:00Z")}, at(t, "2026-03-03T11:30:00Z"))
			if (len(blocked) == 0) != tt.goesOn {
				t.Errorf("%d windows are in its way; want it to go on: %v", len(blocked), tt.goesOn)
			}
			if fresh := Blocked(windows, Asked{}, at(t, "2026-03-03T11:30:00Z")); len(fresh) == 0 {
				t.Error("a new one may begin")
			}
		})
	}
}

func TestBlocked(t *testing.T) {
	t.Parallel()
	night := gitops.SyncWindow{Kind: Allow, Schedule: "0 22 * * *", Duration: "1h", TimeZone: "Europe/Amsterdam", Applications: []string{"*"}}
	manual := gitops.SyncWindow{Kind: Deny, Schedule: "0 0 * * *", Duration: "24h", Applications: []string{"*"}, ManualSync: true}
	strict := manual
	strict.ManualSync = false
	for name, tt := range map[string]struct {
		windows []gitops.SyncWindow
		asked   Asked
		at      string
		want    bool
	}{
		"no windows":                                {nil, Asked{}, "2026-03-03T00:00:00Z", false},
		"at the beginning":                          {[]gitops.SyncWindow{night}, Asked{}, "2026-03-03T21:00:00Z", false},
		"before the beginning":                      {[]gitops.SyncWindow{night}, Asked{}, "2026-03-03T20:59:59Z", true},
		"before the end":                            {[]gitops.SyncWindow{night}, Asked{}, "2026-03-03T21:59:59Z", false},
		"at the end":                                {[]gitops.SyncWindow{night}, Asked{}, "2026-03-03T22:00:00Z", true},
		"in summer, an hour earlier":                {[]gitops.SyncWindow{night}, Asked{}, "2026-07-03T20:30:00Z", false},
		"on the night that the clock is put on":     {[]gitops.SyncWindow{night}, Asked{}, "2026-03-29T20:30:00Z", false},
		"on the night that the clock is put back":   {[]gitops.SyncWindow{night}, Asked{}, "2026-10-25T21:30:00Z", false},
		"denied by automation":                      {[]gitops.SyncWindow{manual}, Asked{}, "2026-03-03T12:00:00Z", true},
		"by hand, which is allowed":                 {[]gitops.SyncWindow{manual}, Asked{Manual: true}, "2026-03-03T12:00:00Z", false},
		"by hand, which one of two allows":          {[]gitops.SyncWindow{manual, strict}, Asked{Manual: true}, "2026-03-03T12:00:00Z", true},
		"an open deny over an open allow":           {[]gitops.SyncWindow{night, strict}, Asked{}, "2026-03-03T21:30:00Z", true},
		"one of two allows is open":                 {[]gitops.SyncWindow{night, {Kind: Allow, Schedule: "0 3 1 1 *", Duration: "1m", Applications: []string{"*"}}}, Asked{}, "2026-03-03T21:30:00Z", false},
		"a deny that is closed":                     {[]gitops.SyncWindow{{Kind: Deny, Schedule: "0 3 * * *", Duration: "1h", Applications: []string{"*"}}}, Asked{}, "2026-03-03T21:30:00Z", false},
		"a window longer than the time to the next": {[]gitops.SyncWindow{{Kind: Deny, Schedule: "0 * * * *", Duration: "90m", Applications: []string{"*"}}}, Asked{}, "2026-03-03T21:59:00Z", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Blocked(read(t, tt.windows...), tt.asked, at(t, tt.at)); (len(got) > 0) != tt.want {
				t.Errorf("%d windows are in the way; want some: %v", len(got), tt.want)
			}
		})
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		window gitops.SyncWindow
		want   bool
	}{
		"by its name":                  {gitops.SyncWindow{Applications: []string{"other", "shop-*"}}, true},
		"by another name":              {gitops.SyncWindow{Applications: []string{"shop"}}, false},
		"by the cluster's name":        {gitops.SyncWindow{Clusters: []string{"prod-??"}}, true},
		"by its address":               {gitops.SyncWindow{Clusters: []string{"https://*.example.com"}}, true},
		"by the namespace":             {gitops.SyncWindow{Applications: []string{"x"}, Namespaces: []string{"shop"}}, true},
		"all of them":                  {gitops.SyncWindow{Applications: []string{"shop-web"}, Clusters: []string{"*"}, Namespaces: []string{"shop"}, UseAndOperator: true}, true},
		"all but one":                  {gitops.SyncWindow{Applications: []string{"shop-web"}, Clusters: []string{"*"}, Namespaces: []string{"x"}, UseAndOperator: true}, false},
		"nothing":                      {gitops.SyncWindow{}, false},
		"nothing, and all of it":       {gitops.SyncWindow{UseAndOperator: true}, false},
		"what begins with ! is a name": {gitops.SyncWindow{Applications: []string{"!x"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.window.Kind, tt.window.Schedule, tt.window.Duration = Deny, "* * * * *", "1h"
			got := Of(read(t, tt.window), "shop-web", gitops.Destination{Name: "prod-eu", Server: "https://eu.example.com", Namespace: "shop"})
			if (len(got) > 0) != tt.want {
				t.Errorf("it applies: %v; want %v", len(got) > 0, tt.want)
			}
		})
	}
}

// TestNext: when a sync may begin, and when to look again.
func TestNext(t *testing.T) {
	t.Parallel()
	windows := read(t,
		gitops.SyncWindow{Kind: Allow, Schedule: "0 22 * * *", Duration: "2h", Applications: []string{"*"}},
		gitops.SyncWindow{Kind: Deny, Schedule: "0 21 * * 2", Duration: "2h", Applications: []string{"*"}}) // Tuesdays
	noon := at(t, "2026-03-03T12:00:00Z") // a Tuesday
	if got := Edge(windows, noon); !got.Equal(at(t, "2026-03-03T21:00:00Z")) {
		t.Errorf("the next edge is at %s", got)
	}
	if got := Next(windows, Asked{}, noon); !got.Equal(at(t, "2026-03-03T23:00:00Z")) {
		t.Errorf("it may begin at %s", got)
	}
	never := read(t, gitops.SyncWindow{Kind: Deny, Schedule: "* * * * *", Duration: "2h", Applications: []string{"*"}})
	if got := Next(never, Asked{}, noon); !got.IsZero() {
		t.Errorf("it may begin at %s; want never", got)
	}
	if got := Edge(nil, noon); !got.IsZero() {
		t.Errorf("no window has an edge at %s", got)
	}
}

func TestWrongWindows(t *testing.T) {
	t.Parallel()
	good := gitops.SyncWindow{Kind: Allow, Schedule: "0 22 * * *", Duration: "1h"}
	for want, change := range map[string]func(*gitops.SyncWindow){
		`kind: found "permit"; want allow or deny`: func(w *gitops.SyncWindow) { w.Kind = "permit" },
		"schedule: ":                                func(w *gitops.SyncWindow) { w.Schedule = "0 22 * *" },
		`duration: found "one hour"; want`:          func(w *gitops.SyncWindow) { w.Duration = "one hour" },
		`duration: found "-1h"; want`:               func(w *gitops.SyncWindow) { w.Duration = "-1h" },
		`timeZone: found "Europe/Nowhere"; want`:    func(w *gitops.SyncWindow) { w.TimeZone = "Europe/Nowhere" },
		`timeZone: found "Local"; want`:             func(w *gitops.SyncWindow) { w.TimeZone = "Local" },
		`applications[1]: "shop-[" isn't a pattern`: func(w *gitops.SyncWindow) { w.Applications = []string{"a", "shop-["} },
		`clusters[0]: "[a" isn't a pattern`:         func(w *gitops.SyncWindow) { w.Clusters = []string{"[a"} },
		`namespaces[0]: "[!" isn't a pattern`:       func(w *gitops.SyncWindow) { w.Namespaces = []string{"[!"} },
	} {
		w := good
		change(&w)
		if _, err := Read(w); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v; want %s", err, want)
		}
	}
}
