package ecs

import (
	"cmp"
	"context"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/delegate/awsdiff"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
)

// comparing is a task that tells what a step that deploys would change. Where that
// makes another service, it is compared with the one whose place it takes.
type comparing struct {
	*session
	diff awsdiff.Diff
}

// compare compares what is there with what the documents say, and changes nothing.
func (s *comparing) compare(ctx context.Context) error {
	w, live, err := s.compared(ctx)
	if err != nil {
		return err
	}
	if err := s.definitions(ctx, w, live); err != nil {
		return err
	}
	if err := s.services(w, live); err != nil {
		return err
	}
	if s.spec.Op != lane.OpCanaryDiff && !s.spec.SkipScaling {
		if err := s.scalings(ctx, w, live); err != nil {
			return err
		}
	}
	if s.diff.Empty() {
		s.Say("Nothing would change")
	}
	s.outputs.Outputs = s.diff.Outputs(s.Warn)
	return nil
}

// compared is the service that the step would make or update, and the one that it is
// compared with; nil: there is none.
func (s *comparing) compared(ctx context.Context) (*wanted, *types.Service, error) {
	if s.spec.Op == lane.OpBlueGreenDiff {
		return s.green(ctx)
	}
	w, err := s.documents().wanted(ctx)
	if err != nil {
		return nil, nil, err
	}
	s.In(diffUnit)
	switch s.spec.Op { //nolint:exhaustive // the others don't compare
	case lane.OpSetupDiff:
		if err := w.countable("it can't be moved in phases"); err != nil {
			return nil, nil, err
		}
		all, err := s.numberedServices(ctx, w.name)
		if err != nil {
			return nil, nil, err
		}
		old, name := following(w.name, all)
		return s.counted(w.named(name), old), old, nil
	case lane.OpCanaryDiff:
		if err := w.countable("there is no canary of it"); err != nil {
			return nil, nil, err
		}
		live, err := s.live(ctx, w.name)
		w = w.named(canaryName(w.name))
		w.create.DesiredCount = nil
		s.Say("The canary would be service %s, with one task", w.name)
		return w, live, err
	}
	live, err := s.live(ctx, w.name)
	return w, live, err
}

// green is the service that would be made beside the one with the traffic.
func (s *comparing) green(ctx context.Context) (*wanted, *types.Service, error) {
	g := newBluegreen(s.session)
	c, w, err := g.look(ctx, diffUnit)
	if err != nil {
		return nil, nil, err
	}
	all, err := g.decide(ctx, c, s.spec.BlueGreen.UpdateGreen)
	if err != nil {
		return nil, nil, err
	}
	s.Say("Traffic goes to %s, by %s", cmp.Or(c.Old, "no service"), c.Prod)
	for _, name := range c.Doomed {
		s.Say("Service %s would make room", name)
	}
	i := slices.IndexFunc(all, func(one types.Service) bool { return nameOf(&one) == c.Old })
	if i < 0 {
		return w.named(c.New), nil, nil
	}
	old := all[i]
	// Behind which of the two groups each is changes every time.
	old.LoadBalancers = slices.Clone(old.LoadBalancers)
	for k, b := range old.LoadBalancers {
		if sdk.ToString(b.TargetGroupArn) == c.ProdGroup {
			old.LoadBalancers[k].TargetGroupArn = &c.StageGroup
		}
	}
	return s.counted(w.named(c.New), &old), &old, nil
}

// counted is a service that takes the place of another one; it may have the number
// of tasks of that.
func (s *comparing) counted(w *wanted, old *types.Service) *wanted {
	if s.spec.SameCount && old != nil {
		w.create.DesiredCount = nil
	}
	return w
}

// differs notes how something of a service would differ from that of another;
// nil is nothing.
func (s *comparing) differs(kind, name, than string, was, is any) error {
	hunks, err := s.diff.Beside(kind+name, kind+cmp.Or(than, name), was, is)
	if hunks != "" {
		s.Say("%s\n%s", kind+name, hunks)
	}
	return err
}

// definitions compares the task definition that the service has with that of the
// documents, without what AWS adds to each.
func (s *comparing) definitions(ctx context.Context, w *wanted, live *types.Service) error {
	var was, is any
	const kind = "TaskDefinition/"
	if live != nil {
		d, err := s.described(ctx, sdk.ToString(live.TaskDefinition))
		if err != nil {
			return err
		}
		if d != nil {
			was = awsdiff.Plain(usual(registered(d.TaskDefinition)))
		}
	}
	if w.definition == nil {
		d, err := s.described(ctx, s.spec.Target.TaskDefinitionARN)
		if err != nil {
			return err
		}
		if d == nil {
			return s.differs(kind, s.spec.Target.TaskDefinitionARN, "", was, nil)
		}
		is = awsdiff.Plain(usual(registered(d.TaskDefinition)))
		return s.differs(kind, sdk.ToString(d.TaskDefinition.Family), "", was, is)
	}
	wanted := *w.definition
	wanted.Tags = nil
	is = awsdiff.Plain(usual(wanted))
	return s.differs(kind, sdk.ToString(wanted.Family), "", was, is)
}

// services compares the service with its definition: what that doesn't say stays.
func (s *comparing) services(w *wanted, live *types.Service) error {
	const kind = "Service/"
	in := *w.create
	in.Tags = nil
	switch {
	case live == nil:
		return s.differs(kind, w.name, "", nil, awsdiff.Plain(in))
	case nameOf(live) == w.name:
		update := *s.wantedUpdate(w, live, "")
		update.TaskDefinition = nil // compared already
		is := plainUpdate(update)
		return s.differs(kind, w.name, "", awsdiff.Masked(awsdiff.Plain(*snapshot(live)), is), is)
	}
	in.ServiceName, in.DeploymentController, in.Role = nil, nil, nil
	is := awsdiff.Plain(in)
	was, ok := awsdiff.Plain(*snapshot(live)).(map[string]any)
	if !ok {
		was = map[string]any{} // it says nothing
	}
	was["launchType"], was["schedulingStrategy"] = string(live.LaunchType), string(live.SchedulingStrategy)
	return s.differs(kind, w.name, nameOf(live), awsdiff.Masked(was, is), is)
}

// plainUpdate is an update as documents have it. A list that it empties is said.
func plainUpdate(in ecs.UpdateServiceInput) map[string]any {
	out, ok := awsdiff.Plain(in).(map[string]any)
	if !ok {
		out = map[string]any{} // it says nothing
	}
	for name, empties := range map[string]bool{
		"loadBalancers":            in.LoadBalancers != nil && len(in.LoadBalancers) == 0,
		"serviceRegistries":        in.ServiceRegistries != nil && len(in.ServiceRegistries) == 0,
		"capacityProviderStrategy": in.CapacityProviderStrategy != nil && len(in.CapacityProviderStrategy) == 0,
	} {
		if empties {
			out[name] = []any{}
		}
	}
	return out
}

// scalings compares what scales the service with what would.
func (s *comparing) scalings(ctx context.Context, w *wanted, live *types.Service) error {
	than := cmp.Or(nameOf(live), w.name)
	now, err := s.scalingOf(ctx, than)
	if err != nil {
		return err
	}
	then := w.scaling.of(s.cluster, than)
	is := awsdiff.Plain(then)
	was := awsdiff.Plain(now)
	if len(now.Targets) == len(then.Targets) && len(now.Policies) == len(then.Policies) {
		was = awsdiff.Masked(was, is)
	}
	return s.differs("Scaling/", w.name, than, was, is)
}

// usual has what AWS takes for what isn't said.
func usual(d ecs.RegisterTaskDefinitionInput) ecs.RegisterTaskDefinitionInput {
	containers := make([]types.ContainerDefinition, len(d.ContainerDefinitions))
	for i, c := range d.ContainerDefinitions {
		if c.Essential == nil {
			c.Essential = sdk.Bool(true)
		}
		ports := make([]types.PortMapping, len(c.PortMappings))
		for k, m := range c.PortMappings {
			if m.Protocol == "" {
				m.Protocol = types.TransportProtocolTcp
			}
			if host := sdk.ToInt32(m.HostPort); host == 0 || host == sdk.ToInt32(m.ContainerPort) {
				m.HostPort = nil
			}
			ports[k] = m
		}
		c.PortMappings = ports
		containers[i] = c
	}
	d.ContainerDefinitions = containers
	return d
}
