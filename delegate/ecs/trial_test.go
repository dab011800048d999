package ecs_test

import (
	"context"
	"maps"
	"slices"
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
	change = append(slices.Clone(change), func(s *ecslane.Spec) {
		s.Target.AWS.BackOff = &task.AWSBackOff{Strategy: "FixedDelayBackoffStrategy", Retries: 5, Fixed: 1}
	})
	trial := testaws.Trial{
		Do: func(ctx context.Context, way testaws.Way) (task.Result, error) {
			return s.with(way.Add).Do(ctx, s.assignment(t, op, change...), s.env.Env)
		},
		Again:  func() { s.attempt++ },
		State:  state,
		Before: func() string { return definitionsAside(state()) },
		Hold:   s.Hold, Go: s.Go,
	}
	if undo != "" {
		trial.Undo = func() { s.succeeds(t, undo) }
	}
	return trial
}

// as is the stage with an image whose tasks have a fate, if there is one.
func (s *stage) as(fate string) *stage {
	s.image = strings.Replace(s.image, ":", ":"+fate, 1)
	return s
}

// strategies are the steps of each strategy, as they are tried: what is deployed has a
// fate, if there is one.
func strategies(fate string) map[string]func(t *testing.T) testaws.Fresh {
	return map[string]func(t *testing.T) testaws.Fresh{
		"rolling": func(t *testing.T) testaws.Fresh {
			t.Helper()
			return deployed(t).as(fate).tried(ecslane.OpRolling, ecslane.OpRollingRollback, withScaling)
		},
		"canary": func(t *testing.T) testaws.Fresh {
			t.Helper()
			return deployed(t).as(fate).tried(ecslane.OpCanary, ecslane.OpCanaryDelete)
		},
		"blue green, the service": func(t *testing.T) testaws.Fresh {
			t.Helper()
			f := third(t)
			f.stage.as(fate)
			return f.tried(ecslane.OpBlueGreenCreate, ecslane.OpBlueGreenRollback, f.swapped, withScaling)
		},
		"blue green, the swap": func(t *testing.T) testaws.Fresh {
			t.Helper()
			f := third(t)
			before := f.before(t)
			f.stage.succeeds(t, ecslane.OpBlueGreenCreate, f.swapped, withScaling)
			if diff := cmp.Diff(before, f.before(t)); diff != "" {
				t.Errorf("the new service has changed what was there (-want +got):\n%s", diff)
			}
			return f.tried(ecslane.OpBlueGreenSwap, ecslane.OpBlueGreenRollback, swapping)
		},
		"traffic shift": func(t *testing.T) testaws.Fresh {
			t.Helper()
			f := shared(t)
			f.next(t, "web:3").succeeds(t, ecslane.OpBlueGreenCreate, f.shifted, withScaling)
			return f.tried(ecslane.OpTrafficShift, ecslane.OpBlueGreenRollback, shift(100))
		},
		"phases, the service": func(t *testing.T) testaws.Fresh {
			t.Helper()
			return phasing(t, newStage(t)).tried(ecslane.OpSetup, ecslane.OpBasicRollback, setup(ecslane.ResizeNewFirst))
		},
		"phases, the tasks": func(t *testing.T) testaws.Fresh {
			t.Helper()
			s := phasing(t, newStage(t)).as(fate)
			before := definitionsAside(s.state(t))
			s.succeeds(t, ecslane.OpSetup, setup(ecslane.ResizeNewFirst))
			undone := func(t *testing.T, s *stage) string {
				t.Helper()
				return definitionsAside(without("web__2", s.state(t)))
			}
			if diff := cmp.Diff(before, undone(t, s)); diff != "" {
				t.Errorf("the new service has changed what was there (-want +got):\n%s", diff)
			}
			return func(t *testing.T) testaws.Trial {
				t.Helper()
				own := s.copy(t)
				trial := own.trial(t, ecslane.OpUpgrade, ecslane.OpBasicRollback, func() string { return own.state(t) }, upgrade(all(), nil))
				trial.Before = func() string { return undone(t, own) }
				return trial
			}
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

// tried is a step of a stage without a load balancer, in copies of its account.
func (s *stage) tried(op, undo ecslane.Op, change ...func(*ecslane.Spec)) testaws.Fresh {
	return func(t *testing.T) testaws.Trial {
		t.Helper()
		own := s.copy(t)
		return own.trial(t, op, undo, func() string { return own.state(t) }, change...)
	}
}

// tried is a step of the third stage behind one: the first service makes room.
func (f *front) tried(op, undo ecslane.Op, change ...func(*ecslane.Spec)) testaws.Fresh {
	return func(t *testing.T) testaws.Trial {
		t.Helper()
		own := f.copy(t)
		trial := own.stage.trial(t, op, undo, func() string { return own.state(t, "") }, change...)
		trial.Before = func() string { return own.before(t) }
		return trial
	}
}

// before is what there was before the third stage.
func (f *front) before(t *testing.T) string {
	t.Helper()
	return without("web__1", f.state(t, "web__3"))
}

// Each strategy, whatever comes between.
func TestEachStrategy(t *testing.T) {
	t.Parallel()
	testaws.Each(t, strategies(""), testaws.Try)
}

// Tasks that crash are what a circuit breaker is for; others fail their health checks,
// or find no room.
func TestTasksThatNeverServe(t *testing.T) {
	t.Parallel()
	for fate, steps := range map[string][]string{
		"crash-":   {"rolling", "canary", "blue green, the service", "phases, the tasks"},
		"sick-":    {"blue green, the service"},
		"noroom-v": {"rolling", "canary", "phases, the tasks"},
	} {
		ill := strategies(fate)
		maps.DeleteFunc(ill, func(name string, _ func(*testing.T) testaws.Fresh) bool { return !slices.Contains(steps, name) })
		t.Run(fate, func(t *testing.T) {
			t.Parallel()
			testaws.Each(t, ill, testaws.TryIll)
		})
	}
}

// Killed after every call that changes something, a step that is tried again comes to
// the same end, and a rollback to what was there before.
func TestKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	all := strategies("")
	maps.Copy(all, map[string]func(t *testing.T) testaws.Fresh{
		"the first deployment": func(t *testing.T) testaws.Fresh { // whose rollback leaves the service, without tasks
			t.Helper()
			return newStage(t).tried(ecslane.OpRolling, "", withScaling)
		},
		"an update by force": func(t *testing.T) testaws.Fresh {
			t.Helper()
			return deployed(t).tried(ecslane.OpRolling, ecslane.OpRollingRollback, func(s *ecslane.Spec) { s.Force = true })
		},
		"an update whose traffic ECS moves": func(t *testing.T) testaws.Fresh {
			t.Helper()
			s := newStage(t)
			s.service = strings.Replace(s.service, "deploymentConfiguration: {", "deploymentConfiguration: {strategy: BLUE_GREEN, bakeTimeInMinutes: 0, ", 1)
			s.succeeds(t, ecslane.OpRolling)
			return s.next(t, "web:2").tried(ecslane.OpRolling, ecslane.OpRollingRollback)
		},
		"scaling": func(t *testing.T) testaws.Fresh {
			t.Helper()
			return deployed(t).tried(ecslane.OpScale, "", func(s *ecslane.Spec) { n := 3; s.Scale = &ecslane.Scale{Service: "web", Count: &n} })
		},
		"a rollback": func(t *testing.T) testaws.Fresh {
			t.Helper()
			s := deployed(t)
			s.succeeds(t, ecslane.OpRolling)
			return s.tried(ecslane.OpRollingRollback, "")
		},
		"a rollback of the first": func(t *testing.T) testaws.Fresh {
			t.Helper()
			s := newStage(t)
			s.succeeds(t, ecslane.OpRolling, withScaling)
			return s.tried(ecslane.OpRollingRollback, "")
		},
		"the deletion of a canary": func(t *testing.T) testaws.Fresh {
			t.Helper()
			s := newStage(t)
			s.succeeds(t, ecslane.OpCanary)
			return s.tried(ecslane.OpCanaryDelete, "")
		},
		"a rollback of a swap": func(t *testing.T) testaws.Fresh {
			t.Helper()
			f := third(t)
			f.stage.succeeds(t, ecslane.OpBlueGreenCreate, f.swapped, withScaling)
			f.stage.succeeds(t, ecslane.OpBlueGreenSwap, swapping)
			return f.tried(ecslane.OpBlueGreenRollback, "")
		},
		"a rollback of shifts": func(t *testing.T) testaws.Fresh {
			t.Helper()
			f := shared(t)
			f.shifting(t, "web:3", f.B)
			return f.tried(ecslane.OpBlueGreenRollback, "")
		},
		"a rollback of phases": func(t *testing.T) testaws.Fresh {
			t.Helper()
			s := phasing(t, newStage(t))
			s.phases(t)
			return s.tried(ecslane.OpBasicRollback, "")
		},
	})
	testaws.Each(t, all, testaws.TryKilled)
}

// The same image and definitions once more: there are as many tasks of the same as
// before, and a rollback leads to those.
func TestNothingDiffers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		deploy func(t *testing.T, f *front)
		undo   ecslane.Op
		is     string
	}{
		"rolling": {func(t *testing.T, f *front) { t.Helper(); f.stage.succeeds(t, ecslane.OpRolling, withScaling) }, ecslane.OpRollingRollback, "web web:1 2 desired"},
		"canary":  {func(t *testing.T, f *front) { t.Helper(); f.stage.succeeds(t, ecslane.OpCanary) }, "", "webCanary web:1 1 desired"},
		"blue green": {func(t *testing.T, f *front) {
			t.Helper()
			f.stage.succeeds(t, ecslane.OpBlueGreenCreate, f.swapped)
			f.stage.succeeds(t, ecslane.OpBlueGreenSwap, swapping)
		}, ecslane.OpBlueGreenRollback, "web__2 web:1 2 desired BG_VERSION=BLUE"},
		"phases": {func(t *testing.T, f *front) { t.Helper(); f.stage.phases(t) }, ecslane.OpBasicRollback, "web__2 web:1 2 desired"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &front{nil, newStage(t)}
			if name == "blue green" {
				f = newFront(t, f.stage)
			}
			state := func() string {
				t.Helper()
				if f.Front == nil {
					return definitionsAside(f.stage.state(t))
				}
				return without("web__2", f.state(t, "web__3"))
			}
			tt.deploy(t, f)
			before := state()
			f.next(t, "web:1").execution = "another"
			tt.deploy(t, f)
			if got := f.stage.state(t); !strings.Contains(got, tt.is) {
				t.Errorf("there is\n%swant %q", got, tt.is)
			}
			if tt.undo == "" {
				return
			}
			f.stage.succeeds(t, tt.undo)
			if diff := cmp.Diff(before, state()); diff != "" {
				t.Errorf("taken back (-want +got):\n%s", diff)
			}
		})
	}
}
