package ecs

import (
	"context"
	"fmt"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// shifting is a task about a service whose traffic ECS itself moves from one
// revision to the next: that of a deployment strategy other than ROLLING. How far
// such a deployment is, only ECS's service deployments tell.
type shifting struct{ *session }

// moves says whether ECS moves the traffic of a service.
func moves(c *types.DeploymentConfiguration) bool {
	return c != nil && c.Strategy != "" && c.Strategy != types.DeploymentStrategyRolling
}

// earlier is the service deployment that is the newest before a service is
// updated; empty: ECS moves no traffic, or there is none.
func (s shifting) earlier(ctx context.Context, live *types.Service, wanted *types.DeploymentConfiguration) (string, error) {
	if live == nil || !moves(wanted) && !moves(live.DeploymentConfiguration) {
		return "", nil
	}
	d, err := s.newest(ctx, sdk.ToString(live.ServiceName))
	if err != nil || d == nil {
		return "", err
	}
	return sdk.ToString(d.ServiceDeploymentArn), nil
}

// newest is the newest service deployment of a service; nil for none.
func (s shifting) newest(ctx context.Context, service string) (*types.ServiceDeploymentBrief, error) {
	var last *types.ServiceDeploymentBrief
	in := &ecs.ListServiceDeploymentsInput{Cluster: &s.name, Service: &service}
	for {
		page, err := s.ecs.ListServiceDeployments(ctx, in)
		if err != nil {
			return nil, s.Failed(ctx, "ecs:ListServiceDeployments", err)
		}
		for _, d := range page.ServiceDeployments {
			if last == nil || sdk.ToTime(d.CreatedAt).After(sdk.ToTime(last.CreatedAt)) {
				last = &d
			}
		}
		if in.NextToken = page.NextToken; sdk.ToString(in.NextToken) == "" {
			return last, nil
		}
	}
}

// settle waits until a service that was made or updated is as it should be, by
// whoever moves its traffic. earlier is the service deployment before.
func (s shifting) settle(ctx context.Context, r rollout, one, live *types.Service, earlier string) error {
	if !moves(one.DeploymentConfiguration) {
		return s.session.settle(ctx, r, known(live))
	}
	own, err := s.begun(ctx, r, sdk.ToString(one.TaskDefinition), earlier)
	if err != nil {
		return err
	}
	if own == "" {
		return s.session.settle(ctx, r, known(live))
	}
	end, err := s.over(ctx, own, r.service, known(live))
	if err == nil && end.Status != types.ServiceDeploymentStatusSuccessful {
		err = fault.New(fault.Conflict, "%s", ending(*end)).Causing(fault.Unknown)
	}
	if err != nil {
		s.explain(ctx, r.service, r.deployment)
		return err
	}
	s.Say("Service %s is steady", r.service)
	return nil
}

// ending says how a service deployment has ended that didn't succeed.
func ending(d types.ServiceDeployment) string {
	why := sdk.ToString(d.StatusReason)
	if d.Rollback != nil && sdk.ToString(d.Rollback.Reason) != "" {
		why = sdk.ToString(d.Rollback.Reason)
	}
	if why == "" {
		why = "it doesn't say why"
	}
	if d.Status == types.ServiceDeploymentStatusStopped {
		return "the deployment was stopped: " + why
	}
	return "ECS rolled back: " + why
}

// begun is the service deployment that an update has started. An update that has
// changed no more than counts has started none: then it is the one that goes on;
// empty: none does.
func (s shifting) begun(ctx context.Context, r rollout, definition, earlier string) (string, error) {
	asked, own := time.Now(), ""
	starts := r.made || r.deployment != r.previous
	err := s.poll(ctx, func(ctx context.Context) (awswait.State, error) {
		d, err := s.newest(ctx, r.service)
		if err != nil {
			return awswait.State{}, err
		}
		early := time.Since(asked) < unseen
		if d == nil && !starts {
			return awswait.State{Done: true}, nil
		}
		if d == nil || starts && sdk.ToString(d.ServiceDeploymentArn) == earlier {
			if early {
				return awswait.State{Progress: "Waiting for ECS to know the deployment of " + r.service}, nil
			}
			return awswait.State{}, fault.New(fault.Conflict, "ECS knows no deployment of service %s", r.service).Causing(fault.Unknown)
		}
		if !starts && !underWay(d.Status) {
			return awswait.State{Done: true}, nil
		}
		revision, err := s.definitionOf(ctx, sdk.ToString(d.TargetServiceRevisionArn))
		if err == nil && revision != definition {
			err = fault.New(fault.Conflict, "superseded by deployment %s (task definition %s)", last(sdk.ToString(d.ServiceDeploymentArn)), revision).Causing(fault.Unknown)
		}
		own = sdk.ToString(d.ServiceDeploymentArn)
		return awswait.State{Done: true}, err
	})
	return own, err
}

// definitionOf is the task definition of a service revision.
func (s shifting) definitionOf(ctx context.Context, revision string) (string, error) {
	out, err := s.ecs.DescribeServiceRevisions(ctx, &ecs.DescribeServiceRevisionsInput{ServiceRevisionArns: []string{revision}})
	if err != nil {
		return "", s.Failed(ctx, "ecs:DescribeServiceRevisions", err)
	}
	if len(out.ServiceRevisions) == 0 {
		return "", fault.New(fault.NotFound, "ECS doesn't describe the service revision %s", revision).Causing(fault.Unknown)
	}
	return sdk.ToString(out.ServiceRevisions[0].TaskDefinition), nil
}

// over waits until a service deployment has ended, in whatever way, and says the
// service's events meanwhile. One that ECS rolls back has failed already.
func (s shifting) over(ctx context.Context, own, service string, seen events) (*types.ServiceDeployment, error) {
	return s.until(ctx, own, service, seen, func(d types.ServiceDeploymentStatus) bool {
		return underWay(d) && d != types.ServiceDeploymentStatusRollbackRequested && d != types.ServiceDeploymentStatusRollbackInProgress
	})
}

// underWay says whether a service deployment goes on, forwards or back.
func underWay(d types.ServiceDeploymentStatus) bool {
	switch d {
	case types.ServiceDeploymentStatusSuccessful, types.ServiceDeploymentStatusStopped,
		types.ServiceDeploymentStatusRollbackSuccessful, types.ServiceDeploymentStatusRollbackFailed:
		return false
	case types.ServiceDeploymentStatusPending, types.ServiceDeploymentStatusInProgress, types.ServiceDeploymentStatusStopRequested,
		types.ServiceDeploymentStatusRollbackRequested, types.ServiceDeploymentStatusRollbackInProgress:
	}
	return true
}

// mostDeployments is how many service deployments ECS describes at once.
const mostDeployments = 20

// describing is how ECS is asked to describe service deployments.
func describing(c cluster) awswait.Ask[types.ServiceDeployment] {
	return awswait.Ask[types.ServiceDeployment]{Most: mostDeployments, Call: func(ctx context.Context, arns []string) (map[string]types.ServiceDeployment, error) {
		out, err := c.ecs.DescribeServiceDeployments(ctx, &ecs.DescribeServiceDeploymentsInput{ServiceDeploymentArns: arns})
		if err != nil {
			return nil, c.Failed(ctx, "ecs:DescribeServiceDeployments", err)
		}
		found := map[string]types.ServiceDeployment{}
		for _, d := range out.ServiceDeployments {
			found[sdk.ToString(d.ServiceDeploymentArn)] = d
		}
		return found, nil
	}}
}

// quiet is at how many looks in a row a deployment is as before until the events of its
// service are read anyway: they say why it doesn't get on.
const quiet = 3

// until waits as long as a service deployment goes on. Steps that wait for such in one
// cluster look together.
func (s shifting) until(ctx context.Context, own, service string, seen events, goesOn func(types.ServiceDeploymentStatus) bool) (*types.ServiceDeployment, error) {
	var end *types.ServiceDeployment
	shown, same := "", 0
	err := s.deployments.Until(ctx, awswait.Wait{Pace: s.Pace, Log: s.Env.Log(s.Unit)}, own, describing(s.cluster), func(d types.ServiceDeployment, found bool) (awswait.State, error) {
		if !found {
			return awswait.State{}, fault.New(fault.NotFound, "ECS doesn't describe the deployment %s of service %s", last(own), service).Causing(fault.Unknown)
		}
		end = &d
		now := awswait.State{Done: !goesOn(d.Status), Progress: stage(d)}
		if same++; now.Progress == shown && !now.Done && same < quiet {
			return now, nil
		}
		shown, same = now.Progress, 0
		live, err := s.describe(ctx, []string{service})
		if err != nil {
			return awswait.State{}, err
		}
		for _, line := range seen.more(live[service].Events) {
			s.Say("%s", line)
		}
		return now, nil
	})
	return end, err
}

func (s shifting) poll(ctx context.Context, look func(context.Context) (awswait.State, error)) error {
	return awswait.Until(ctx, awswait.Wait{Pace: s.Pace, Log: s.Env.Log(s.Unit)}, look)
}

// stage says how far a service deployment is.
func stage(d types.ServiceDeployment) string {
	line := fmt.Sprintf("Deployment %s is %s", last(sdk.ToString(d.ServiceDeploymentArn)), d.Status)
	if d.LifecycleStage != "" {
		line += ", at the stage " + string(d.LifecycleStage)
	}
	if t := d.TargetServiceRevision; t != nil {
		line += fmt.Sprintf("; %d/%d running, %d pending", t.RunningTaskCount, t.RequestedTaskCount, t.PendingTaskCount)
	}
	return line
}

// undone ends a deployment that goes on, before the service is put back: one that
// leads away from what was there ECS rolls back. It gives how the service is then.
func (s shifting) undone(ctx context.Context, live *types.Service, was before) (*types.Service, error) {
	d, err := s.newest(ctx, was.Service)
	if err != nil || d == nil || !underWay(d.Status) {
		return live, err
	}
	own := sdk.ToString(d.ServiceDeploymentArn)
	if d.Status == types.ServiceDeploymentStatusPending || d.Status == types.ServiceDeploymentStatusInProgress {
		definition, err := s.definitionOf(ctx, sdk.ToString(d.TargetServiceRevisionArn))
		if err != nil {
			return nil, err
		}
		if definition != was.definition() {
			s.Say("ECS is asked to roll deployment %s back", last(own))
			_, err = s.ecs.StopServiceDeployment(ctx, &ecs.StopServiceDeploymentInput{ServiceDeploymentArn: &own, StopType: types.StopServiceDeploymentStopTypeRollback})
			if err != nil && !aws.Is(err, "ConflictException", "ServiceDeploymentNotFoundException") { // it has ended meanwhile
				return nil, s.Failed(ctx, "ecs:StopServiceDeployment", err)
			}
		}
	}
	s.Say("Waiting for deployment %s of service %s to end", last(own), was.Service)
	if _, err := s.until(ctx, own, was.Service, known(live), underWay); err != nil {
		return nil, err
	}
	return s.appear(ctx, was.Service)
}
