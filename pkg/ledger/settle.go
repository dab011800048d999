package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Settle writes down what a task changed. The same task again, or one that is
// older than what is known, changes nothing.
func (l *Ledger) Settle(ctx context.Context, id task.ID, r task.Result) error {
	if len(r.Changes) == 0 {
		return nil
	}
	t, err := l.Store.Task(ctx, id) // with its payload
	if err != nil {
		return err
	}
	var w task.Work
	if err := json.Unmarshal(t.Payload, &w); err != nil {
		return fmt.Errorf("decode the payload of task %s: %w", t.ID, err)
	}
	if w.Target.Service == "" {
		return fault.New(fault.Invalid, "task %s of the kind %s has changed %s, but is no service's", t.ID, t.Kind, r.Changes[0].Target)
	}
	if t.LateSecrets, err = reaching(w.Place, t.LateSecrets); err != nil {
		return err
	}
	if t.Identities, err = reaching([]any{w.Place, t.LateSecrets}, t.Identities); err != nil {
		return err
	}
	if t.Secrets, err = reaching([]any{w.Place, t.LateSecrets}, t.Secrets); err != nil {
		return err
	}
	e, err := l.Store.Execution(ctx, t.Execution)
	if err != nil {
		return err
	}
	done := map[string][]task.Change{}
	for _, c := range r.Changes {
		done[c.Target] = append(done[c.Target], c)
	}
	for target, changes := range done {
		k := store.PlacementKey{
			Scope: t.Scope, Service: w.Target.Service, Environment: w.Target.Environment, Infrastructure: w.Target.Infrastructure, Target: target,
		}
		err := l.change(ctx, k, func(p *store.Placement) (*store.Moment, bool, error) {
			if p.Deployed.Task == t.ID || p.Deployed.TaskAt.After(t.CreatedAt) {
				return nil, false, nil
			}
			l.settled(p, e, t, w, changes)
			m := moment(*p, p.Deployed.Action, p.Deployed.At)
			m.Execution = e.ID
			return &m, true, nil
		})
		if err != nil {
			return fmt.Errorf("write down what task %s changed: %w", t.ID, err)
		}
	}
	return nil
}

// settled changes a placement by what a task did to it.
func (l *Ledger) settled(p *store.Placement, e store.Execution, t store.Task, w task.Work, changes []task.Change) {
	was := p.Deployed
	d := store.Deployed{
		Previous: was.Artifact, Release: w.Target.Release, Namespace: w.Target.Namespace, Revision: was.Revision,
		Pipeline: e.Pipeline, Execution: e.ID, Stage: plan.NodeID(w.Stage), Node: t.Node, Actor: e.Actor, At: l.Now(), Task: t.ID, TaskAt: t.CreatedAt,
		Workloads: was.Workloads, Adopt: was.Adopt,
	}
	if d.Before = was.Execution; was.Execution == e.ID {
		d.Before = was.Before
	}
	for _, c := range changes {
		d.Action = c.Action
		if c.Revision != "" {
			d.Revision = c.Revision
		}
		d.Workloads, d.Adopt = merged(d.Workloads, c), adopted(d.Adopt, c)
		if len(c.Instances) > 0 || c.Counted {
			p.Seen.Instances = ordered(c.Instances)
		}
	}
	d.Artifact = artifact(d.Workloads, w.Target.Image, was)
	if d.Artifact == was.Artifact {
		d.Previous = was.Previous
	}
	p.Deployed = d
	p.Look = store.Look{Kind: t.Kind, Selectors: t.Selectors, Secrets: t.Secrets, Made: t.LateSecrets, Identities: t.Identities, Place: w.Place}
	p.Fence++
	l.counted(p)
	p.Seen.At, p.Seen.Trouble = d.At, ""
}

// counted keeps since when nothing runs.
func (l *Ledger) counted(p *store.Placement) {
	switch {
	case len(p.Seen.Instances) > 0:
		p.Seen.EmptySince = time.Time{}
	case p.Seen.EmptySince.IsZero():
		p.Seen.EmptySince = l.Now()
	}
}

// The actions of task.Change after which its workloads are as it says, and
// after which they aren't there. Others change what is there.
func puts(c task.Change) bool    { return c.Action == "applied" || c.Action == "rolled back" }
func deletes(c task.Change) bool { return c.Action == "deleted" }

// merged is a release's workloads after a change.
func merged(was []task.Workload, c task.Change) []task.Workload {
	out := slices.DeleteFunc(slices.Clone(was), func(w task.Workload) bool {
		return c.Whole || (puts(c) || deletes(c)) && slices.Contains(c.Resources, w.Resource)
	})
	for _, w := range c.Workloads {
		known := slices.ContainsFunc(out, func(o task.Workload) bool { return o.Resource == w.Resource })
		if !known && !deletes(c) {
			out = append(out, w)
		}
	}
	slices.SortFunc(out, func(a, b task.Workload) int { return strings.Compare(a.Resource, b.Resource) })
	return out
}

// adopted are the workloads that the next report describes, after a change.
func adopted(was []string, c task.Change) []string {
	out := slices.DeleteFunc(slices.Clone(was), func(name string) bool { return c.Whole || slices.Contains(c.Resources, name) })
	if puts(c) || deletes(c) {
		return out
	}
	for _, w := range c.Workloads {
		out = append(out, w.Resource)
	}
	return out
}

// adopt takes the workloads that a step changed in place as they are.
func adopt(d *store.Deployed, live []task.Workload) {
	if len(d.Adopt) == 0 {
		return
	}
	wanted := slices.Clone(d.Workloads)
	for i, w := range wanted {
		for _, l := range live {
			if l.Resource == w.Resource && slices.Contains(d.Adopt, l.Resource) && !l.Gone {
				l.ReplicasBy = ""
				wanted[i] = l
			}
		}
	}
	d.Workloads, d.Adopt = wanted, nil
}

// artifact is which artifact the workloads have. A rollback's step knows only
// the one that it takes back, so that the workloads' images decide.
func artifact(workloads []task.Workload, image string, was store.Deployed) string {
	for _, candidate := range []string{image, was.Artifact, was.Previous} {
		for _, w := range workloads {
			if candidate != "" && slices.Contains(w.Images, candidate) {
				return candidate
			}
		}
	}
	for _, w := range workloads {
		if len(w.Images) > 0 {
			return w.Images[0]
		}
	}
	return image
}

// reaching are those of a task's secrets whose placeholders are in what reaches
// its place.
func reaching[S any](by any, secrets map[string]S) (map[string]S, error) {
	doc, err := json.Marshal(by)
	if err != nil {
		return nil, fmt.Errorf("encode how a place is reached: %w", err)
	}
	var out map[string]S
	for placeholder, name := range secrets {
		if bytes.Contains(doc, []byte(placeholder)) {
			if out == nil {
				out = map[string]S{}
			}
			out[placeholder] = name
		}
	}
	return out, nil
}
