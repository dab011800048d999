package elastigroup_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"
	smithymiddleware "github.com/aws/smithy-go/middleware"

	"github.com/slipway-cd/slipway/internal/testaws"
	spot "github.com/slipway-cd/slipway/pkg/swimlane/elastigroup"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Each strategy, whatever comes between.
func TestEachStrategy(t *testing.T) {
	t.Parallel()
	phases := func(t *testing.T, s *stage, was []string, op spot.Op, change ...func(*spot.Spec)) testaws.Trial {
		t.Helper()
		state := func() string { return strings.Join(s.Groups(), "\n") }
		return testaws.Trial{
			Do: func(ctx context.Context, way testaws.Way) (task.Result, error) {
				return with(way.Via(s.via(), operation)).Do(ctx, s.assignment(t, op, change...), s.env.Env)
			},
			Again: func() { s.attempt++ }, Undo: func() { s.succeeds(t, spot.OpRollback) }, State: state, Before: state, Was: strings.Join(was, "\n"),
			Hold: func() { s.Hold(true) }, Go: func() { s.Hold(false) },
		}
	}
	colours := func(t *testing.T, f *fronted, was string, op spot.Op, change ...func(*spot.Spec)) testaws.Trial {
		t.Helper()
		return testaws.Trial{
			Do: func(ctx context.Context, way testaws.Way) (task.Result, error) {
				kind := with(way.Via(f.via(), operation), config.WithBaseEndpoint(f.world.Endpoint), config.WithAPIOptions([]func(*smithymiddleware.Stack) error{way.Add}))
				return kind.Do(ctx, f.assignment(t, op, change...), f.env.Env)
			},
			Again: func() { f.attempt++ }, Undo: func() { f.succeeds(t, spot.OpRollback, f.swaps) }, State: f.state, Before: f.state, Was: was,
			Hold: func() { f.Hold(true) }, Go: func() { f.Hold(false) },
		}
	}
	for name, fresh := range map[string]testaws.Fresh{
		"phases, the group": func(t *testing.T) testaws.Trial {
			t.Helper()
			s := deployed(t).next(t, "ami-2")
			return phases(t, s, s.Groups(), spot.OpSetup)
		},
		"phases, the machines": func(t *testing.T) testaws.Trial {
			t.Helper()
			s := deployed(t).next(t, "ami-2")
			was := s.Groups()
			s.succeeds(t, spot.OpSetup)
			return phases(t, s, was, spot.OpDeploy, percent(100))
		},
		"colours, the group": func(t *testing.T) testaws.Trial {
			t.Helper()
			f := newFronted(t).swap(t).next(t, "ami-2")
			return colours(t, f, f.state(), spot.OpStageSetup, f.swaps)
		},
		"colours, the swap": func(t *testing.T) testaws.Trial {
			t.Helper()
			f := newFronted(t).swap(t).next(t, "ami-2")
			was := f.state()
			f.succeeds(t, spot.OpStageSetup, f.swaps)
			return colours(t, f, was, spot.OpSwapRoute, f.swaps)
		},
		"colours, the shift": func(t *testing.T) testaws.Trial {
			t.Helper()
			f := newFronted(t)
			was := f.state()
			f.succeeds(t, spot.OpStageSetup, f.shares)
			return colours(t, f, was, spot.OpTrafficShift, f.shares, weight(100))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testaws.Try(t, fresh)
		})
	}
}

// The same image and configuration once more: another group of the same takes the place
// of the one before, and a rollback leads to that.
func TestNothingDiffers(t *testing.T) {
	t.Parallel()
	s := deployed(t)
	before := s.Groups()
	s = s.next(t, s.image)
	s.execution = "another"
	s.succeeds(t, spot.OpSetup)
	s.succeeds(t, spot.OpDeploy, percent(100))
	s.are(t, "web__1: 0 to 4, 0 desired of ami-1, 0 there", "web__2: 1 to 4, 4 desired of ami-1, 4 there")
	s.succeeds(t, spot.OpRollback)
	s.are(t, before...)
}

// Colours whose machines never serve are taken back.
func TestColoursThatNeverServe(t *testing.T) {
	t.Parallel()
	f := newFronted(t).swap(t).next(t, "ami-crash")
	testaws.TryIll(t, func(t *testing.T) testaws.Trial {
		t.Helper()
		return testaws.Trial{
			Do: func(ctx context.Context, _ testaws.Way) (task.Result, error) {
				return f.through(nil).Do(ctx, f.assignment(t, spot.OpStageSetup, f.swaps), f.env.Env)
			},
			Undo: func() { f.succeeds(t, spot.OpRollback, f.swaps) }, Before: f.state,
		}
	})
}
