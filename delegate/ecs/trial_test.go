package ecs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	smithymiddleware "github.com/aws/smithy-go/middleware"

	"github.com/slipway-cd/slipway/internal/testaws"
	awslane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
	ecslane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
	"github.com/slipway-cd/slipway/pkg/task"
)

// trial is a step of a stage whose rollback is another.
func (s *stage) trial(t *testing.T, op, undo ecslane.Op, state func() string, change ...func(*ecslane.Spec)) testaws.Trial {
	t.Helper()
	change = append(change, func(s *ecslane.Spec) {
		s.Target.AWS.BackOff = &task.AWSBackOff{Strategy: "FixedDelayBackoffStrategy", Retries: 5, Fixed: 1}
	})
	return testaws.Trial{
		Do: func(ctx context.Context, add func(*smithymiddleware.Stack) error) (task.Result, error) {
			return s.with(add).Do(ctx, s.assignment(t, op, change...), s.env.Env)
		},
		Undo:  func() { s.succeeds(t, undo) },
		State: state,
		Before: func() string {
			return definitionsAside(strings.ReplaceAll(state(), "web__1 web:1 0 desired GREEN 0 scalable targets\n", "web__1 isn't there\n")) // which makes room
		},
	}
}

// Each strategy, whatever comes between.
func TestEachStrategy(t *testing.T) {
	t.Parallel()
	deployed := func(t *testing.T) *stage {
		t.Helper()
		s := newStage(t)
		s.succeeds(t, ecslane.OpRolling, withScaling)
		return s.next(t, "web:2")
	}
	behind := func(t *testing.T) *front { // two whole deployments, and a third begins
		t.Helper()
		f := newFront(t, newStage(t))
		f.bluegreen(t, "web:1")
		f.bluegreen(t, "web:2")
		f.next(t, "web:3")
		return f
	}
	phases := func(t *testing.T) *stage {
		t.Helper()
		s := newStage(t)
		s.succeeds(t, ecslane.OpSetup, setup(ecslane.ResizeNewFirst))
		s.succeeds(t, ecslane.OpUpgrade, upgrade(ecslane.Amount{Value: 100, Percent: true}, nil))
		return s.next(t, "web:2")
	}
	counted := func(t *testing.T, s *stage) func() string {
		t.Helper()
		return func() string { return s.counts(t, "web__1", "web__2") + fmt.Sprint(s.scales(t)) }
	}
	for name, fresh := range map[string]func(t *testing.T) testaws.Trial{
		"rolling": func(t *testing.T) testaws.Trial {
			t.Helper()
			s := deployed(t)
			return s.trial(t, ecslane.OpRolling, ecslane.OpRollingRollback, func() string { return s.state(t) }, withScaling)
		},
		"canary": func(t *testing.T) testaws.Trial {
			t.Helper()
			s := deployed(t)
			return s.trial(t, ecslane.OpCanary, ecslane.OpCanaryDelete, func() string { return s.state(t) })
		},
		"blue green, the service": func(t *testing.T) testaws.Trial {
			t.Helper()
			f := behind(t)
			return f.stage.trial(t, ecslane.OpBlueGreenCreate, ecslane.OpBlueGreenRollback, func() string { return f.state(t, "web__3") }, f.swapped, withScaling)
		},
		"blue green, the swap": func(t *testing.T) testaws.Trial {
			t.Helper()
			f := behind(t)
			before := f.state(t, "web__3")
			f.stage.succeeds(t, ecslane.OpBlueGreenCreate, f.swapped, withScaling)
			trial := f.stage.trial(t, ecslane.OpBlueGreenSwap, ecslane.OpBlueGreenRollback, func() string { return f.state(t, "web__3") }, swapping)
			if got := trial.Before(); got != strings.ReplaceAll(before, "web__1 web:1 0 desired GREEN 0 scalable targets\n", "web__1 isn't there\n") {
				t.Errorf("the new service has changed what was there to\n%s", got)
			}
			return trial
		},
		"traffic shift": func(t *testing.T) testaws.Trial {
			t.Helper()
			f := newFront(t, newStage(t))
			f.Set(f.Rules[0], f.Both(100, 0))
			f.next(t, "web:1").succeeds(t, ecslane.OpBlueGreenCreate, f.shifted)
			all := 100
			return f.stage.trial(t, ecslane.OpTrafficShift, ecslane.OpBlueGreenRollback, func() string { return "traffic to " + f.Traffic(f.Rules[0]) },
				func(s *ecslane.Spec) { s.Shift = &awslane.Shift{Percentage: &all} })
		},
		"phases, the service": func(t *testing.T) testaws.Trial {
			t.Helper()
			s := phases(t)
			return s.trial(t, ecslane.OpSetup, ecslane.OpBasicRollback, counted(t, s), setup(ecslane.ResizeNewFirst))
		},
		"phases, the tasks": func(t *testing.T) testaws.Trial {
			t.Helper()
			s := phases(t)
			s.succeeds(t, ecslane.OpSetup, setup(ecslane.ResizeNewFirst))
			trial := s.trial(t, ecslane.OpUpgrade, ecslane.OpBasicRollback, counted(t, s), upgrade(ecslane.Amount{Value: 100, Percent: true}, nil))
			trial.Before = func() string { return strings.ReplaceAll(counted(t, s)(), "web__2=0", "web__2=-1") }
			return trial
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testaws.Try(t, fresh)
		})
	}
}
