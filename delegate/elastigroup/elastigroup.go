// Package elastigroup deploys to Elastigroups, groups of machines that Spot runs
// in accounts of AWS: the steps of the deployment type Elastigroup, and the watch
// of what they have put there.
//
// Before the first change of a group it is kept as it was, for the rollback of
// the stage. How documents are read is delegate/awsdoc's, how long is waited
// delegate/awswait's, where load balancers send traffic delegate/alb's.
package elastigroup

import (
	"context"
	"net/http"
	"time"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/elastigroup"
	"github.com/slipway-cd/slipway/pkg/task"
)

// The sections of a step's log.
const (
	fetchUnit    = "Fetch Files"
	prepareUnit  = "Prepare Rollback Data"
	deployUnit   = "Deploy"
	rollbackUnit = "Rollback"
	swapUnit     = "Swap Routes"
	shiftUnit    = "Traffic Shift"
	diffUnit     = "Diff"
)

// Config is what the executor needs.
type Config struct {
	Git      *gitfetch.Fetcher
	Accesses *aws.Accesses
	// Via is how Spot is reached; nil is a transport with net/http's defaults.
	Via http.RoundTripper
	// Pace is how often Spot is asked while something is waited for; nil:
	// awswait.Slow.
	Pace awswait.Pace
	// InstancePoll is how often what was deployed is looked at, see awswait.Watch.
	InstancePoll time.Duration
	// Patience is the shortest pause before a request is sent again; 0: a second.
	Patience time.Duration
}

// Kind does the tasks of the deployment type, and watches what they have put
// somewhere.
func Kind(cfg Config) executor.Kind {
	if cfg.Pace == nil {
		cfg.Pace = awswait.Slow()
	}
	if cfg.Patience == 0 {
		cfg.Patience = time.Second
	}
	do := func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		w, spec, err := executor.Work[lane.Spec](a)
		if err != nil {
			return task.Result{}, err
		}
		s := &session{
			client: newClient(spec.Target.Spot, cfg.Via, cfg.Patience), Config: cfg, work: w, spec: spec, Section: executor.Section{Env: env, Unit: fetchUnit},
		}
		return s.run(ctx)
	}
	return executor.Kind{Do: do, Watch: watcher(cfg)}
}

// session is one task.
type session struct {
	*client
	Config
	executor.Section
	work task.Work
	spec lane.Spec
	// outputs are those of the step, as far as it has come; touched are the ids of
	// the groups that it may have changed.
	outputs outputs
	touched []string
}

// run does the task.
func (s *session) run(ctx context.Context) (task.Result, error) {
	return s.Told(ctx, s.perform(ctx), s.describeChanges)
}

func (s *session) perform(ctx context.Context) error {
	switch s.spec.Op {
	case lane.OpSetup:
		return phased{s}.setUp(ctx)
	case lane.OpDiff, lane.OpStageDiff:
		return (&comparing{session: s}).compare(ctx)
	case lane.OpDeploy:
		return phased{s}.deploy(ctx)
	case lane.OpRollback:
		return s.rollBack(ctx)
	case lane.OpShiftRollback:
		return bluegreen{session: s}.shiftBack(ctx)
	case lane.OpStageSetup:
		return bluegreen{session: s}.setUp(ctx)
	case lane.OpSwapRoute:
		return bluegreen{session: s}.swap(ctx)
	case lane.OpTrafficShift:
		return bluegreen{session: s}.shift(ctx)
	}
	return fault.New(fault.Unsupported, "this delegate can't do %q for Elastigroups; it is older than the control plane", s.spec.Op)
}

// rollBack takes back what the stage has done, in whichever way.
func (s *session) rollBack(ctx context.Context) error {
	s.In(rollbackUnit)
	one, err := phased{s}.rollBack(ctx)
	if err != nil {
		return err
	}
	other, err := bluegreen{session: s}.rollBack(ctx)
	if err == nil && !one && !other {
		s.Say("Nothing to roll back: the stage changed nothing")
	}
	return err
}

func wrong(format string, args ...any) error {
	return fault.New(fault.Invalid, format, args...).Causing(fault.ConfigurationFailure)
}
