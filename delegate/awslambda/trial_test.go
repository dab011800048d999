package awslambda_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	smithymiddleware "github.com/aws/smithy-go/middleware"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awslambda"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/internal/testaws"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awslambda"
	"github.com/slipway-cd/slipway/pkg/task"
)

// serves is what callers of the alias and of $LATEST get: by its content, because a
// rollback may publish that once more.
func (a *account) serves() string {
	a.t.Helper()
	live, latest := a.function("live"), a.function("")
	return fmt.Sprintln(a.alias("live"), sdk.ToString(live.CodeSha256), sdk.ToInt32(live.Timeout), sdk.ToString(latest.CodeSha256), sdk.ToInt32(latest.Timeout))
}

// trial is a step of a stage that was before.
func (s *stage) trial(was string, op, undo lane.Op, percent int) testaws.Trial {
	plain := s.kind
	s.spec.Target.AWS.BackOff = &task.AWSBackOff{Strategy: "FixedDelayBackoffStrategy", Retries: 5, Fixed: 1}
	return testaws.Trial{
		Do: func(ctx context.Context, way testaws.Way) (task.Result, error) {
			s.kind = awslambda.Kind(awslambda.Config{Pace: awswait.Every(20 * time.Millisecond), Accesses: &aws.Accesses{Options: []func(*config.LoadOptions) error{
				config.WithBaseEndpoint(s.Endpoint), config.WithAPIOptions([]func(*smithymiddleware.Stack) error{way.Add}),
			}}})
			defer func() { s.kind = plain }()
			return s.try(ctx, op, percent)
		},
		Again:  func() { s.attempt++ },
		Undo:   func() { s.good(undo, 0) },
		State:  func() string { return s.versions() + " " + s.serves() },
		Before: s.serves, Was: was,
		Hold: s.Hold, Go: s.Go,
	}
}

// strategies are the steps of each strategy, as they are tried, with code of a name.
func strategies(code string) map[string]testaws.Fresh {
	second := func(t *testing.T) *stage {
		t.Helper()
		a := newAccount(t)
		a.stage("e1", "web-1.zip").good(lane.OpDeploy, 0)
		return a.stage("e2", code).defined(definition + "timeout: 9\n")
	}
	shift := func(percent int) testaws.Fresh {
		return func(t *testing.T) testaws.Trial {
			t.Helper()
			s := second(t)
			was := s.serves()
			s.good(lane.OpCanary, 0)
			return s.trial(was, lane.OpShift, lane.OpCanaryRollback, percent)
		}
	}
	return map[string]testaws.Fresh{
		"at once": func(t *testing.T) testaws.Trial {
			t.Helper()
			return second(t).trial("", lane.OpDeploy, lane.OpRollback, 0)
		},
		"canary, the version": func(t *testing.T) testaws.Trial {
			t.Helper()
			return second(t).trial("", lane.OpCanary, lane.OpCanaryRollback, 0)
		},
		"canary, some of the traffic": shift(40),
		"canary, all of the traffic":  shift(100),
	}
}

// Each strategy, whatever comes between.
func TestEachStrategy(t *testing.T) {
	t.Parallel()
	for name, fresh := range strategies("web-2.zip") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testaws.Try(t, fresh)
		})
	}
}

// Code that Lambda can't use gets no traffic.
func TestCodeThatNeverServes(t *testing.T) {
	t.Parallel()
	ill := strategies("crash-2.zip")
	for _, name := range []string{"at once", "canary, the version"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testaws.TryIll(t, ill[name])
		})
	}
}

// The same code and configuration once more publish no other version, and a rollback of
// that leaves what there was.
func TestNothingDiffers(t *testing.T) {
	t.Parallel()
	for op, undo := range map[lane.Op]lane.Op{lane.OpDeploy: lane.OpRollback, lane.OpCanary: lane.OpCanaryRollback} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			a := newAccount(t)
			a.stage("e1", "web-1.zip").good(lane.OpDeploy, 0)
			before := a.serves()
			s := a.stage("e2", "web-1.zip")
			s.good(op, 0)
			a.want("1", "1")
			s.good(undo, 0)
			if got := a.serves(); got != before {
				t.Errorf("taken back it serves %s; want %s", got, before)
			}
		})
	}
}
