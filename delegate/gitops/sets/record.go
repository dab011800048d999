package sets

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/gitops/compare"
	"github.com/slipway-cd/slipway/delegate/gitops/generate"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// record is what is kept of a set.
type record struct {
	Applications map[string]owned        `json:"applications,omitempty"` // its own, by name
	Conditions   []protocol.SetCondition `json:"conditions,omitempty"`
	Rolling      map[string]rolled       `json:"rolling,omitempty"`  // by application, of a set that is synced step by step
	Doubted      string                  `json:"doubted,omitempty"`  // what would have been deleted in the last round
	Forgotten    time.Time               `json:"forgotten,omitzero"` // when its document went
	Removed      time.Time               `json:"removed,omitzero"`   // when somebody asked for its end
	// Order is the step of each application, of a set that goes in the reverse order of
	// its steps. It is known before that is asked for: then its document may have gone.
	Order map[string]int `json:"order,omitempty"`
}

// owned is an application of a set.
type owned struct {
	Application gitops.Application `json:"application"`
	Deleting    bool               `json:"deleting,omitempty"`
}

// cascades says whether what an application has deployed goes with it.
func (o owned) cascades() bool {
	return slices.ContainsFunc(o.Application.Meta.Finalizers, func(f string) bool {
		return f == object.FinalizerForeground || f == object.FinalizerBackground
	})
}

func (r record) clone() record {
	r.Applications, r.Conditions, r.Rolling, r.Order = maps.Clone(r.Applications), slices.Clone(r.Conditions), maps.Clone(r.Rolling), maps.Clone(r.Order)
	if r.Applications == nil {
		r.Applications = map[string]owned{}
	}
	return r
}

func (r record) without(app string) record {
	r = r.clone()
	delete(r.Applications, app)
	return r
}

// over says whether nothing of a record is needed any more.
func (r *record) over(now time.Time) bool {
	return !r.Forgotten.IsZero() && now.After(r.Forgotten.Add(forgottenFor))
}

// lingering says whether a set that was deleted makes nothing yet.
func (r *record) lingering(now time.Time) bool {
	return !r.Removed.IsZero() && now.Before(r.Removed.Add(lingers))
}

func (r *record) forget(now time.Time) {
	if r.Forgotten.IsZero() {
		r.Forgotten = now.UTC()
	}
	r.Conditions = nil
}

// remove has all applications go, or those of the last step that has any: then it is
// called again when they have gone. Those that are in no step go last.
func (r *record) remove(now time.Time) {
	r.Removed = now.UTC()
	last := 0
	for name := range r.Applications {
		last = max(last, r.Order[name])
	}
	for name, own := range r.Applications {
		if r.Order[name] == last {
			own.Deleting = true
			r.Applications[name] = own
		}
	}
}

// leaving says whether a set goes step by step, and some of it is yet to go.
func (r *record) leaving() bool {
	if r.Removed.IsZero() || len(r.Order) == 0 {
		return false
	}
	for _, own := range r.Applications {
		if !own.Deleting {
			return true
		}
	}
	return false
}

// take goes by what a set comes to. If that isn't known nothing changes but what people
// are told.
func (r *record) take(ctx context.Context, set appset.Set, out generate.Outcome, refuse func(*gitops.Application) error, now time.Time) {
	if out.Reason != "" {
		r.failed(now, out.Reason, out.Message)
		return
	}
	if err := r.plan(ctx, set, out.Applications, refuse); err != nil {
		r.failed(now, generate.ApplicationsWrong, err.Error())
		return
	}
	r.succeeded(now)
}

// few is how many applications a set may have of which hosts can have any number
// deleted by saying it once.
const few = 10

// plan makes, changes and marks applications for deletion as the set's policy lets it.
// Those that are refused stay what they are; the error says why.
func (r *record) plan(ctx context.Context, set appset.Set, made []gitops.Application, refuse func(*gitops.Application) error) error {
	policy := appset.SyncAll
	if p := set.Spec.SyncPolicy; p != nil && p.ApplicationsSync != "" {
		policy = p.ApplicationsSync
	}
	updates, deletes := policy == appset.SyncAll || policy == appset.CreateUpdate, policy == appset.SyncAll || policy == appset.CreateDelete
	var problems []error
	wanted := map[string]bool{}
	for i := range made {
		app := &made[i]
		wanted[app.Meta.Name] = true
		if err := refuse(app); err != nil {
			problems = append(problems, fault.Wrap(err, "application %s", app.Meta.Name))
			continue
		}
		was, there := r.Applications[app.Meta.Name]
		switch {
		case !there:
			r.Applications[app.Meta.Name] = owned{Application: *app}
		case updates && !was.Deleting: // one that goes is made anew when it has gone
			next, err := change(ctx, &set.Spec, was.Application, *app)
			if err != nil {
				problems = append(problems, fault.Wrap(err, "application %s", app.Meta.Name))
				continue
			}
			r.Applications[app.Meta.Name] = owned{Application: next}
		}
	}
	var going []string
	for name, own := range r.Applications {
		if !wanted[name] && deletes && !own.Deleting {
			going = append(going, name)
		}
	}
	slices.Sort(going)
	doubted := r.Doubted
	if r.Doubted = ""; len(r.Applications) >= few && 2*len(going) > len(r.Applications) && doubtful(set.Spec.Generators) {
		if same := strings.Join(going, " "); doubted != same { // hosts have to say it twice
			r.Doubted = same
			return errors.Join(problems...)
		}
	}
	for _, name := range going {
		own := r.Applications[name]
		own.Deleting = true
		r.Applications[name] = own
	}
	return errors.Join(problems...)
}

// change is an application as its set has it now, but for what others may change.
func change(ctx context.Context, spec *appset.Spec, was, now gitops.Application) (gitops.Application, error) {
	if p := spec.Preserved; p != nil {
		now.Meta.Annotations = preserved(p.Annotations, was.Meta.Annotations, now.Meta.Annotations)
		now.Meta.Labels = preserved(p.Labels, was.Meta.Labels, now.Meta.Labels)
	}
	var rules []gitops.IgnoreRule
	for _, one := range spec.IgnoreDifferences {
		rules = append(rules, gitops.IgnoreRule{Group: "*", Kind: "*", Name: one.Name, JSONPointers: one.JSONPointers, JQPathExpressions: one.JQPathExpressions})
	}
	if len(rules) == 0 {
		return now, nil
	}
	compiled, err := compare.Compile(compare.Settings{Status: "none"}, rules)
	if err != nil {
		return now, err
	}
	before, after := map[string]any{}, map[string]any{}
	if err := errors.Join(convert(was, &before), convert(now, &after)); err != nil {
		return now, err
	}
	a, b, err := compiled.Normal(ctx, &unstructured.Unstructured{Object: before}, &unstructured.Unstructured{Object: after})
	if err != nil {
		return now, err
	}
	apply(before, a.Object, b.Object)
	var out gitops.Application
	return out, convert(before, &out)
}

// convert reads a value's JSON as another's.
func convert(from, to any) error {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		return fault.New(fault.Internal, "read an application: %w", err)
	}
	return nil
}

// preserved are labels or annotations of a set with those that others have set.
func preserved(names []string, was, now map[string]string) map[string]string {
	now = maps.Clone(now)
	for _, name := range names {
		if value, there := was[name]; there {
			if now == nil {
				now = map[string]string{}
			}
			now[name] = value
		}
	}
	return now
}

// apply brings into an object what changes between two others.
func apply(into, was, now map[string]any) {
	for k := range was {
		if _, stays := now[k]; !stays {
			delete(into, k)
		}
	}
	for k, v := range now {
		there, ok := into[k].(map[string]any)
		before, okBefore := was[k].(map[string]any)
		after, okAfter := v.(map[string]any)
		switch {
		case ok && okBefore && okAfter:
			apply(there, before, after)
		case !reflect.DeepEqual(was[k], v):
			into[k] = v
		}
	}
}

// refuse says why an application can't be a set's; nil: it can. Others are those of
// other sets.
func (d *Documents) refuse(others map[string]string, app *gitops.Application) error {
	name := app.Meta.Name
	if err := ref.CheckID(ref.GitOpsApplication, name); err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	if slices.ContainsFunc(d.Applications, func(a gitops.Application) bool { return a.Meta.Name == name }) {
		return fault.New(fault.Conflict, "it is kept as a document of its own already, which a set doesn't take over; delete that first, with --cascade=false if what it has deployed is to stay")
	}
	if set := others[name]; set != "" {
		return fault.New(fault.Conflict, "it is one of the set %s already", set)
	}
	project := app.Spec.Project
	if project != "" && project != "default" && !slices.ContainsFunc(d.Projects, func(p gitops.Project) bool { return p.Meta.Name == project }) {
		return fault.New(fault.Invalid, "this agent has no project %s", project)
	}
	if to := app.Spec.Destination; (to.Server == "") == (to.Name == "") {
		return fault.New(fault.Invalid, "found the destination server %q and name %q; want exactly one of them", to.Server, to.Name)
	}
	return nil
}
