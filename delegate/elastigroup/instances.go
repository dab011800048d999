package elastigroup

import (
	"context"
	"net/http"

	"github.com/slipway-cd/slipway/pkg/task"
)

// looked is what some groups are, and which machines they run.
type looked struct {
	workloads map[string]task.Workload // by the group's id
	machines  []running
}

// running is a machine of a group.
type running struct {
	machine
	group    group
	instance task.Instance
}

// workload is a group as the ledger names it. Its account may be a secret.
func workload(id string) string { return "spot/Elastigroup/" + id }

// look looks at groups and their machines.
func (c *client) look(ctx context.Context, ids []string) (looked, error) {
	out := looked{workloads: map[string]task.Workload{}}
	all, err := c.list(ctx)
	if err != nil {
		return out, err
	}
	for _, id := range ids {
		w := task.Workload{Resource: workload(id), Selector: id}
		live := found(all).by(id)
		if live == nil {
			w.Gone = true
			out.workloads[id] = w
			continue
		}
		out.workloads[id] = live.asIs(w)
		machines, err := c.running(ctx, *live)
		if status(err) == http.StatusNotFound { // it has just gone
			w.Gone = true
			out.workloads[id] = w
			continue
		}
		if err != nil {
			return out, err
		}
		out.machines = append(out.machines, machines...)
	}
	return out, nil
}

// asIs says of a group which images its machines start from, and how many it
// should have. That is nobody's to say where something scales it.
func (g group) asIs(w task.Workload) task.Workload {
	launch := g.Compute.Launch
	if launch.Image != "" {
		w.Images = append(w.Images, launch.Image)
	}
	for _, i := range launch.Images {
		w.Images = append(w.Images, i.ID)
	}
	if !g.Scaling.there() && !g.Scheduling.there() {
		n := int64(g.Capacity.Target)
		w.Replicas = &n
	}
	return w
}

// running are the machines of a group that run, or are about to.
func (c *client) running(ctx context.Context, g group) ([]running, error) {
	machines, err := c.machines(ctx, g.ID)
	if err != nil {
		return nil, err
	}
	healths, err := c.healths(ctx, g.ID)
	if err != nil {
		return nil, err
	}
	how := map[string]health{}
	for _, h := range healths {
		how[h.ID] = h
	}
	var out []running
	for _, m := range machines {
		if m.ID == "" {
			continue // nothing runs yet
		}
		h := how[m.ID]
		i := task.Instance{
			Name: m.ID, Release: g.Name, IP: m.IP, Phase: m.Status, Ready: h.Health == healthy, Since: m.Since.UTC(),
		}
		if g.Compute.Launch.Image != "" {
			i.Images = []string{g.Compute.Launch.Image}
		}
		more := map[string]string{
			"elastigroup": g.ID, "elastigroupName": g.Name, "availabilityZone": m.Zone, "instanceType": m.Type, "health": h.Health, "lifeCycle": h.LifeCycle,
		}
		for name, value := range more {
			if value == "" {
				delete(more, name)
			}
		}
		i.Describe(more)
		out = append(out, running{machine: m, group: g, instance: i})
	}
	return out, nil
}
