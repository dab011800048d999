package execution

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// forPeople is what people do with what a delegate's service keeps.
func forPeople(s *Tasks) *Service {
	return New(Config{Store: s.Store, Secret: s.Secret, Now: s.Now})
}

func webProvisioner() store.ProvisionerKey {
	return store.ProvisionerKey{Scope: webScope(), Kind: task.KindShell, Identifier: "web"}
}

// People see what executions have done, and of what is sealed how much that is.
func TestAProvisionerIsShownWithoutWhatIsSealed(t *testing.T) {
	t.Parallel()
	s, d := ofOneDelegate(t)
	ticking(s)
	people := forPeople(s)
	if _, _, err := people.Provisioner(t.Context(), webProvisioner()); !fault.Is(err, fault.NotFound) {
		t.Fatalf("a provisioner of which nothing is known: %v", err)
	}
	template := strings.Repeat("t", leastDigested)
	for i, inputs := range []string{
		`{"stack":"web","template":"` + template + `","parameters":[{"name":"a","value":"v"}],"options":{"color":"blue","none":{}}}`,
		`["opaque"]`,
	} {
		a := provisioning(t, s, d, fmt.Sprint("x", i), task.ID(fmt.Sprint("t", i)))
		for _, k := range []provision.Keep{{Status: provision.Begun, Data: json.RawMessage(`{"first":true}`)}, {Status: provision.Applied, Data: json.RawMessage(inputs)}} {
			k.Fence = a.Fence
			_, err := s.KeepProvision(t.Context(), d, a.ID, k)
			must(t, err)
		}
	}
	history, place, err := people.Provisioner(t.Context(), webProvisioner())
	must(t, err)
	if string(place) != `{"stack":"web"}` {
		t.Errorf("the place is %s", place)
	}
	for i := range history {
		history[i].At = time.Time{}
	}
	before := []SealedPart{{Name: "first", Bytes: 4}}
	want := []Provision{
		{Execution: "x1", Step: "n", Status: provision.Applied, Before: before},
		{Execution: "x0", Step: "n", Status: provision.Applied, Before: before, Inputs: []SealedPart{
			{Name: "options.color", Bytes: 4}, {Name: "options.none", Bytes: 2}, {Name: "parameters", Bytes: 26}, {Name: "stack", Bytes: 3},
			{Name: "template", Bytes: 256, SHA256: "207f4a3cf995e67883c91f37fd460c6f12fa947cedef627b1811a2141ad8ab6a"},
		}},
	}
	if diff := cmp.Diff(want, history); diff != "" {
		t.Errorf("the history (-want +got):\n%s", diff)
	}
}

// A provisioner isn't forgotten while somebody works by it, or has and may take
// that back.
func TestAProvisionerIsForgotten(t *testing.T) {
	t.Parallel()
	s, d := ofOneDelegate(t)
	people := forPeople(s)
	forget := func() error {
		return people.ForgetProvisioner(t.Context(), webProvisioner(), audit.Author{Actor: "ann", Request: "r1"})
	}
	if err := forget(); !fault.Is(err, fault.NotFound) {
		t.Fatalf("one of which nothing is known: %v", err)
	}
	begin := func(execution string, id task.ID) task.Assignment {
		t.Helper()
		a := provisioning(t, s, d, execution, id)
		_, err := s.KeepProvision(t.Context(), d, a.ID, provision.Keep{Fence: a.Fence, Status: provision.Begun, Data: json.RawMessage(`{}`)})
		must(t, err)
		return a
	}
	begin("x1", "t1")
	waits := provisioning(t, s, d, "x2", "t2") // which has done nothing yet
	known, err := s.Provisions(t.Context(), d, waits.ID, provision.Ask{Fence: waits.Fence, Alone: true})
	must(t, err)
	if known.Holder != "" {
		t.Fatalf("it waits for %s", known.Holder)
	}
	if err := forget(); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "x2") {
		t.Errorf("while a task holds the line: %v", err)
	}
	_, err = s.Store.CancelTask(t.Context(), waits.ID)
	must(t, err)
	e, err := s.Store.CreateExecution(t.Context(), store.Execution{ID: "x3", Scope: webScope(), Pipeline: "p", PlanHash: "h", Status: plan.Running, StartedAt: s.Now()},
		[]byte("{}"), audit.Record{Scope: webScope()})
	must(t, err)
	begin(e.ID, "t3")
	if err := forget(); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "x3") {
		t.Errorf("while an execution is under way: %v", err)
	}
	e.Status = plan.Success
	must(t, s.Store.CommitExecution(t.Context(), e.ID, store.Commit{Execution: &e}))
	must(t, forget())
	left, err := s.Store.ListProvisions(t.Context(), webProvisioner())
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left is %+v", left)
	}
	trail, err := s.Store.ListAudit(t.Context(), "acme", 1, 100)
	must(t, err)
	last := trail[len(trail)-1]
	if last.Action != audit.Delete || last.Actor != "ann" || last.Kind != "provisioner" || last.ID != "shell/web" || !strings.HasPrefix(last.Before, "2 executions") {
		t.Errorf("the trail ends with %+v", last)
	}
}
