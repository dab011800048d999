package dispatch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/dispatch"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

func TestHas(t *testing.T) {
	t.Parallel()
	d := store.Delegate{Tools: []string{"sam=1.145.2", "osls=4.3.1"}}
	for want, is := range map[string]bool{
		"sam": true, "cdk": false, "serverless|osls": true, "sam=1.145.2": true, "sam=1.145": true, "sam=1": true, "sam=1.14": false,
		"sam=1.145.3": false, "sam=~1.120": true, "sam=~1.145.2": true, "sam=~1.145.1": true, "sam=~1.146": false, "sam=~2": false, "sam=~1.145.3": false,
		"sam=1.145.2.1": false, "samba": false,
	} {
		if got := dispatch.Has(d, want); got != is {
			t.Errorf("%s: %v; want %v", want, got, is)
		}
	}
}

// A task goes to its machine alone, and to one that has its tools.
func TestMachineAndTools(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	d := store.Delegate{Name: "d", Kinds: []task.Kind{"x"}, LastSeen: now, Machine: "m1", Tools: []string{"sam=1.145.2", "os=linux", "arch=amd64"}}
	for name, c := range map[string]struct {
		task store.Task
		is   bool
		says string // why there is nobody, at once
	}{
		"any machine":     {store.Task{}, true, ""},
		"its machine":     {store.Task{Machine: "m1", Tools: []string{"sam"}}, true, ""},
		"another machine": {store.Task{Machine: "m2", Tools: []string{"sam=2"}}, false, ""}, // one of that may come
		"no tool":         {store.Task{Tools: []string{"cdk"}}, false, "No connected delegate has cdk; install it"},
		"another version": {store.Task{Tools: []string{"sam=1.120"}}, false, "No connected delegate has sam 1.120; install it"},
		"its system":      {store.Task{Tools: []string{"os=linux", "arch=amd64"}}, true, ""},
		"another system":  {store.Task{Tools: []string{"os=darwin"}}, false, "No connected delegate tells that its machine's os is darwin; give the group"},
	} {
		c.task.Kind = "x"
		if got := dispatch.Eligible(c.task, d, now); got != c.is {
			t.Errorf("%s: %v; want %v", name, got, c.is)
		}
		if got := dispatch.Untooled(c.task, []store.Delegate{d}, now); !strings.HasPrefix(got, c.says) || got != "" && c.says == "" {
			t.Errorf("%s says %q", name, got)
		}
	}
	older := d
	older.Tools = []string{"sam=1.145.2"} // it doesn't know that one can tell
	for _, c := range []struct {
		tools []string
		is    bool
	}{{[]string{"os=linux", "arch=amd64"}, true}, {[]string{"os=linux", "arch=arm64"}, true}, {[]string{"os=windows", "arch=amd64"}, false}} {
		if got := dispatch.Eligible(store.Task{Kind: "x", Tools: c.tools}, older, now); got != c.is {
			t.Errorf("a delegate that tells nothing of its machine, for %v: %v; want %v", c.tools, got, c.is)
		}
	}
	why := dispatch.Explain(store.Task{Kind: "x", Machine: "m2", Tools: []string{"sam=1.120"}}, []store.Delegate{d}, now)
	for _, want := range []string{"isn't on the machine that has the workspace", "has sam 1.145.2 instead of 1.120"} {
		if !strings.Contains(why, want) {
			t.Errorf("found %s; want %s", why, want)
		}
	}
}
