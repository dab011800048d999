package execution

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// provisioning makes a task of an execution by the provisioner web and has the
// delegate claim it.
func provisioning(t *testing.T, s *Tasks, d store.Delegate, execution string, id task.ID) task.Assignment {
	t.Helper()
	payload, err := json.Marshal(task.Work{
		Execution: execution, Stage: "s", Step: "n", Spec: json.RawMessage(`{}`), Provisioner: &provision.Provisioner{Identifier: "web", Place: json.RawMessage(`{"stack":"web"}`)},
	})
	must(t, err)
	_, err = s.Store.CreateTask(t.Context(), store.Task{
		ID: id, Scope: webScope(), Execution: execution, Node: "n", Kind: task.KindShell, Payload: payload, CreatedAt: s.Now(), Token: "token",
	})
	must(t, err)
	got, err := s.ClaimTasks(t.Context(), d, protocol.Claim{Max: 1})
	must(t, err)
	if len(got) != 1 || got[0].ID != id {
		t.Fatalf("the claim gets %+v; want %s", got, id)
	}
	return got[0]
}

// ticking has the service's clock go a second further at each look.
func ticking(s *Tasks) {
	now := s.Now()
	s.Now = func() time.Time { now = now.Add(time.Second); return now }
}

// What was there before an execution's first change stays, what it has applied
// last counts, and a rollback is told of the last other that came to an end.
func TestProvisions(t *testing.T) {
	t.Parallel()
	s, d := ofOneDelegate(t)
	ticking(s)
	keep := func(a task.Assignment, status provision.Status, data string) provision.Done {
		t.Helper()
		p, err := s.KeepProvision(t.Context(), d, a.ID, provision.Keep{Fence: a.Fence, Status: status, Data: json.RawMessage(data)})
		must(t, err)
		return p
	}
	read := func(a task.Assignment) string {
		t.Helper()
		r, err := s.Provisions(t.Context(), d, a.ID, provision.Ask{Fence: a.Fence})
		must(t, err)
		text := ""
		for _, p := range []*provision.Done{r.Own, r.Earlier} {
			if p == nil {
				text += "none;"
				continue
			}
			text += fmt.Sprintf("%s %s %s %s;", p.Execution, p.Status, p.Before, p.Inputs)
		}
		return text
	}
	is := func(want, got string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	first := provisioning(t, s, d, "x1", "t1")
	is("none;none;", read(first))
	keep(first, provision.Begun, `"empty"`)
	is(`x1 begun "empty" ;none;`, read(first))
	retry := provisioning(t, s, d, "x1", "t2")
	if got := keep(retry, provision.Begun, `"half made"`); string(got.Before) != `"empty"` {
		t.Errorf("the retry gets %s", got.Before)
	}
	keep(retry, provision.Applied, `"one"`)
	is(`x1 applied "empty" "one";none;`, read(first))
	second := provisioning(t, s, d, "x2", "t3")
	keep(second, provision.Begun, `"one"`)
	is(`x2 begun "one" ;x1 applied "empty" "one";`, read(second))
	third := provisioning(t, s, d, "x3", "t4")
	is(`none;x1 applied "empty" "one";`, read(third)) // x2 hasn't come to an end
	keep(second, provision.Applied, `"two"`)
	is(`none;x2 applied "one" "two";`, read(third))
	keep(third, provision.Begun, `"two"`)
	keep(third, provision.Destroyed, `{}`)
	is(`x2 applied "one" "two";x3 destroyed "two" {};`, read(second))

	stored, err := s.Store.ListProvisions(t.Context(), store.ProvisionerKey{Scope: webScope(), Kind: task.KindShell, Identifier: "web"})
	must(t, err)
	for _, p := range stored {
		if bytes.Contains(append(p.Before, p.Inputs...), []byte("one")) {
			t.Errorf("what %s has done is kept in clear", p.Execution)
		}
	}
}

// However many executions fail, the last that came to an end isn't forgotten.
func TestTheLastGoodProvisionStays(t *testing.T) {
	t.Parallel()
	s, d := ofOneDelegate(t)
	ticking(s)
	var last task.Assignment
	for i := range 2 * provisionsKept {
		last = provisioning(t, s, d, fmt.Sprint("x", i), task.ID(fmt.Sprint("t", i)))
		for _, status := range []provision.Status{provision.Begun, provision.Applied} {
			if status == provision.Applied && i > 3 {
				continue
			}
			_, err := s.KeepProvision(t.Context(), d, last.ID, provision.Keep{Fence: last.Fence, Status: status, Data: json.RawMessage(`1`)})
			must(t, err)
		}
	}
	got, err := s.Provisions(t.Context(), d, last.ID, provision.Ask{Fence: last.Fence})
	must(t, err)
	if got.Earlier == nil || got.Earlier.Execution != "x3" {
		t.Errorf("a rollback is told of %+v; want x3", got.Earlier)
	}
	stored, err := s.Store.ListProvisions(t.Context(), store.ProvisionerKey{Scope: webScope(), Kind: task.KindShell, Identifier: "web"})
	must(t, err)
	if len(stored) != provisionsKept+1 {
		t.Errorf("%d are kept; want %d and the last good one", len(stored), provisionsKept)
	}
}

func TestProvisionsAreRefused(t *testing.T) {
	t.Parallel()
	s, d := ofOneDelegate(t)
	open(t, s, "plain")
	plain, err := s.ClaimTasks(t.Context(), d, protocol.Claim{Max: 1})
	must(t, err)
	a := provisioning(t, s, d, "x1", "t1")
	stranger := d
	stranger.ID = "another"
	for name, tt := range map[string]struct {
		by   store.Delegate
		task task.ID
		keep provision.Keep
		want fault.Code
	}{
		"another delegate's": {stranger, "t1", provision.Keep{Fence: a.Fence, Status: provision.Begun}, fault.LeaseLost},
		"another fence":      {d, "t1", provision.Keep{Fence: a.Fence + 1, Status: provision.Begun}, fault.LeaseLost},
		"too large":          {d, "t1", provision.Keep{Fence: a.Fence, Status: provision.Begun, Data: json.RawMessage(strings.Repeat("1", provision.MaxBytes+1))}, fault.TooLarge},
		"of no provisioner":  {d, plain[0].ID, provision.Keep{Fence: plain[0].Fence, Status: provision.Begun}, fault.Invalid},
	} {
		if _, err := s.KeepProvision(t.Context(), tt.by, tt.task, tt.keep); !fault.Is(err, tt.want) {
			t.Errorf("%s: %v; want %s", name, err, tt.want)
		}
		if tt.want == fault.TooLarge {
			continue
		}
		if _, err := s.Provisions(t.Context(), tt.by, tt.task, provision.Ask{Fence: tt.keep.Fence}); !fault.Is(err, tt.want) {
			t.Errorf("%s: reading gives %v; want %s", name, err, tt.want)
		}
	}
}

func webScope() ref.Scope { return ref.Scope{Account: "acme", Org: "default", Project: "web"} }

// One task at a time works by a provisioner, in the order in which they have asked.
// Whoever ends, or is lost, is followed by the next.
func TestOneTaskWorksByAProvisioner(t *testing.T) {
	t.Parallel()
	s, d := ofOneDelegate(t)
	asks := func(a task.Assignment, want string) {
		t.Helper()
		got, err := s.Provisions(t.Context(), d, a.ID, provision.Ask{Fence: a.Fence, Alone: true})
		must(t, err)
		if got.Holder != want {
			t.Errorf("%s waits for %q; want %q", a.ID, got.Holder, want)
		}
	}
	first, second, third := provisioning(t, s, d, "x1", "t1"), provisioning(t, s, d, "x2", "t2"), provisioning(t, s, d, "x3", "t3")
	asks(first, "")
	asks(second, "x1")
	asks(third, "x1")
	asks(first, "") // a request repeated
	if _, err := s.Provisions(t.Context(), d, third.ID, provision.Ask{Fence: third.Fence}); err != nil {
		t.Errorf("who only reads waits: %v", err)
	}
	_, err := s.Store.CancelTask(t.Context(), first.ID)
	must(t, err)
	asks(third, "x2") // which has asked before
	asks(second, "")
	now := s.Now()
	s.Now = func() time.Time { return now.Add(time.Hour) } // nobody has heard of their delegate
	asks(third, "")
}
