package gitops

import (
	"regexp"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// syncType is the step type GitOpsSync: agents are asked to sync applications, and
// their ends are waited for (semantics/gitops §17).
//
// Outputs: gitops.applications, each with name, agentIdentifier, url, syncStatus,
// healthStatus and revision. The questions are asked by delegate/gitops/errands.
func syncType() step.Type {
	return step.Type{Name: string(errand.OpSync), Service: true, Looks: true, New: decodeSync, Finish: step.Finisher((*sync).finish)}
}

// sync is the step's spec.
type sync struct {
	Prune, DryRun, ApplyOnly, Force yamldoc.Field[bool]
	Options                         syncOptions
	Retry                           retry
	Choice                          choice
	Healthy, Fail                   yamldoc.Field[bool]
	Degraded                        yamldoc.Field[time.Duration]
	Promote                         yamldoc.Field[string]
	Filter                          objectFilter
}

// objectFilter says which objects of each application are meant.
type objectFilter struct {
	Group, Kind, Name, Namespace, Label yamldoc.Field[string]
}

func (f *objectFilter) decode(d *document.Decoder, v yamldoc.Value) {
	d.Fields(v, document.Keys{"group": d.Text(&f.Group), "kind": d.Text(&f.Kind), "name": d.Text(&f.Name), "namespace": d.Text(&f.Namespace), "label": d.Text(&f.Label)})
}

// filter is the same for an agent; nil: all objects are meant.
func (f *objectFilter) filter() *gitops.ObjectFilter {
	out := gitops.ObjectFilter{
		Key:   object.Key{Group: step.Text(f.Group), Kind: step.Text(f.Kind), Name: step.Text(f.Name), Namespace: step.Text(f.Namespace)},
		Label: step.Text(f.Label),
	}
	if key, value, ok := strings.Cut(out.Label, ":"); ok && !strings.Contains(out.Label, "=") {
		out.Label = key + "=" + value
	}
	if out == (gitops.ObjectFilter{}) {
		return nil
	}
	return &out
}

func decodeSync(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &sync{}
	d.Fields(v, document.Merge(s.Choice.keys(d), document.Keys{
		"prune":                      d.Flag(&s.Prune),
		"dryRun":                     d.Flag(&s.DryRun),
		"applyOnly":                  d.Flag(&s.ApplyOnly),
		"forceApply":                 d.Flag(&s.Force),
		"syncOptions":                func(v yamldoc.Value) { s.Options.decode(d, v) },
		"retryStrategy":              func(v yamldoc.Value) { s.Retry.decode(d, v) },
		"retry":                      d.Idle("how often a sync is tried again is said by retryStrategy", d.Flag(nil)),
		"resourcesFilter":            func(v yamldoc.Value) { s.Filter.decode(d, v) },
		"waitTillHealthy":            d.Flag(&s.Healthy),
		"failOnTimeout":              d.Flag(&s.Fail),
		"degradedStateTimeout":       func(v yamldoc.Value) { s.degraded(d, v) },
		"showResourceProgress":       d.Idle("what became of each object is shown by slipway gitops app resources", d.Flag(nil)),
		"autoPromoteRolloutBehavior": d.Word(&s.Promote, "promote-full", "resume"),
		"delegateSelectors":          d.Words(nil), // the plan's
	}))
	s.Choice.one(d, v)
	if filter := v.Node.Get("resourcesFilter"); !document.Neutral(filter) {
		for i := range s.Choice.Named {
			if len(s.Choice.Named[i].Resources) > 0 {
				d.Errorf(document.Child(v, "resourcesFilter"), document.Ambiguous, "found resourcesFilter and the resourcesSelector of %s; want only one of them", s.Choice.Named[i].Name.Value)
			}
		}
	}
	aboutHealth(d, v, "failOnTimeout", "degradedStateTimeout")
	return s
}

// degraded reads how long an application may be degraded; empty and 0 are for ever.
func (s *sync) degraded(d *document.Decoder, v yamldoc.Value) {
	if v.Is(yamldoc.Scalar) && (v.Node.Value == "" || v.Node.Value == "0") {
		return
	}
	s.Degraded = d.Duration(v)
}

// syncOptions are Harness's names of Argo CD's options.
type syncOptions struct {
	set                                                     bool
	OutOfSync, Create, Last, Replace, Skip, Server, Respect yamldoc.Field[bool]
	Propagation                                             yamldoc.Field[string]
}

func (o *syncOptions) decode(d *document.Decoder, v yamldoc.Value) {
	o.set = v.Is(yamldoc.Mapping)
	d.Fields(v, document.Keys{
		"applyOutOfSyncOnly":       d.Flag(&o.OutOfSync),
		"autoCreateNamespace":      d.Flag(&o.Create),
		"prunePropagationPolicy":   d.Word(&o.Propagation, "foreground", "background", "orphan"),
		"pruneResourcesAtLast":     d.Flag(&o.Last),
		"replaceResources":         d.Flag(&o.Replace),
		"skipSchemaValidation":     d.Flag(&o.Skip),
		"serverSideApply":          d.Flag(&o.Server),
		"respectIgnoreDifferences": d.Flag(&o.Respect),
	})
}

// list is what they are called in an operation; nil: the application's own count.
func (o *syncOptions) list() []string {
	if !o.set {
		return nil
	}
	out := []string{"PrunePropagationPolicy=foreground"}
	if p := o.Propagation.Value; p != "" {
		out[0] = "PrunePropagationPolicy=" + p
	}
	for _, one := range []struct {
		on   yamldoc.Field[bool]
		text string
	}{
		{o.OutOfSync, "ApplyOutOfSyncOnly=true"}, {o.Create, "CreateNamespace=true"}, {o.Last, "PruneLast=true"}, {o.Replace, "Replace=true"},
		{o.Skip, "Validate=false"}, {o.Server, "ServerSideApply=true"}, {o.Respect, "RespectIgnoreDifferences=true"},
	} {
		if one.on.Value {
			out = append(out, one.text)
		}
	}
	return out
}

// retry is how often a sync is tried again.
type retry struct {
	set        bool
	Limit      yamldoc.Field[int]
	Base, Most yamldoc.Field[time.Duration]
	Factor     yamldoc.Field[int]
}

func (r *retry) decode(d *document.Decoder, v yamldoc.Value) {
	r.set = v.Is(yamldoc.Mapping)
	d.Fields(v, document.Keys{
		"limit":                   d.Number(&r.Limit),
		"baseBackoffDuration":     d.Time(&r.Base),
		"increaseBackoffByFactor": d.Count(&r.Factor),
		"maxBackoffDuration":      d.Time(&r.Most),
	})
}

func (r *retry) retry() gitops.Retry {
	if !r.set {
		return gitops.Retry{}
	}
	out := gitops.Retry{Limit: int64(r.Limit.Value), Backoff: &gitops.Backoff{}}
	if r.Base.Set {
		out.Backoff.Duration = r.Base.Value.String()
	}
	if r.Most.Set {
		out.Backoff.MaxDuration = r.Most.Value.String()
	}
	if r.Factor.Set {
		factor := int64(r.Factor.Value)
		out.Backoff.Factor = &factor
	}
	return out
}

// choice says which applications are meant.
type choice struct {
	Named   []namedApp
	Pattern yamldoc.Field[string]
	Labels  yamldoc.Field[[]string]
}

type namedApp struct {
	Agent, Name yamldoc.Field[string]
	Resources   []object.Key
}

func (c *choice) keys(d *document.Decoder) document.Keys {
	return document.Keys{
		"applicationsList":  func(v yamldoc.Value) { c.list(d, v) },
		"applicationRegex":  func(v yamldoc.Value) { c.pattern(d, v) },
		"applicationLabels": d.Words(&c.Labels),
	}
}

func (c *choice) list(d *document.Decoder, v yamldoc.Value) {
	for item := range d.Items(v) {
		var one namedApp
		d.Fields(item, document.Keys{
			"agentId":           d.Reference(ref.GitOpsAgent, &one.Agent),
			"applicationName":   d.Text(&one.Name),
			"resourcesSelector": func(v yamldoc.Value) { one.resources(d, v) },
		})
		d.Need(item, "agentId", "applicationName")
		c.Named = append(c.Named, one)
	}
}

// resources reads which objects of an application are meant: one, or a list.
func (a *namedApp) resources(d *document.Decoder, v yamldoc.Value) {
	items := []yamldoc.Value{v}
	if v.Is(yamldoc.Sequence) {
		items = nil
		for item := range d.Items(v) {
			items = append(items, item)
		}
	}
	for _, item := range items {
		var group, kind, name, namespace yamldoc.Field[string]
		d.Fields(item, document.Keys{"group": d.Text(&group), "kind": d.Text(&kind), "name": d.Text(&name), "namespace": d.Text(&namespace)})
		d.Need(item, "kind", "name")
		a.Resources = append(a.Resources, object.Key{Group: group.Value, Kind: kind.Value, Namespace: namespace.Value, Name: name.Value})
	}
}

func (c *choice) pattern(d *document.Decoder, v yamldoc.Value) {
	c.Pattern = d.String(v)
	if _, err := regexp.Compile(c.Pattern.Value); err != nil {
		d.Errorf(v, document.WrongValue, "found %q, which isn't a regular expression: %v", c.Pattern.Value, err)
	}
}

// one refuses several ways to say which applications are meant.
func (c *choice) one(d *document.Decoder, v yamldoc.Value) {
	said := ""
	for _, key := range []string{"applicationsList", "applicationRegex", "applicationLabels"} {
		if document.Neutral(v.Node.Get(key)) {
			continue
		}
		if said != "" {
			d.Errorf(document.Child(v, key), document.Ambiguous, "found %s and %s; want only one of them", said, key)
			return
		}
		said = key
	}
}

// chosen is the same for a delegate.
func (c *choice) chosen() errand.Choice {
	out := errand.Choice{Pattern: c.Pattern.Value, Labels: c.Labels.Value}
	for _, one := range c.Named {
		out.Named = append(out.Named, errand.Named{Agent: one.Agent.Value, Name: one.Name.Value, Resources: one.Resources})
	}
	return out
}

// Start has a delegate ask for the syncs.
func (s *sync) Start(in step.In) (step.Action, error) {
	request := &gitops.SyncRequest{Prune: s.Prune.Value, DryRun: s.DryRun.Value, SyncOptions: s.Options.list(), Filter: s.Filter.filter()}
	force := &gitops.SyncStrategyForce{Force: s.Force.Value}
	switch {
	case s.ApplyOnly.Value:
		request.SyncStrategy = &gitops.SyncStrategy{Apply: force}
	case s.Force.Value:
		request.SyncStrategy = &gitops.SyncStrategy{Hook: force}
	}
	spec := errand.Applications{
		Op: errand.OpSync, Choice: s.Choice.chosen(),
		Sync: &gitops.Operation{Sync: request, Retry: s.Retry.retry(), Info: []gitops.Info{{Name: "slipway.node", Value: string(in.Node)}}},
		Wait: &errand.Wait{Healthy: s.Healthy.Value, Fail: s.Fail.Value, Degraded: s.Degraded.Value},
	}
	if !s.DryRun.Value {
		spec.Promote = s.Promote.Value
	}
	if !spec.Choice.By() && in.Others != nil {
		fetched, err := in.Others(string(errand.OpFetch))
		if err != nil {
			return step.Action{}, err
		}
		for _, one := range fetched {
			if f, ok := one.(*fetch); ok && f.AnyService.Value {
				spec.Choice.AnyService = true
			}
		}
	}
	return applications(in, spec)
}

// finish says in the step's message how many were synced.
func (s *sync) finish(_ step.In, r task.Result) (plan.Outcome, error) { return counted(r, "synced") }
