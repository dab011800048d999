// Package cloudformation works on stacks of AWS CloudFormation: it makes and
// updates them, tells what CloudFormation tells of that, deletes them, and takes
// back what an execution has done.
//
// Where a stack's texts are is said by pkg/provisioner/cloudformation, and how
// they are fetched by delegate/awsdoc.
package cloudformation

import (
	"context"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awsstack"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
	steps "github.com/slipway-cd/slipway/pkg/provisioner/cloudformation"
	"github.com/slipway-cd/slipway/pkg/task"
)

// The command units of the log.
const (
	unitFetch     = "Fetch Files"
	unitChangeSet = "Create Change Set"
	unitCreate    = "Create Stack"
	unitDiff      = "Compare Stack"
	unitDelete    = "Delete Stack"
	unitRollback  = "Rollback Stack"
)

// Config is what the tasks need.
type Config struct {
	Git      *gitfetch.Fetcher
	Accesses *aws.Accesses
	// Pace is how often a stack that changes is looked at; nil: awswait.Stack.
	Pace awswait.Pace
	// Bucket is where templates are put for the time of a task that are too large to
	// come with a request; empty: nowhere, and they are refused.
	Bucket string
}

// New makes the executor of tasks on stacks.
func New(cfg Config) executor.Executor {
	if cfg.Pace == nil {
		cfg.Pace = awswait.Stack()
	}
	return func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		w, p, err := executor.Work[steps.Spec](a)
		if err != nil {
			return task.Result{}, err
		}
		access, err := cfg.Accesses.Get(ctx, p.AWS, w.Execution)
		if err != nil {
			return task.Result{}, err
		}
		s := &session{cfg: cfg, task: a, work: w, spec: p, Section: executor.Section{Env: env}, access: access, stacks: awsstack.In(access, cfg.Pace)}
		r, err := s.run(ctx)
		s.clear()
		return s.Ended(ctx, r, err)
	}
}

// session is one task.
type session struct {
	executor.Section
	cfg    Config
	task   task.Assignment
	work   task.Work
	spec   steps.Spec
	access *aws.Access
	stacks awsstack.Stacks
	unput  func() error // removes what the task has put into the bucket; nil: nothing
}

func (s *session) run(ctx context.Context) (task.Result, error) {
	if err := awsstack.Turn(ctx, &s.Section, s.work.Provisioner, s.cfg.Pace); err != nil {
		return task.Result{}, err
	}
	switch s.spec.Op {
	case steps.OpChangeSet:
		return s.propose(ctx)
	case steps.OpCreate:
		return s.create(ctx)
	case steps.OpDiff:
		return s.compare(ctx)
	case steps.OpRollback:
		s.Unit = unitRollback
		return s.rollback(ctx)
	case steps.OpDelete:
		s.Unit = unitDelete
		return s.delete(ctx)
	}
	return task.Result{}, fault.New(fault.Unsupported, "this delegate doesn't know the operation %q of CloudFormation", s.spec.Op)
}

// wrong is an error of what a user has written.
func wrong(format string, args ...any) error {
	return fault.New(fault.Invalid, format, args...).Causing(fault.ConfigurationFailure)
}
