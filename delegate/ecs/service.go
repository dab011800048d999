package ecs

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// mostServices is how many services ECS describes at once.
const mostServices = 10

// describe describes services of the cluster by their names, those that there are:
// for a step together with all others of the cluster.
func (c cluster) describe(ctx context.Context, names []string) (map[string]types.Service, error) {
	ask := asking(c)
	if c.shared == nil {
		return ask.Call(ctx, names)
	}
	return c.shared.Read(ctx, names, ask)
}

// asking is how ECS is asked to describe services of a cluster.
func asking(c cluster) awswait.Ask[types.Service] {
	return awswait.Ask[types.Service]{Most: mostServices, Call: func(ctx context.Context, names []string) (map[string]types.Service, error) {
		return describeAll(ctx, c, names)
	}}
}

func describeAll(ctx context.Context, c cluster, names []string) (map[string]types.Service, error) {
	found := map[string]types.Service{}
	for some := range slices.Chunk(names, mostServices) {
		out, err := c.ecs.DescribeServices(ctx, &ecs.DescribeServicesInput{
			Cluster: &c.name, Services: some, Include: []types.ServiceField{types.ServiceFieldTags},
		})
		if err != nil {
			return nil, c.Failed(ctx, "ecs:DescribeServices", err)
		}
		for _, one := range out.Services {
			found[sdk.ToString(one.ServiceName)] = one
		}
	}
	return found, nil
}

// live is a service that is there, or that is just going; nil for none, and for
// one that was deleted.
func (c cluster) live(ctx context.Context, name string) (*types.Service, error) {
	found, err := c.describe(ctx, []string{name})
	if err != nil {
		return nil, err
	}
	one, ok := found[name]
	if !ok || sdk.ToString(one.Status) == inactive {
		return nil, nil //nolint:nilnil // as documented
	}
	return &one, nil
}

// looks is how often a service is looked for that the stage may have made.
const looks = 4

// sought is a service that the stage may have made; nil for none. ECS may not find
// yet what it was asked to make a moment ago, by a task that was stopped then.
func (s *session) sought(ctx context.Context, name string) (*types.Service, error) {
	var live *types.Service
	n := 0
	err := s.until(ctx, name, func(one types.Service, found bool) (awswait.State, error) {
		n++
		if found && sdk.ToString(one.Status) != inactive {
			live = &one
		}
		return awswait.State{Done: live != nil || n == looks, Progress: "Looking for service " + name}, nil
	})
	return live, err
}

// free waits until a service that is being deleted is gone, so that another can
// have its name.
func (s *session) free(ctx context.Context, name string) error {
	s.Say("Waiting for existing Service %s to reach inactive state", name)
	return s.until(ctx, name, func(one types.Service, found bool) (awswait.State, error) {
		gone := !found || sdk.ToString(one.Status) == inactive
		return awswait.State{Done: gone, Progress: "Service " + name + " is " + sdk.ToString(one.Status)}, nil
	})
}

// emptied waits until a service has no tasks.
func (s *session) emptied(ctx context.Context, name string) error {
	return s.until(ctx, name, func(one types.Service, found bool) (awswait.State, error) {
		return awswait.State{Done: !found || one.RunningCount == 0 && one.PendingCount == 0, Progress: sayCount(one)}, nil
	})
}

// until looks at a service until it is as judge wants it. Steps that wait for
// services of one cluster look together.
func (s *session) until(ctx context.Context, name string, judge func(one types.Service, found bool) (awswait.State, error)) error {
	return s.shared.Until(ctx, awswait.Wait{Pace: s.Pace, Log: s.Env.Log(s.Unit)}, name, asking(s.cluster), judge)
}

// create makes a service.
func (s *session) create(ctx context.Context, w *wanted, definition string) (*types.Service, error) {
	in := *w.create
	in.Cluster, in.TaskDefinition = &s.name, &definition
	in.ClientToken = sdk.String(aws.Token(s.task, "service "+w.name))
	in.Tags = marked(in.Tags, s.Accesses, s.work)
	if in.DesiredCount == nil && !w.daemon() {
		in.DesiredCount = sdk.Int32(1)
	}
	if w.daemon() {
		in.DesiredCount = nil
	}
	s.touch(w.name)
	out, err := s.ecs.CreateService(ctx, &in)
	if err != nil {
		return nil, s.Failed(ctx, "ecs:CreateService", err)
	}
	s.Say("Created service %s with %d tasks desired", w.name, out.Service.DesiredCount)
	return out.Service, nil
}

// update changes a service that is there. What differs from it is warned of if it
// can't be changed.
func (s *session) update(ctx context.Context, live *types.Service, in *ecs.UpdateServiceInput) (*types.Service, error) {
	in.Cluster, in.Service = &s.name, live.ServiceName
	if in.CapacityProviderStrategy != nil && !alike(in.CapacityProviderStrategy, live.CapacityProviderStrategy) {
		in.ForceNewDeployment = true // else ECS refuses it
	}
	s.touch(sdk.ToString(live.ServiceName))
	out, err := s.ecs.UpdateService(ctx, in)
	if err != nil {
		return nil, s.Failed(ctx, "ecs:UpdateService", err)
	}
	s.Say("Updated service %s: task definition %s, %d tasks desired", sdk.ToString(out.Service.ServiceName), sdk.ToString(out.Service.TaskDefinition), out.Service.DesiredCount)
	return out.Service, nil
}

// wantedUpdate is the update that makes a service what its documents say.
func (s *session) wantedUpdate(w *wanted, live *types.Service, definition string) *ecs.UpdateServiceInput {
	in := *w.update
	in.TaskDefinition = &definition
	if s.spec.SameCount || live.SchedulingStrategy == types.SchedulingStrategyDaemon {
		in.DesiredCount = nil
	}
	// A list that isn't said stays; one that was taken out of the document goes.
	if in.LoadBalancers == nil && len(live.LoadBalancers) > 0 {
		in.LoadBalancers = []types.LoadBalancer{}
	}
	if in.ServiceRegistries == nil && len(live.ServiceRegistries) > 0 {
		in.ServiceRegistries = []types.ServiceRegistry{}
	}
	// So does a strategy by which capacity providers were chosen, for a launch type; where
	// the document says neither, the cluster's own strategy may be meant.
	byProviders := len(live.CapacityProviderStrategy) > 0
	if byProviders && in.CapacityProviderStrategy == nil && w.create.LaunchType != "" {
		in.CapacityProviderStrategy = []types.CapacityProviderStrategyItem{}
	}
	forGood := func(what, now, then string) {
		if then != "" && now != then {
			s.Warn("%s of service %s is %s and stays so for the service's lifetime; the definition says %s", what, w.name, now, then)
		}
	}
	if !byProviders {
		forGood("launchType", string(live.LaunchType), string(w.create.LaunchType))
	}
	forGood("schedulingStrategy", string(live.SchedulingStrategy), string(w.create.SchedulingStrategy))
	forGood("role", sdk.ToString(live.RoleArn), sdk.ToString(w.create.Role))
	return &in
}

// marked are the tags of a service's definition, with those that say which execution
// deploys it.
func marked(tags []types.Tag, a *aws.Accesses, w task.Work) []types.Tag {
	return tagged(tags, a.Marks(w, slices.Collect(maps.Keys(valued(tags)))...))
}

// mark gives a service that is there the tags of its definition, and takes those away
// that an earlier one gave it.
func (s *session) mark(ctx context.Context, live *types.Service, wanted []types.Tag) error {
	tags := marked(wanted, s.Accesses, s.work)
	return s.retag(ctx, live, tags, aws.Dropped(valued(live.Tags), valued(tags)))
}

// retag gives a service tags, as far as it hasn't them, and takes others away.
func (s *session) retag(ctx context.Context, live *types.Service, tags []types.Tag, less []string) error {
	more := slices.DeleteFunc(slices.Clone(tags), func(t types.Tag) bool { return has(live.Tags, sdk.ToString(t.Key), sdk.ToString(t.Value)) })
	// Those that go, go first: a service has fifty at most.
	if len(less) > 0 {
		if _, err := s.ecs.UntagResource(ctx, &ecs.UntagResourceInput{ResourceArn: live.ServiceArn, TagKeys: less}); err != nil {
			return s.Failed(ctx, "ecs:UntagResource", err)
		}
	}
	if len(more) > 0 {
		if _, err := s.ecs.TagResource(ctx, &ecs.TagResourceInput{ResourceArn: live.ServiceArn, Tags: more}); err != nil {
			return s.Failed(ctx, "ecs:TagResource", err)
		}
	}
	return nil
}

// valued are tags by their keys.
func valued(tags []types.Tag) map[string]string {
	out := make(map[string]string, len(tags))
	for _, t := range tags {
		out[sdk.ToString(t.Key)] = sdk.ToString(t.Value)
	}
	return out
}

// settle waits until a deployment of a service is done, and says the service's
// events but those that were there before. One that fails is explained by the
// tasks that have stopped.
func (s *session) settle(ctx context.Context, r rollout, seen events) error {
	asked := time.Now()
	var was progress
	err := s.until(ctx, r.service, func(one types.Service, found bool) (awswait.State, error) {
		var live *types.Service
		if found {
			live = &one
			for _, line := range seen.more(one.Events) {
				s.Say("%s", line)
			}
		}
		was = r.judge(live, time.Since(asked), was)
		if was.failed != "" {
			return awswait.State{}, fault.New(fault.Conflict, "%s", was.failed).Causing(fault.Unknown)
		}
		return awswait.State{Done: was.done, Progress: was.text}, nil
	})
	if err != nil {
		s.explain(ctx, r.service, r.deployment)
		return err
	}
	s.Say("Service %s is steady", r.service)
	return nil
}

// snapshot is how a service is, as the update that would make it so again.
func snapshot(one *types.Service) *ecs.UpdateServiceInput {
	in := &ecs.UpdateServiceInput{
		Service: one.ServiceName, TaskDefinition: one.TaskDefinition,
		AvailabilityZoneRebalancing: one.AvailabilityZoneRebalancing, CapacityProviderStrategy: listed(one.CapacityProviderStrategy),
		DeploymentConfiguration: one.DeploymentConfiguration, EnableECSManagedTags: &one.EnableECSManagedTags, EnableExecuteCommand: &one.EnableExecuteCommand,
		HealthCheckGracePeriodSeconds: one.HealthCheckGracePeriodSeconds, LoadBalancers: listed(one.LoadBalancers),
		NetworkConfiguration: one.NetworkConfiguration, PlacementConstraints: listed(one.PlacementConstraints), PlacementStrategy: listed(one.PlacementStrategy),
		PlatformVersion: one.PlatformVersion, PropagateTags: one.PropagateTags, ServiceRegistries: listed(one.ServiceRegistries),
	}
	if one.SchedulingStrategy != types.SchedulingStrategyDaemon {
		in.DesiredCount = &one.DesiredCount
	}
	if d := newest(one); d != nil {
		in.ServiceConnectConfiguration, in.VolumeConfigurations, in.VpcLatticeConfigurations = d.ServiceConnectConfiguration, listed(d.VolumeConfigurations), listed(d.VpcLatticeConfigurations)
	}
	return in
}

// alike says whether two strategies choose the same capacity providers, in whatever
// order they name them.
func alike(a, b []types.CapacityProviderStrategyItem) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(one types.CapacityProviderStrategyItem) bool {
		return !slices.ContainsFunc(b, func(other types.CapacityProviderStrategyItem) bool { return same(one, other) })
	})
}

// listed is a list that is said to be empty if it is: an update takes a nil one
// for unchanged.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// difference is what of an update differs from how a service is; false: nothing
// does.
func difference(wanted *ecs.UpdateServiceInput, live *types.Service) (*ecs.UpdateServiceInput, bool) {
	out, differs := *wanted, false
	to, from := reflect.ValueOf(&out).Elem(), reflect.ValueOf(snapshot(live)).Elem()
	for i := range to.NumField() {
		if !to.Type().Field(i).IsExported() || to.Type().Field(i).Name == "Service" {
			continue
		}
		if same(to.Field(i).Interface(), from.Field(i).Interface()) {
			to.Field(i).SetZero()
			continue
		}
		differs = differs || !to.Field(i).IsZero()
	}
	return &out, differs
}
