package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// work is what every payload that puts something into a cluster holds.
type work struct {
	Target task.KubernetesTarget `json:"target"`
	Stage  plan.NodeID           `json:"stage"`
}

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
	var w work
	if err := json.Unmarshal(t.Payload, &w); err != nil {
		return fmt.Errorf("decode the payload of task %s: %w", t.ID, err)
	}
	if w.Target.Service == "" || w.Target.ReleaseName == "" {
		return nil // it was no service's: a Custom stage may delete something
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
func (l *Ledger) settled(p *store.Placement, e store.Execution, t store.Task, w work, changes []task.Change) {
	was := p.Deployed
	d := store.Deployed{
		Previous: was.Artifact, Release: w.Target.ReleaseName, Namespace: w.Target.Namespace, Revision: was.Revision,
		Pipeline: e.Pipeline, Execution: e.ID, Stage: w.Stage, Node: t.Node, Actor: e.Actor, At: l.Now(), Task: t.ID, TaskAt: t.CreatedAt,
		Workloads: was.Workloads, Adopt: was.Adopt,
	}
	for _, c := range changes {
		d.Action = c.Action
		if c.Revision != "" {
			d.Revision = c.Revision
		}
		d.Workloads, d.Adopt = merged(d.Workloads, c), adopted(d.Adopt, c)
		if len(c.Instances) > 0 {
			p.Seen.Instances = ordered(c.Instances)
		}
	}
	d.Artifact = artifact(d.Workloads, w.Target.Image, was)
	if d.Artifact == was.Artifact {
		d.Previous = was.Previous
	}
	p.Deployed = d
	p.Look = look(t, w, d.Workloads)
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

// releaseLabel marks the pods that Kubernetes steps put somewhere (kubernetes
// spec §6).
const releaseLabel = "harness.io/release-name"

// look is how the release can be looked at again. Of the task's secrets it has
// those that reach the cluster.
func look(t store.Task, w work, workloads []task.Workload) store.Look {
	out := store.Look{
		Kind: t.Kind, Selectors: t.Selectors, Place: task.Place{Cluster: w.Target.Cluster, Release: w.Target.ReleaseName},
	}
	add := func(p task.Pods) {
		if p.Selector != "" && !slices.Contains(out.Place.Pods, p) {
			out.Place.Pods = append(out.Place.Pods, p)
		}
	}
	if t.Kind == task.KindKubernetes {
		add(task.Pods{Namespace: w.Target.Namespace, Selector: releaseLabel + "=" + w.Target.ReleaseName})
	}
	for _, wl := range workloads {
		if parts := strings.Split(wl.Resource, "/"); len(parts) == 4 {
			add(task.Pods{Namespace: parts[2], Selector: wl.Selector})
		}
	}
	c := w.Target.Cluster
	all := strings.Join([]string{c.URL, c.Token, c.CAPEM, c.ClientCertPEM, c.ClientKeyPEM, c.Username, c.Password}, "\n")
	for placeholder, name := range t.Secrets {
		if strings.Contains(all, placeholder) {
			if out.Secrets == nil {
				out.Secrets = map[string]string{}
			}
			out.Secrets[placeholder] = name
		}
	}
	return out
}
