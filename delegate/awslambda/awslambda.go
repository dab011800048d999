// Package awslambda deploys functions of AWS Lambda: it makes and updates them,
// publishes versions, points aliases to them, and goes back to what a stage has
// found before its first change.
//
// Which documents a function is made of is said by pkg/swimlane/awslambda, and
// how they are read by delegate/awsdoc.
package awslambda

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awslambda"
	"github.com/slipway-cd/slipway/pkg/task"
)

// The command units of the log.
const (
	unitFetch    = "Fetch Manifests"
	unitPrepare  = "Prepare Rollback Data"
	unitDeploy   = "Deploy"
	unitTraffic  = "Traffic Shift"
	unitRollback = "Rollback"
	unitDiff     = "Diff"
)

// Config is what the executor needs.
type Config struct {
	Git       *gitfetch.Fetcher
	Accesses  *aws.Accesses
	Transport http.RoundTripper // to Artifactory and Nexus; nil: net/http's
	// Pace is how often a function that changes is looked at; nil:
	// awswait.Function.
	Pace awswait.Pace
	// InstancePoll is how often what was deployed is looked at, see awswait.Watch.
	InstancePoll time.Duration
}

// Kind does the tasks of the deployment type, and watches what they have put
// somewhere.
func Kind(cfg Config) executor.Kind {
	if cfg.Pace == nil {
		cfg.Pace = awswait.Function()
	}
	do := func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		w, p, err := executor.Work[lane.Spec](a)
		if err != nil {
			return task.Result{}, err
		}
		access, err := cfg.Accesses.Get(ctx, p.Target.AWS, w.Execution)
		if err != nil {
			return task.Result{}, err
		}
		s := &session{
			cfg: cfg, work: w, spec: p, Section: executor.Section{Env: env, Unit: unitPrepare}, access: access, client: lambda.NewFromConfig(access.Config), http: http.DefaultClient,
		}
		r, err := s.run(ctx)
		return s.Ended(ctx, r, err)
	}
	return executor.Kind{Do: do, Watch: watcher(cfg.Accesses, cfg.InstancePoll)}
}

// session is one task.
type session struct {
	executor.Section
	cfg    Config
	work   task.Work
	spec   lane.Spec
	access *aws.Access
	client *lambda.Client
	http   *http.Client // downloads the code of versions
}

func (s *session) run(ctx context.Context) (task.Result, error) {
	switch s.spec.Op {
	case lane.OpDeploy, lane.OpCanary:
		return s.deploy(ctx)
	case lane.OpDiff:
		return s.compare(ctx)
	case lane.OpShift:
		return s.shift(ctx)
	case lane.OpRollback, lane.OpCanaryRollback:
		return s.rollback(ctx)
	}
	return task.Result{}, fault.New(fault.Unsupported, "this delegate doesn't know the operation %q of Lambda", s.spec.Op)
}

// failed is the error of a call of Lambda.
func (s *session) failed(ctx context.Context, operation string, err error) error {
	return s.access.Failed(ctx, "lambda:"+operation, err)
}

// wrong is an error of what a user has written.
func wrong(format string, args ...any) error {
	return fault.New(fault.Invalid, format, args...).Causing(fault.ConfigurationFailure)
}

const notFound = "ResourceNotFoundException"
