package elastigroup_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	spot "github.com/slipway-cd/slipway/pkg/swimlane/elastigroup"
	"github.com/slipway-cd/slipway/pkg/task"
)

// observed is what a watch reports first.
func observed(t *testing.T, s *stage, place spot.Place, workloads []task.Workload) task.Observed {
	t.Helper()
	doc, err := json.Marshal(place)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var got task.Observed
	_ = s.kind.Watch(ctx, task.Watch{Kind: spot.Kind, Place: doc, Workloads: workloads}, func(_ context.Context, o task.Observed) error {
		got = o
		stop()
		return nil
	})
	return got
}

// A watch sees which machines there are, what somebody has changed, and what
// Spot refuses.
func TestWatch(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.succeeds(t, spot.OpSetup)
	put := s.succeeds(t, spot.OpDeploy, percent(50)).Changes[0].Workloads
	if len(put) != 1 || *put[0].Replicas != 2 || put[0].Images[0] != "ami-1" {
		t.Fatalf("the workloads are %+v", put)
	}
	o := observed(t, s, spot.Place{Spot: account()}, put)
	if o.Trouble != "" || len(o.Instances) != 2 || *o.Workloads[0].Replicas != 2 || !o.Instances[0].Ready {
		t.Errorf("it observes %+v", o)
	}
	s.Change("web__1", map[string]any{"capacity": map[string]any{"target": 3.0}})
	if o := observed(t, s, spot.Place{Spot: account()}, put); len(o.Instances) != 3 || *o.Workloads[0].Replicas != 3 {
		t.Errorf("it observes %+v", o)
	}
	s.Change("web__1", map[string]any{"scaling": map[string]any{"up": []any{map[string]any{"policyName": "cpu"}}}})
	if o := observed(t, s, spot.Place{Spot: account()}, put); o.Workloads[0].Replicas != nil {
		t.Errorf("it observes %+v; want that nobody says how many", o)
	}
	wrong := account()
	wrong.Token = "expired"
	if o := observed(t, s, spot.Place{Spot: wrong}, put); o.Trouble == "" {
		t.Errorf("it observes %+v; want a trouble", o)
	}
	s.succeeds(t, spot.OpRollback)
	if o := observed(t, s, spot.Place{Spot: account()}, put); !o.Workloads[0].Gone || len(o.Instances) != 0 {
		t.Errorf("it observes %+v; want that it is gone", o)
	}
}
