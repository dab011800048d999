// Package asg deploys to Auto Scaling groups of Amazon EC2: the steps of the
// deployment type Asg, and the watch of what they have put there.
//
// Before the first change of a group it is kept as it was, for the rollback of
// the stage. How documents are read is delegate/awsdoc's, how long is waited
// delegate/awswait's, where load balancers send traffic delegate/alb's.
package asg

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
	"github.com/slipway-cd/slipway/pkg/task"
)

// The sections of a step's log.
const (
	fetchUnit    = "Fetch Manifests"
	prepareUnit  = "Prepare Rollback Data"
	deployUnit   = "Deploy"
	rollbackUnit = "Rollback"
	canaryUnit   = "Delete Canary"
	swapUnit     = "Swap Target Groups"
	shiftUnit    = "Traffic Shift"
	diffUnit     = "Diff"
)

// Config is what the executor needs.
type Config struct {
	Git      *gitfetch.Fetcher
	Accesses *aws.Accesses
	// Pace is how often AWS is asked while something is waited for; nil:
	// awswait.Slow.
	Pace awswait.Pace
	// InstancePoll is how often what was deployed is looked at, see awswait.Watch.
	InstancePoll time.Duration
}

// Kind does the tasks of the deployment type, and watches what they have put
// somewhere.
func Kind(cfg Config) executor.Kind {
	if cfg.Pace == nil {
		cfg.Pace = awswait.Slow()
	}
	groups := new(awswait.Batches[types.AutoScalingGroup])
	do := func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		s, err := newSession(ctx, cfg, groups, a, env)
		if err != nil {
			return task.Result{}, err
		}
		return s.run(ctx)
	}
	return executor.Kind{Do: do, Watch: watcher(cfg.Accesses, cfg.InstancePoll)}
}

// session is one task.
type session struct {
	account
	Config
	executor.Section
	waits *awswait.Batches[types.AutoScalingGroup]
	task  task.Assignment
	work  task.Work
	spec  lane.Spec
	// outputs are those of the step, as far as it has come; touched are the groups
	// that it may have changed.
	outputs outputs
	touched []string
	// near are groups whose machines count, too, whether the task changes them or not.
	near []string
}

func newSession(ctx context.Context, cfg Config, groups *awswait.Batches[types.AutoScalingGroup], a task.Assignment, env executor.Env) (*session, error) {
	w, spec, err := executor.Work[lane.Spec](a)
	if err != nil {
		return nil, err
	}
	of, err := open(ctx, cfg.Accesses, spec.Target.AWS, w.Execution)
	return &session{account: of, Config: cfg, waits: groups, task: a, work: w, spec: spec, Section: executor.Section{Env: env}}, err
}

// run does the task.
func (s *session) run(ctx context.Context) (task.Result, error) {
	return s.Told(ctx, s.perform(ctx), s.describeChanges)
}

func (s *session) perform(ctx context.Context) error {
	switch s.spec.Op {
	case lane.OpRolling:
		return rolling{s}.do(ctx)
	case lane.OpRollingRollback:
		return rollback{s}.do(ctx)
	case lane.OpSteadyState:
		return steady{s}.do(ctx)
	case lane.OpCanary:
		return rolling{s}.canary(ctx)
	case lane.OpCanaryDelete:
		return canary{s}.remove(ctx)
	case lane.OpScale:
		return steady{s}.scale(ctx)
	case lane.OpBlueGreen:
		return bluegreen{s}.deploy(ctx)
	case lane.OpBlueGreenSwap:
		return bluegreen{s}.swap(ctx)
	case lane.OpShiftTraffic:
		return bluegreen{s}.shift(ctx)
	case lane.OpSetup:
		return move{s}.setUp(ctx)
	case lane.OpPhased:
		return move{s}.deploy(ctx)
	case lane.OpPhasedRollback:
		return move{s}.back(ctx)
	case lane.OpDiff, lane.OpCanaryDiff, lane.OpBlueGreenDiff, lane.OpSetupDiff:
		return (&comparing{s: s}).compare(ctx)
	case lane.OpBlueGreenRollback:
		return bluegreen{s}.back(ctx)
	}
	return fault.New(fault.Unsupported, "this delegate can't do %q for Auto Scaling groups; it is older than the control plane", s.spec.Op)
}
