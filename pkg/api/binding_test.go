package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// bound makes a delegate's token with a name and tags.
func (c *control) bound(name string, named bool, tags ...string) string {
	c.t.Helper()
	made, err := c.CreateToken(c.t.Context(), ref.Scope{}, api.CreateToken{
		Kind: store.TokenDelegate, Name: name, Binding: &store.Binding{Tags: append([]string{}, tags...), NamedSecrets: named},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return made.Secret
}

// TestADelegateIsWhatItsTokenSays: neither another's name nor a tag that its
// token lacks brings it another's tasks.
func TestADelegateIsWhatItsTokenSays(t *testing.T) {
	t.Parallel()
	c := serve(t)
	edge, bare := c.bound("edge", false, "eu", "prod"), c.bound("bare", false)
	for i, tt := range []struct {
		what, token, name string
		tags              []string
		status            int
		has               []string
	}{
		{"none of its tags", edge, "edge", nil, http.StatusOK, []string{"eu", "prod"}},
		{"some of its tags", edge, "edge", []string{"PROD"}, http.StatusOK, []string{"PROD"}},
		{"a tag that it lacks", edge, "edge", []string{"eu", "root"}, http.StatusForbidden, nil},
		{"a part of its tag", edge, "edge", []string{"pro"}, http.StatusForbidden, nil},
		{"another's name", edge, "bare", nil, http.StatusForbidden, nil},
		{"its name in other letters", edge, "Edge", nil, http.StatusForbidden, nil},
		{"no tags of none", bare, "bare", nil, http.StatusOK, []string{}},
		{"a tag of none", bare, "bare", []string{"eu"}, http.StatusForbidden, nil},
		{"a token that isn't bound", c.dlg, "root", []string{"root"}, http.StatusOK, []string{"root"}},
	} {
		id := fmt.Sprint("d", i)
		in := protocol.Register{ID: id, Name: tt.name, Host: "root", Tags: tt.tags, Kinds: []task.Kind{task.KindShell}, Capacity: 1}
		if got := c.post(tt.token, "register", in, nil); got != tt.status {
			t.Errorf("%s: status %d, want %d", tt.what, got, tt.status)
		}
		if tt.status == http.StatusOK {
			if diff := cmp.Diff(tt.has, c.seen(id).Tags); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.what, diff)
			}
		}
	}
	// Its host is what it says, so no selector finds it by that.
	c.run(strings.Replace(pipeline, "                    shell: Bash\n", "                    delegateSelectors: [root]\n                    shell: Bash\n", 1))
	var got api.Claimed
	if c.post(edge, "d0/claim", protocol.Claim{Max: 1}, &got); len(got.Tasks) > 0 {
		t.Errorf("a bound delegate on the host root got %+v", got.Tasks)
	}
	c.claim("d8")
}

// TestABoundDelegateGetsOnlySecretsThatDocumentsName.
func TestABoundDelegateGetsOnlySecretsThatDocumentsName(t *testing.T) {
	t.Parallel()
	c, a := deploying(t, "K8sRollingDeploy", "", "of_text", "of_variable", "of_files")
	release := protocol.Held{ID: a.ID, Fence: a.Fence}
	if got := c.post(c.dlg, taskPath("d1", a, "release"), release, nil); got != http.StatusNoContent {
		t.Fatalf("release: status %d", got)
	}
	if got := c.post(c.dlg, "d1", nil, nil); got != http.StatusNoContent {
		t.Fatalf("goodbye: status %d", got)
	}
	c.dlg = c.bound("named", true)
	if got := c.post(c.dlg, "register", protocol.Register{ID: "d1", Name: "named", Kinds: []task.Kind{kubernetes.Kind}, Capacity: 1}, nil); got != http.StatusOK {
		t.Fatalf("register: status %d", got)
	}
	a = c.claim("d1")
	if status, body := c.resolve(a, `<+serviceVariables.typed>`, `<+secrets.getValue("of_text")>`); status != http.StatusOK {
		t.Errorf("what documents name: status %d: %s", status, body)
	}
	before := len(c.revelations())
	status, body := c.resolve(a, `<+secrets.getValue("of_files")>`)
	if status != http.StatusForbidden || !strings.Contains(body, "of_files") || !strings.Contains(body, "in a variable of the service") {
		t.Errorf("what only files name: status %d, %s; want 403 with what to do", status, body)
	}
	if len(c.revelations()) != before {
		t.Error("a refusal is recorded as a revelation")
	}
}

// TestWhatADelegateSaysIsBounded at each bound and one past it.
func TestWhatADelegateSaysIsBounded(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.register("d1")
	hello := func(change func(*protocol.Register)) protocol.Register {
		r := protocol.Register{ID: "d1", Name: "blue", Kinds: []task.Kind{task.KindShell}, Capacity: 1}
		change(&r)
		return r
	}
	many := func(n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprint("t", i)
		}
		return out
	}
	kinds := func(n int) []task.Kind { return make([]task.Kind, n) }
	held := func(n int) (out []task.Watched) {
		for i := range n {
			out = append(out, task.Watched{ID: fmt.Sprintf("default/default/web/s%d/e/i/t", i)})
		}
		return out
	}
	workloads, instances := 10_000, task.MaxInstances
	for _, tt := range []struct {
		what, path string
		at, past   any
		text       string
	}{
		{"tags", "register", hello(func(r *protocol.Register) { r.Tags = many(64) }), hello(func(r *protocol.Register) { r.Tags = many(65) }), "tags of delegate blue: 65; the limit is 64"},
		{
			"a tag", "register", hello(func(r *protocol.Register) { r.Tags = []string{strings.Repeat("x", 256)} }),
			hello(func(r *protocol.Register) { r.Tags = []string{strings.Repeat("x", 257)} }), "want at most 256 characters",
		},
		{"kinds", "register", hello(func(r *protocol.Register) { r.Kinds = kinds(64) }), hello(func(r *protocol.Register) { r.Kinds = kinds(65) }), "kinds of task"},
		{
			"capacity", "register", hello(func(r *protocol.Register) { r.Capacity = protocol.MaxTasks }),
			hello(func(r *protocol.Register) { r.Capacity = protocol.MaxTasks + 1 }), "the capacity of delegate blue: 1001; the limit is 1000",
		},
		{"claimed", "d1/claim", protocol.Claim{Max: protocol.MaxTasks}, protocol.Claim{Max: protocol.MaxTasks + 1}, "tasks that a claim asks for: 1001"},
		{
			"running", "d1/heartbeat", protocol.Heartbeat{Running: make([]protocol.Held, protocol.MaxTasks)}, protocol.Heartbeat{Running: make([]protocol.Held, protocol.MaxTasks+1)},
			"tasks that a heartbeat names: 1001",
		},
		{"watches", "d1/watches", protocol.Watching{Held: held(1000)}, protocol.Watching{Held: held(1001)}, "watches that a delegate names: 1001"},
		{"instances", "d1/instances", task.Observed{Instances: make([]task.Instance, instances)}, task.Observed{Instances: make([]task.Instance, instances+1)}, "instances of a watched release"},
		{
			"properties", "d1/instances", described(strings.Repeat("x", task.MaxProperties-1)), described(strings.Repeat("x", task.MaxProperties)),
			`bytes of properties of the instance \"web\": 1025; the limit is 1024`,
		},
		{"workloads", "d1/instances", task.Observed{Workloads: make([]task.Workload, workloads)}, task.Observed{Workloads: make([]task.Workload, workloads+1)}, "workloads of a watched release"},
	} {
		if status, body := c.say(tt.path, tt.at); strings.Contains(body, "the limit is") || status >= http.StatusInternalServerError {
			t.Errorf("%s at the bound: status %d: %s", tt.what, status, body)
		}
		status, body := c.say(tt.path, tt.past)
		if !strings.Contains(body, tt.text) || !strings.Contains(body, string(fault.TooLarge)) && !strings.Contains(body, string(fault.Invalid)) {
			t.Errorf("%s past the bound: status %d: %s; want %q", tt.what, status, body, tt.text)
		}
	}
}

// described is a report of an instance with a property of a value.
func described(value string) task.Observed {
	return task.Observed{Instances: []task.Instance{{Name: "web", Properties: map[string]string{"p": value}}}}
}
