package sets

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
)

// staged are applications of stages, as dev-1 and prod-2 are.
func staged(names ...string) map[string]owned {
	out := map[string]owned{}
	for _, name := range names {
		stage, _, _ := strings.Cut(name, "-")
		a := app(name, "1")
		a.Meta.Labels = map[string]string{"stage": stage}
		a.Spec.SyncPolicy = &gitops.SyncPolicy{Automated: &gitops.Automated{Prune: true}}
		out[name] = owned{Application: a}
	}
	return out
}

func step(most, operator string, stages ...string) appset.RollingStep {
	s := appset.RollingStep{MatchExpressions: []appset.Requirement{{Key: "stage", Operator: operator, Values: stages}}}
	if most != "" {
		s.MaxUpdate = json.RawMessage(most)
	}
	return s
}

// farm is applications that are synced when they are asked to, as a test lets them.
type farm struct {
	rec  record
	by   appset.RollingSync
	seen map[string]Seen
	now  time.Time
}

func newFarm(by []appset.RollingStep, names ...string) *farm {
	f := &farm{rec: record{Applications: staged(names...)}, by: appset.RollingSync{Steps: by}, seen: map[string]Seen{}, now: time.Unix(1_800_000_000, 0)}
	for _, name := range names {
		f.seen[name] = Seen{Sync: gitops.OutOfSync, Health: gitops.Healthy, Revisions: []string{"1"}}
	}
	return f
}

// roll goes on, and gives the applications whose syncs are asked for.
func (f *farm) roll() string {
	f.now = f.now.Add(time.Second)
	var out []string
	for _, a := range f.rec.roll("s", &f.by, f.seen, f.now) {
		out = append(out, a.app)
	}
	return strings.Join(out, " ")
}

// synced is what comes of the sync of an application that was asked for.
func (f *farm) synced(name string, phase gitops.OperationPhase, health gitops.HealthCode) {
	v := f.seen[name]
	v.Operation, v.Request, v.Health, v.Message = phase, f.rec.Rolling[name].Request, health, "as it is"
	if v.Sync = gitops.OutOfSync; phase == gitops.OperationSucceeded {
		v.Sync = gitops.Synced
	}
	f.seen[name] = v
}

func (f *farm) told() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(f.rec.Rolling)) {
		out = append(out, name+"="+f.rec.Rolling[name].Status)
	}
	return strings.Join(out, " ")
}

func (f *farm) condition() string {
	for _, c := range f.rec.Conditions {
		if c.Type == rolloutProgressing {
			return c.Status + " " + c.Reason + ": " + c.Message
		}
	}
	return ""
}

// TestSteps: a step begins when all of the former are Healthy, with so many at a time.
func TestSteps(t *testing.T) {
	t.Parallel()
	f := newFarm([]appset.RollingStep{step("", "In", "dev"), step(`"40%"`, "NotIn", "dev", "never")}, "dev-1", "dev-2", "prod-1", "prod-2", "prod-3", "never-1")
	is := func(asked, told string) {
		t.Helper()
		if got := f.roll(); got != asked || f.told() != told {
			t.Fatalf("asked for %q with %s; want %q with %s", got, f.told(), asked, told)
		}
	}
	is("dev-1 dev-2", "dev-1=Pending dev-2=Pending prod-1=Waiting prod-2=Waiting prod-3=Waiting")
	id := f.rec.Rolling["dev-1"].Request
	f.synced("dev-2", gitops.OperationRunning, gitops.Healthy)
	is("dev-1", "dev-1=Pending dev-2=Progressing prod-1=Waiting prod-2=Waiting prod-3=Waiting")
	if f.rec.Rolling["dev-1"].Request != id {
		t.Error("what was asked for is asked for anew")
	}
	f.synced("dev-1", gitops.OperationSucceeded, gitops.Progressing)
	f.synced("dev-2", gitops.OperationSucceeded, gitops.Healthy)
	is("", "dev-1=Progressing dev-2=Healthy prod-1=Waiting prod-2=Waiting prod-3=Waiting")
	f.synced("dev-1", gitops.OperationSucceeded, gitops.Healthy)
	is("prod-1", "dev-1=Healthy dev-2=Healthy prod-1=Pending prod-2=Waiting prod-3=Waiting")
	f.synced("prod-1", gitops.OperationFailed, gitops.Healthy)
	is("", "dev-1=Healthy dev-2=Healthy prod-1=Progressing prod-2=Waiting prod-3=Waiting")
	if got, want := f.condition(), "False ApplicationSetRolloutFailed: step 2 stops: prod-1: its sync ended as Failed: as it is"; got != want {
		t.Errorf("the condition is %q; want %q", got, want)
	}

	// What is newer begins with the first step again.
	for name, v := range f.seen {
		v.Revisions, v.Sync = []string{"2"}, gitops.OutOfSync
		f.seen[name] = v
	}
	is("dev-1 dev-2", "dev-1=Pending dev-2=Pending prod-1=Waiting prod-2=Waiting prod-3=Waiting")
	for _, name := range []string{"dev-1", "dev-2", "prod-1", "prod-2", "prod-3"} {
		f.synced(name, gitops.OperationSucceeded, gitops.Healthy)
		f.roll()
		f.synced(name, gitops.OperationSucceeded, gitops.Healthy)
		f.roll()
	}
	is("", "dev-1=Healthy dev-2=Healthy prod-1=Healthy prod-2=Healthy prod-3=Healthy")
	if got := f.condition(); !strings.HasPrefix(got, "False ApplicationSetRolloutComplete") {
		t.Errorf("the condition is %q", got)
	}
	if len(f.rec.statuses()) != 5 || f.rec.statuses()[4].Step != "2" {
		t.Errorf("people are told %+v", f.rec.statuses())
	}
}

// TestWhoElseSyncs: what somebody else has synced is as good, and what is being synced is
// waited for.
func TestWhoElseSyncs(t *testing.T) {
	t.Parallel()
	f := newFarm([]appset.RollingStep{step("1", "In", "dev")}, "dev-1", "dev-2")
	f.seen["dev-1"] = Seen{Sync: gitops.OutOfSync, Operation: gitops.OperationRunning, Request: "ann's"}
	if got := f.roll(); got != "dev-2" {
		t.Errorf("asked for %q; want dev-2, as dev-1 is being synced", got)
	}
	f.seen["dev-1"] = Seen{Sync: gitops.Synced, Health: gitops.Healthy, Operation: gitops.OperationSucceeded, Request: "ann's"}
	f.roll()
	if got := f.told(); got != "dev-1=Healthy dev-2=Pending" {
		t.Errorf("it is %s", got)
	}
}

func TestAtMost(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]int{"": 5, "2": 2, `"2"`: 2, `"10%"`: 1, `"50%"`: 2, `"100%"`: 5, `"x"`: 1} {
		if got := atMost(json.RawMessage(said), 5); got != want {
			t.Errorf("%s of 5 are %d; want %d", said, got, want)
		}
	}
}

// TestRollingSets: the agent is asked for syncs once they are kept, applications aren't
// synced by themselves, and what can't be begun is told.
func TestRollingSets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	set := listed("s", "a", "b")
	set.Spec.Template.Meta.Labels = map[string]string{"stage": "{{name}}"}
	set.Spec.Template.Spec.SyncPolicy = &gitops.SyncPolicy{Automated: &gitops.Automated{SelfHeal: true}}
	set.Spec.Strategy = &appset.Strategy{Type: "RollingSync", RollingSync: &appset.RollingSync{Steps: []appset.RollingStep{step("", "In", "a"), step("", "In", "b")}}}
	asked := map[string]string{}
	w.sets.cfg.Sync = func(app, id string, o gitops.Operation) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !strings.Contains(string(w.kept[0].Body), id) {
			t.Errorf("%s is synced before that is kept", app)
		}
		if app == "b" {
			return fault.New(fault.Conflict, "a window is closed")
		}
		asked[app] = id
		ring(w.news)
		return nil
	}
	w.sets.SetDocuments(Documents{Sets: []appset.Set{set}})
	w.until(t, "a and b", func() bool { return w.names() == "a b" })
	w.sets.Join(nil, func(all []gitops.Application) {
		for _, a := range all {
			if a.Spec.SyncPolicy == nil || a.Spec.SyncPolicy.Automated != nil {
				t.Errorf("%s is synced by itself", a.Meta.Name)
			}
		}
	})
	if p := w.sets.Generated()["a"].Application.Spec.SyncPolicy; p == nil || p.Automated == nil {
		t.Error("people aren't told of the policy that the set says")
	}
	for _, name := range []string{"a", "b"} {
		w.sets.Observe(name, &Seen{Sync: gitops.OutOfSync, Health: gitops.Healthy, Revisions: []string{"1"}})
	}
	w.until(t, "the sync of a", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return asked["a"] != ""
	})
	w.sets.Observe("a", &Seen{Sync: gitops.Synced, Health: gitops.Healthy, Revisions: []string{"1"}, Operation: gitops.OperationSucceeded, Request: asked["a"]})
	w.until(t, "why b isn't synced", func() bool {
		s := w.reported("s")
		return s != nil && len(s.Statuses) == 2 && s.Statuses[0].Status == healthy && s.Statuses[1].Message == "a window is closed"
	})
	w.sets.Observe("b", nil)
}

// TestReverseDeletion: a set goes step by step from the last one on, over a restart and
// without its document, and what is in no step goes last.
func TestReverseDeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	set := listed("s", "a", "b", "c", "none")
	set.Spec.Template.Meta.Labels = map[string]string{"stage": "{{name}}"}
	set.Spec.Template.Spec.SyncPolicy = &gitops.SyncPolicy{Automated: &gitops.Automated{}}
	set.Spec.Strategy = &appset.Strategy{
		Type: "RollingSync", DeletionOrder: appset.DeleteReverse,
		RollingSync: &appset.RollingSync{Steps: []appset.RollingStep{step("", "In", "a"), step("", "In", "b", "c")}},
	}
	w.sets.cfg.Sync = func(app, _ string, _ gitops.Operation) error {
		t.Errorf("%s is synced", app)
		return nil
	}
	w.sets.SetDocuments(Documents{Sets: []appset.Set{set}})
	w.until(t, "all", func() bool { return w.names() == "a b c none" })
	w.sets.SetDocuments(Documents{})
	w.sets.Delete("s", func() { t.Error("the set is gone") })
	is := func(w *world, all string, going ...string) {
		t.Helper()
		w.until(t, all, func() bool {
			names := w.names()
			w.mu.Lock()
			defer w.mu.Unlock()
			return names == all && slices.Equal(slices.Sorted(maps.Keys(w.deleting)), going)
		})
	}
	is(w, "a b c none", "b", "c")
	w.finish(t, "b")
	is(w, "a c none", "c")
	w.finish(t, "c")
	is(w, "a none", "a")

	next := newWorld(t, w.kept)
	next.sets.SetDocuments(Documents{Sets: []appset.Set{set}}) // it hasn't gone there yet
	is(next, "a none", "a")
	next.finish(t, "a")
	is(next, "none", "none")
	next.finish(t, "none")
	is(next, "")
}
