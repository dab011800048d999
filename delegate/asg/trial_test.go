package asg_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testaws"
	asglane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
	awslane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/task"
)

// trial is a step of a stage whose rollback is another; empty: it has none.
func (s *stage) trial(t *testing.T, op, undo asglane.Op, state func(*testing.T) string, change ...func(*asglane.Spec)) testaws.Trial {
	t.Helper()
	change = append(slices.Clone(change), func(s *asglane.Spec) {
		s.Target.AWS.BackOff = &task.AWSBackOff{Strategy: "FixedDelayBackoffStrategy", Retries: 5, Fixed: 1}
	})
	trial := testaws.Trial{
		Do: func(ctx context.Context, way testaws.Way) (task.Result, error) {
			return s.through(way.Add).Do(ctx, s.assignment(t, op, change...), s.env.Env)
		},
		Again:  func() { s.attempt++ },
		State:  func() string { return state(t) },
		Before: func() string { return versionsAside(state(t)) },
		Hold:   s.Hold, Go: s.Go,
	}
	if undo != "" {
		trial.Undo = func() { s.succeeds(t, undo) }
	}
	return trial
}

// tried is a step of a stage without a load balancer, in copies of its account, and
// what there was before the stage.
func (s *stage) tried(was string, op, undo asglane.Op, change ...func(*asglane.Spec)) testaws.Fresh {
	return func(t *testing.T) testaws.Trial {
		t.Helper()
		own := s.copy(t)
		trial := own.trial(t, op, undo, own.state, change...)
		trial.Was = was
		return trial
	}
}

// deployed is a stage after one that has deployed.
func deployed(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.succeeds(t, asglane.OpRolling, around)
	return s.next(t, "web-2")
}

// another is how a stage changes all that is around a group.
func another(s *asglane.Spec) {
	s.Target.Policies = append(s.Target.Policies, *manifest("AsgScalingPolicy", strings.Replace(policyCPU, "cpu", "load", 1)))
	s.Target.Additional = manifest("AsgAdditionalConfiguration", "metrics: {enableMetrics: false}\n")
	s.Size = &awslane.Size{Min: 1, Max: 5, Desired: 3}
}

// behindOne is a stage whose groups are behind a load balancer, after some
// deployments to them.
func behindOne(t *testing.T, images ...string) *front {
	t.Helper()
	f := newFront(t)
	for _, image := range images {
		f.bluegreen(t, image)
	}
	f.next(t, "web-9")
	return f
}

// sharing is the second stage whose groups share a rule, by weights.
func sharing(t *testing.T) *front {
	t.Helper()
	f := newFront(t)
	f.Set(f.Rules[0], f.Both(100, 0))
	f.next(t, "web-1").succeeds(t, asglane.OpBlueGreen, behind(shared(f.Front)), around)
	f.next(t, "web-2")
	return f
}

// tried is a step of a stage behind a load balancer, likewise.
func (f *front) tried(was string, op, undo asglane.Op, change ...func(*asglane.Spec)) testaws.Fresh {
	return func(t *testing.T) testaws.Trial {
		t.Helper()
		own := f.copy(t)
		trial := own.stage.trial(t, op, undo, own.state, change...)
		trial.Was = was
		return trial
	}
}

// as is the stage with an image whose machines have a fate, if there is one.
func (s *stage) as(t *testing.T, fate string) *stage {
	t.Helper()
	s.image = fate + s.image
	s.imageOf(t, s.image)
	return s
}

// strategies are the steps of each strategy, as they are tried: what is deployed has a
// fate, if there is one.
func strategies(fate string) map[string]func(t *testing.T) testaws.Fresh {
	return map[string]func(t *testing.T) testaws.Fresh{
		"rolling": func(t *testing.T) testaws.Fresh {
			t.Helper()
			s := deployed(t).as(t, fate)
			return s.tried("", asglane.OpRolling, asglane.OpRollingRollback, another)
		},
		"canary": func(t *testing.T) testaws.Fresh {
			t.Helper()
			s := deployed(t).as(t, fate)
			return s.tried("", asglane.OpCanary, asglane.OpCanaryDelete, count(1))
		},
		"blue green, the group": func(t *testing.T) testaws.Fresh {
			t.Helper()
			f := behindOne(t, "web-1", "web-2")
			f.stage.as(t, fate)
			return f.tried("", asglane.OpBlueGreen, asglane.OpBlueGreenRollback, behind(swapped(f.Front)), around)
		},
		"blue green, the swap": func(t *testing.T) testaws.Fresh {
			t.Helper()
			f := behindOne(t, "web-1")
			before := versionsAside(f.state(t))
			f.stage.succeeds(t, asglane.OpBlueGreen, behind(swapped(f.Front)), around)
			return f.tried(before, asglane.OpBlueGreenSwap, asglane.OpBlueGreenRollback, moving(100, true))
		},
		"traffic shift": func(t *testing.T) testaws.Fresh {
			t.Helper()
			f := sharing(t)
			before := versionsAside(f.state(t))
			f.stage.succeeds(t, asglane.OpBlueGreen, behind(shared(f.Front)), around)
			return f.tried(before, asglane.OpShiftTraffic, asglane.OpBlueGreenRollback, moving(100, true))
		},
		"phases, the group": func(t *testing.T) testaws.Fresh {
			t.Helper()
			s := phasing(t).as(t, fate)
			return s.tried("", asglane.OpSetup, asglane.OpPhasedRollback, setUp(asglane.ResizeNewFirst, two()), around)
		},
		"phases, the machines": func(t *testing.T) testaws.Fresh {
			t.Helper()
			s := phasing(t).as(t, fate)
			before := versionsAside(s.state(t))
			s.succeeds(t, asglane.OpSetup, setUp(asglane.ResizeNewFirst, two()), around)
			return s.tried(before, asglane.OpPhased, asglane.OpPhasedRollback, percent(100), around)
		},
	}
}

// Each strategy, whatever comes between.
func TestEachStrategy(t *testing.T) {
	t.Parallel()
	testaws.Each(t, strategies(""), testaws.Try)
}

// Machines that get unhealthy end an instance refresh; for others there is no room.
func TestMachinesThatNeverServe(t *testing.T) {
	t.Parallel()
	for fate, steps := range map[string][]string{
		"crash-":  {"rolling"},
		"noroom-": {"rolling", "canary", "blue green, the group", "phases, the machines"},
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
		"the first deployment": func(t *testing.T) testaws.Fresh {
			t.Helper()
			s := newStage(t)
			return s.tried("", asglane.OpRolling, asglane.OpRollingRollback, around)
		},
		"a second group": func(t *testing.T) testaws.Fresh {
			t.Helper()
			f := behindOne(t, "web-1")
			return f.tried("", asglane.OpBlueGreen, asglane.OpBlueGreenRollback, behind(swapped(f.Front)), around)
		},
		"scaling": func(t *testing.T) testaws.Fresh {
			t.Helper()
			s := deployed(t)
			return s.tried("", asglane.OpScale, "", count(3))
		},
		"a rollback": func(t *testing.T) testaws.Fresh {
			t.Helper()
			s := deployed(t)
			s.succeeds(t, asglane.OpRolling, another)
			return s.tried("", asglane.OpRollingRollback, "")
		},
		"a rollback of the first": func(t *testing.T) testaws.Fresh {
			t.Helper()
			s := newStage(t)
			s.succeeds(t, asglane.OpRolling)
			return s.tried("", asglane.OpRollingRollback, "")
		},
		"the deletion of a canary": func(t *testing.T) testaws.Fresh {
			t.Helper()
			s := newStage(t)
			s.succeeds(t, asglane.OpCanary, count(1))
			return s.tried("", asglane.OpCanaryDelete, "")
		},
		"a rollback of a swap": func(t *testing.T) testaws.Fresh {
			t.Helper()
			f := behindOne(t, "web-1", "web-2")
			f.bluegreen(t, "web-3")
			return f.tried("", asglane.OpBlueGreenRollback, "")
		},
		"a rollback of phases": func(t *testing.T) testaws.Fresh {
			t.Helper()
			s := phasing(t)
			s.phases(t)
			return s.tried("", asglane.OpPhasedRollback, "")
		},
	})
	testaws.Each(t, all, testaws.TryKilled)
}

// The same image, template and sizes once more: there are as many machines of the same
// as before, of a version of its own, so that a rollback leads to the one before.
func TestNothingDiffers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first, again func(t *testing.T, f *front)
		undo         asglane.Op
		was, is      string // version by version
	}{
		"rolling": {
			func(t *testing.T, f *front) { t.Helper(); f.stage.succeeds(t, asglane.OpRolling, around) },
			func(t *testing.T, f *front) { t.Helper(); f.stage.succeeds(t, asglane.OpRolling, around) },
			asglane.OpRollingRollback, "web version 1, 1 to 4, 2 desired: 1 1", "web version 2, 1 to 4, 2 desired: 2 2",
		},
		"canary": {
			func(t *testing.T, f *front) { t.Helper(); f.stage.succeeds(t, asglane.OpCanary, count(1)) },
			func(t *testing.T, f *front) { t.Helper(); f.stage.succeeds(t, asglane.OpCanary, count(1)) },
			"", "web__Canary version 1, 1 to 1, 1 desired: 1", "web__Canary version 2, 1 to 1, 1 desired: 2",
		},
		"blue green": {
			func(t *testing.T, f *front) { t.Helper(); f.bluegreen(t, "web-1") },
			func(t *testing.T, f *front) {
				t.Helper()
				f.stage.succeeds(t, asglane.OpBlueGreen, behind(swapped(f.Front)), around)
				f.stage.succeeds(t, asglane.OpBlueGreenSwap, moving(100, true))
			},
			asglane.OpBlueGreenRollback, "traffic to a and b", "traffic to b and a",
		},
		"phases": {
			func(t *testing.T, f *front) { t.Helper(); f.stage.phases(t) },
			func(t *testing.T, f *front) { t.Helper(); f.stage.phases(t) },
			asglane.OpPhasedRollback, "web__1 version 1, 1 to 4, 2 desired: 1 1", "web__2 version 1, 1 to 4, 2 desired: 1 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFront(t)
			tt.first(t, f)
			before := f.state(t)
			f.next(t, "web-1").execution = "another"
			tt.again(t, f)
			after := f.state(t)
			if !strings.Contains(before, tt.was) || !strings.Contains(after, tt.is) {
				t.Errorf("there was\n%sand is\n%swant %q and %q", before, after, tt.was, tt.is)
			}
			if tt.undo == "" {
				return
			}
			f.stage.succeeds(t, tt.undo)
			if diff := cmp.Diff(versionsAside(before), versionsAside(f.state(t))); diff != "" {
				t.Errorf("taken back (-want +got):\n%s", diff)
			}
		})
	}
}
