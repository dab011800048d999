package ecs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/delegate/awsdoc"
	awslane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
)

// wanted is what the documents of a service say.
type wanted struct {
	name       string                           // of the service
	definition *ecs.RegisterTaskDefinitionInput // nil: it is registered already
	create     *ecs.CreateServiceInput
	// update is the same document as an update has it: what it doesn't say stays.
	update  *ecs.UpdateServiceInput
	scaling scaling
}

// documents are those that the task reads.
type documents struct{ *session }

func (s *session) documents() documents { return documents{s} }

// note says what was left out of documents.
func (s documents) note(notes []string) {
	for _, n := range notes {
		s.Say("%s", n)
	}
}

// source fetches documents.
func (s documents) source() awsdoc.Source {
	known := map[string]string{}
	if s.group != "" {
		known[lane.TargetGroup] = s.group
	}
	return awsdoc.Source{
		Git: s.Git, Stage: s.work.Execution + s.work.Stage, Env: s.Env, Log: s.Env.Log(fetchUnit),
		Accesses: s.Accesses, Execution: s.work.Execution, Known: known,
	}
}

// wanted reads the service's documents.
func (s documents) wanted(ctx context.Context) (*wanted, error) {
	s.In(fetchUnit)
	w, err := s.service(ctx)
	if err != nil {
		return nil, err
	}
	if w.definition, err = s.definition(ctx, s.spec.Target.TaskDefinition); err != nil {
		return nil, err
	}
	if w.definition == nil {
		if err := s.registered(ctx, s.spec.Target.TaskDefinitionARN); err != nil {
			return nil, err
		}
	}
	if err := s.scalingWanted(ctx, w); err != nil {
		return nil, err
	}
	if c := w.create.DeploymentConfiguration; moves(c) && s.spec.Op != lane.OpRolling && s.spec.Op != lane.OpDiff {
		return nil, wrong("service %s: ECS itself moves the traffic by the deployment strategy %s; deploy it with EcsRollingDeploy, or use ROLLING", w.name, c.Strategy)
	}
	return w, w.check()
}

// service reads the service definition alone.
func (s documents) service(ctx context.Context) (*wanted, error) {
	if s.spec.Target.Service == nil {
		return nil, wrong("the service has no manifest of the type EcsServiceDefinition")
	}
	files, err := s.source().Fetch(ctx, *s.spec.Target.Service)
	if err != nil {
		return nil, err
	}
	ours := []string{"taskDefinition", "cluster", "clientToken"}
	rules := awsdoc.Rules{What: "service definition", Ours: ours, Answer: "services", Described: []string{
		"serviceArn", "clusterArn", "events", "runningCount", "pendingCount", "status", "deployments", "createdAt", "createdBy", "roleArn",
		"platformFamily", "taskSets", "currentServiceDeployment", "currentServiceRevisions", "resourceManagementType",
	}}
	w := &wanted{}
	var notes []string
	if w.create, notes, err = awsdoc.One[ecs.CreateServiceInput](files, rules); err != nil {
		return nil, err
	}
	s.note(notes)
	// The same without what is for good once the service is made.
	rules.Ours = append(ours, "serviceName", "launchType", "schedulingStrategy", "role", "tags", "deploymentController")
	if w.update, _, err = awsdoc.One[ecs.UpdateServiceInput](files, rules); err != nil {
		return nil, err
	}
	if w.name = sdk.ToString(w.create.ServiceName); w.name == "" {
		return nil, wrong("the service definition has no serviceName")
	}
	return w, nil
}

// definition reads a task definition; nil if there is no manifest.
func (s documents) definition(ctx context.Context, m *awslane.Manifest) (*ecs.RegisterTaskDefinitionInput, error) {
	if m == nil {
		return nil, nil //nolint:nilnil // as documented
	}
	files, err := s.source().Fetch(ctx, *m)
	if err != nil {
		return nil, err
	}
	d, notes, err := awsdoc.One[ecs.RegisterTaskDefinitionInput](files, awsdoc.Rules{What: "task definition", Answer: "taskDefinition", Described: []string{
		"taskDefinitionArn", "revision", "status", "requiresAttributes", "compatibilities", "registeredAt", "registeredBy", "deregisteredAt", "deleteRequestedAt",
	}})
	if err != nil {
		return nil, err
	}
	s.note(notes)
	return d, needs{s.Access, s.Say}.startable(ctx, d.ContainerDefinitions)
}

// registered says what is wrong with a task definition that the service names in
// place of a manifest.
func (s documents) registered(ctx context.Context, arn string) error {
	if arn == "" {
		return wrong("the service has neither a manifest of the type EcsTaskDefinition nor ecsTaskDefinitionArn")
	}
	found, err := s.active(ctx, arn)
	if err != nil {
		return err
	}
	return needs{s.Access, s.Say}.startable(ctx, found.ContainerDefinitions)
}

// scalingWanted reads what is to scale the service.
func (s documents) scalingWanted(ctx context.Context, w *wanted) error {
	files, err := s.source().Fetch(ctx, s.spec.Target.Targets...)
	if err != nil {
		return err
	}
	targets, notes, err := awsdoc.All[applicationautoscaling.RegisterScalableTargetInput](files, awsdoc.Rules{
		What: "scalable target", Ours: []string{"resourceId"}, Answer: "scalableTargets",
		Described: []string{"creationTime", "scalableTargetARN", "predictedCapacity"},
	})
	if err != nil {
		return err
	}
	if files, err = s.source().Fetch(ctx, s.spec.Target.Policies...); err != nil {
		return err
	}
	policies, more, err := awsdoc.All[applicationautoscaling.PutScalingPolicyInput](files, awsdoc.Rules{
		What: "scaling policy", Ours: []string{"resourceId"}, Answer: "scalingPolicies",
		Described: []string{"creationTime", "policyARN", "alarms"},
	})
	if err != nil {
		return err
	}
	s.note(append(notes, more...))
	for _, t := range targets {
		w.scaling.Targets = append(w.scaling.Targets, *t)
	}
	for _, p := range policies {
		w.scaling.Policies = append(w.scaling.Policies, *p)
	}
	if len(policies) > 0 && len(targets) == 0 {
		return wrong("the service has scaling policies, but no manifest of the type EcsScalableTargetDefinition, which they scale")
	}
	return nil
}

// check says what is wrong with documents that AWS would only say later, or not
// at all.
func (w *wanted) check() error {
	refused := func(format string, args ...any) error {
		return wrong("service %s: %w", w.name, fmt.Errorf(format, args...))
	}
	if c := w.create.DeploymentController; c != nil && c.Type != types.DeploymentControllerTypeEcs && c.Type != "" {
		return refused("found the deployment controller %s; Slipway shifts traffic itself; use the type ECS", c.Type)
	}
	if w.definition == nil {
		return nil // what is registered already, AWS has checked
	}
	for _, lb := range w.create.LoadBalancers {
		if strings.HasPrefix(sdk.ToString(lb.TargetGroupArn), "<+") {
			return refused("only the step EcsBlueGreenCreateService knows <+%s>; want the ARN of a target group", lane.TargetGroup)
		}
		if lb.ContainerPort != nil && !w.maps(sdk.ToString(lb.ContainerName), *lb.ContainerPort) {
			return refused("No container definition has port mapping that matches the target port: container %s, port %d", sdk.ToString(lb.ContainerName), *lb.ContainerPort)
		}
	}
	return nil
}

// maps says whether a container of the task definition has a port. A range of
// ports is AWS's to check.
func (w *wanted) maps(container string, port int32) bool {
	return slices.ContainsFunc(w.definition.ContainerDefinitions, func(c types.ContainerDefinition) bool {
		if container != "" && sdk.ToString(c.Name) != container {
			return false
		}
		return slices.ContainsFunc(c.PortMappings, func(m types.PortMapping) bool {
			return sdk.ToInt32(m.ContainerPort) == port || m.ContainerPortRange != nil
		})
	})
}

// daemon says whether ECS runs one task on each instance of the cluster, so that
// there is no count to set.
func (w *wanted) daemon() bool { return w.create.SchedulingStrategy == types.SchedulingStrategyDaemon }

// countable refuses a service whose tasks can't be counted, with what can't be done then.
func (w *wanted) countable(so string) error {
	if !w.daemon() {
		return nil
	}
	return wrong("service %s has the scheduling strategy DAEMON, a task on each instance; %s", w.name, so)
}

// named is the same service under another name.
func (w *wanted) named(name string) *wanted {
	other, create, update := *w, *w.create, *w.update
	other.name, other.create, other.update = name, &create, &update
	create.ServiceName = &name
	return &other
}
