package ecs_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testaws"
	ecslane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
	"github.com/slipway-cd/slipway/pkg/task"
)

// trial is a step of a stage whose rollback is another; empty: it has none.
func (s *stage) trial(t *testing.T, op, undo ecslane.Op, state func() string, change ...func(*ecslane.Spec)) testaws.Trial {
	t.Helper()
	change = append(change, func(s *ecslane.Spec) {
		s.Target.AWS.BackOff = &task.AWSBackOff{Strategy: "FixedDelayBackoffStrategy", Retries: 5, Fixed: 1}
	})
	trial := testaws.Trial{
		Do: func(ctx context.Context, way testaws.Way) (task.Result, error) {
			return s.with(way.Add).Do(ctx, s.assignment(t, op, change...), s.env.Env)
		},
		Again:  func() { s.attempt++ },
		State:  state,
		Before: func() string { return definitionsAside(state()) },
	}
	if undo != "" {
		trial.Undo = func() { s.succeeds(t, undo) }
	}
	return trial
}

// strategies are the steps of each strategy, as they are tried.
func strategies() map[string]func(t *testing.T) testaws.Trial {
	return map[string]func(t *testing.T) testaws.Trial{
		"rolling": func(t *testing.T) testaws.Trial {
			t.Helper()
			return deployed(t).tried(t, ecslane.OpRolling, ecslane.OpRollingRollback, withScaling)
		},
		"canary": func(t *testing.T) testaws.Trial {
			t.Helper()
			return deployed(t).tried(t, ecslane.OpCanary, ecslane.OpCanaryDelete)
		},
		"blue green, the service": func(t *testing.T) testaws.Trial {
			t.Helper()
			f := third(t)
			return f.tried(t, ecslane.OpBlueGreenCreate, ecslane.OpBlueGreenRollback, f.swapped, withScaling)
		},
		"blue green, the swap": func(t *testing.T) testaws.Trial {
			t.Helper()
			f := third(t)
			before := without("web__1", f.state(t, "web__3"))
			f.stage.succeeds(t, ecslane.OpBlueGreenCreate, f.swapped, withScaling)
			trial := f.tried(t, ecslane.OpBlueGreenSwap, ecslane.OpBlueGreenRollback, swapping)
			if diff := cmp.Diff(before, trial.Before()); diff != "" {
				t.Errorf("the new service has changed what was there (-want +got):\n%s", diff)
			}
			return trial
		},
		"traffic shift": func(t *testing.T) testaws.Trial {
			t.Helper()
			f := shared(t)
			f.next(t, "web:3").succeeds(t, ecslane.OpBlueGreenCreate, f.shifted, withScaling)
			return f.tried(t, ecslane.OpTrafficShift, ecslane.OpBlueGreenRollback, shift(100))
		},
		"phases, the service": func(t *testing.T) testaws.Trial {
			t.Helper()
			return phasing(t, newStage(t)).tried(t, ecslane.OpSetup, ecslane.OpBasicRollback, setup(ecslane.ResizeNewFirst))
		},
		"phases, the tasks": func(t *testing.T) testaws.Trial {
			t.Helper()
			s := phasing(t, newStage(t))
			before := definitionsAside(s.state(t))
			s.succeeds(t, ecslane.OpSetup, setup(ecslane.ResizeNewFirst))
			trial := s.tried(t, ecslane.OpUpgrade, ecslane.OpBasicRollback, upgrade(all(), nil))
			trial.Before = func() string { return definitionsAside(without("web__2", s.state(t))) }
			if diff := cmp.Diff(before, trial.Before()); diff != "" {
				t.Errorf("the new service has changed what was there (-want +got):\n%s", diff)
			}
			return trial
		},
	}
}

// deployed is a stage after one that has deployed.
func deployed(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.succeeds(t, ecslane.OpRolling, withScaling)
	return s.next(t, "web:2")
}

// third is a stage after two whole deployments of two colours.
func third(t *testing.T) *front {
	t.Helper()
	f := behind(t)
	f.next(t, "web:3")
	return f
}

// tried is a step of a stage without a load balancer.
func (s *stage) tried(t *testing.T, op, undo ecslane.Op, change ...func(*ecslane.Spec)) testaws.Trial {
	t.Helper()
	return s.trial(t, op, undo, func() string { return s.state(t) }, change...)
}

// tried is a step of the third stage behind one: the first service makes room.
func (f *front) tried(t *testing.T, op, undo ecslane.Op, change ...func(*ecslane.Spec)) testaws.Trial {
	t.Helper()
	trial := f.stage.trial(t, op, undo, func() string { return f.state(t, "") }, change...)
	trial.Before = func() string { return without("web__1", f.state(t, "web__3")) }
	return trial
}

// Each strategy, whatever comes between.
func TestEachStrategy(t *testing.T) {
	t.Parallel()
	testaws.Each(t, strategies(), testaws.Try)
}

// Killed after every call that changes something, a step that is tried again comes to
// the same end, and a rollback to what was there before.
func TestKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	all := strategies()
	maps.Copy(all, map[string]func(t *testing.T) testaws.Trial{
		"the first deployment": func(t *testing.T) testaws.Trial { // whose rollback leaves the service, without tasks
			t.Helper()
			return newStage(t).tried(t, ecslane.OpRolling, "", withScaling)
		},
		"an update by force": func(t *testing.T) testaws.Trial {
			t.Helper()
			return deployed(t).tried(t, ecslane.OpRolling, ecslane.OpRollingRollback, func(s *ecslane.Spec) { s.Force = true })
		},
		"an update whose traffic ECS moves": func(t *testing.T) testaws.Trial {
			t.Helper()
			s := newStage(t)
			s.service = strings.Replace(s.service, "deploymentConfiguration: {", "deploymentConfiguration: {strategy: BLUE_GREEN, bakeTimeInMinutes: 0, ", 1)
			s.succeeds(t, ecslane.OpRolling)
			return s.next(t, "web:2").tried(t, ecslane.OpRolling, ecslane.OpRollingRollback)
		},
		"a rollback": func(t *testing.T) testaws.Trial {
			t.Helper()
			s := deployed(t)
			s.succeeds(t, ecslane.OpRolling)
			return s.tried(t, ecslane.OpRollingRollback, "")
		},
		"a rollback of the first": func(t *testing.T) testaws.Trial {
			t.Helper()
			s := newStage(t)
			s.succeeds(t, ecslane.OpRolling, withScaling)
			return s.tried(t, ecslane.OpRollingRollback, "")
		},
		"the deletion of a canary": func(t *testing.T) testaws.Trial {
			t.Helper()
			s := newStage(t)
			s.succeeds(t, ecslane.OpCanary)
			return s.tried(t, ecslane.OpCanaryDelete, "")
		},
		"a rollback of a swap": func(t *testing.T) testaws.Trial {
			t.Helper()
			f := third(t)
			f.stage.succeeds(t, ecslane.OpBlueGreenCreate, f.swapped, withScaling)
			f.stage.succeeds(t, ecslane.OpBlueGreenSwap, swapping)
			return f.tried(t, ecslane.OpBlueGreenRollback, "")
		},
		"a rollback of shifts": func(t *testing.T) testaws.Trial {
			t.Helper()
			f := shared(t)
			f.shifting(t, "web:3", f.B)
			return f.tried(t, ecslane.OpBlueGreenRollback, "")
		},
		"a rollback of phases": func(t *testing.T) testaws.Trial {
			t.Helper()
			s := phasing(t, newStage(t))
			s.phases(t)
			return s.tried(t, ecslane.OpBasicRollback, "")
		},
	})
	testaws.Each(t, all, testaws.TryKilled)
}
