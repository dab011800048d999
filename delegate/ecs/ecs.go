// Package ecs deploys services to clusters of Amazon ECS: the steps of the
// deployment type ECS, and the watch of what they have put there.
//
// Before the first change of a service it is kept as it was, for the rollback of
// the stage. How documents are read is delegate/awsdoc's, how long is waited
// delegate/awswait's.
package ecs

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
	"github.com/slipway-cd/slipway/pkg/task"
)

// The sections of a step's log.
const (
	fetchUnit    = "Fetch Manifests"
	prepareUnit  = "Prepare Rollback Data"
	deployUnit   = "Deploy"
	rollbackUnit = "Rollback"
	canaryUnit   = "Delete Canary"
	diffUnit     = "Diff"
)

// Config is what the executor needs.
type Config struct {
	Git      *gitfetch.Fetcher
	Accesses *aws.Accesses
	// Pace is how often ECS is asked while something is waited for; nil:
	// awswait.Steady.
	Pace awswait.Pace
	// InstancePoll is how often what was deployed is looked at, see awswait.Watch.
	InstancePoll time.Duration
}

// Kind does the tasks of the deployment type, and watches what they have put
// somewhere.
func Kind(cfg Config) executor.Kind {
	if cfg.Pace == nil {
		cfg.Pace = awswait.Steady()
	}
	var services awswait.Batches[types.Service]
	var deployments awswait.Batches[types.ServiceDeployment]
	do := func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		s, err := newSession(ctx, cfg, a, env)
		if err != nil {
			return task.Result{}, err
		}
		place := aws.PlaceOf(s.spec.Target.AWS) + " " + s.name
		s.shared, s.deployments = services.At(place), deployments.At(place)
		return s.run(ctx)
	}
	return executor.Kind{Do: do, Watch: watcher(cfg.Accesses, cfg.InstancePoll)}
}

// session is one task.
type session struct {
	cluster
	Config
	executor.Section
	task task.Assignment
	work task.Work
	spec lane.Spec
	// deployments are the looks of all steps in the cluster at deployments in which ECS
	// moves the traffic.
	deployments *awswait.Batch[types.ServiceDeployment]
	// near are services that the task doesn't change, whose tasks are those of what
	// is deployed too.
	near []string
	// group is the target group of the service that the step makes; empty: it makes
	// none beside another one.
	group string
	// outputs are those of the step, as far as it has come; touched are the
	// services that it may have changed.
	outputs outputs
	touched []string
}

// cluster is a cluster of ECS as a delegate works in it.
type cluster struct {
	*aws.Access
	ecs     *ecs.Client
	scaling *applicationautoscaling.Client
	name    string // or ARN, as the infrastructure definition says it
	// shared are the looks at services of all steps in the cluster; nil: there are no
	// others.
	shared *awswait.Batch[types.Service]
}

func open(ctx context.Context, accesses *aws.Accesses, account task.AWS, name, execution string) (cluster, error) {
	access, err := accesses.Get(ctx, account, execution)
	if err != nil {
		return cluster{}, err
	}
	if name == "" {
		return cluster{}, fault.New(fault.Invalid, "the infrastructure definition's cluster is empty")
	}
	return cluster{
		Access: access, name: name,
		ecs: ecs.NewFromConfig(access.Config), scaling: applicationautoscaling.NewFromConfig(access.Config),
	}, nil
}

// short is the cluster's name, without the rest of its ARN.
func (c cluster) short() string { return c.name[strings.LastIndexByte(c.name, '/')+1:] }

func newSession(ctx context.Context, cfg Config, a task.Assignment, env executor.Env) (*session, error) {
	w, spec, err := executor.Work[lane.Spec](a)
	if err != nil {
		return nil, err
	}
	c, err := open(ctx, cfg.Accesses, spec.Target.AWS, spec.Target.Cluster, w.Execution)
	return &session{cluster: c, Config: cfg, task: a, work: w, spec: spec, Section: executor.Section{Env: env, Unit: fetchUnit}}, err
}

// run does the task.
func (s *session) run(ctx context.Context) (task.Result, error) {
	return s.Told(ctx, s.perform(ctx), s.describeChanges)
}

func (s *session) perform(ctx context.Context) error {
	switch s.spec.Op {
	case lane.OpRolling:
		return s.rolling(ctx)
	case lane.OpRollingRollback:
		return rollback{s}.restoreAll(ctx)
	case lane.OpCanary:
		return canary{s}.begin(ctx)
	case lane.OpCanaryDelete:
		return canary{s}.end(ctx)
	case lane.OpRunTask:
		return once{s}.runTask(ctx)
	case lane.OpScale:
		return s.scaleService(ctx)
	case lane.OpDiff, lane.OpCanaryDiff, lane.OpBlueGreenDiff, lane.OpSetupDiff:
		return (&comparing{session: s}).compare(ctx)
	case lane.OpSetup:
		return move{s}.setUp(ctx)
	case lane.OpUpgrade:
		return move{s}.upgrade(ctx)
	case lane.OpBasicRollback:
		return move{s}.rollBackPhases(ctx)
	case lane.OpBlueGreenCreate:
		return newBluegreen(s).createGreen(ctx)
	case lane.OpBlueGreenSwap:
		return newBluegreen(s).swap(ctx)
	case lane.OpBlueGreenRollback:
		return newBluegreen(s).rollGreenBack(ctx)
	case lane.OpTrafficShift:
		return newBluegreen(s).shift(ctx)
	case lane.OpShiftRollback:
		return newBluegreen(s).shiftBack(ctx)
	}
	return fault.New(fault.Unsupported, "this delegate can't do %q for ECS; it is older than the control plane", s.spec.Op)
}
