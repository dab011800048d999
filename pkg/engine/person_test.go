package engine

import (
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// What waits for a person looks now and then whether it was answered without
// being woken: soon enough, and seldom enough for the longest wait.
func TestWaitsForPeopleLookNowAndThen(t *testing.T) {
	t.Parallel()
	then := act(plan.MarkAsFailure)
	intervene := plan.Action{Type: plan.ManualIntervention, Timeout: 840 * time.Hour, Then: &then}
	for _, tt := range []struct {
		name   string
		step   *plan.Node
		script any
		want   plan.Wait
	}{
		{"an approval", st("a", timeout("840h")), asks(plan.Approval{Minimum: 1}), plan.WaitWork},
		{"an intervention", st("a", level(on(intervene))), fails{fault.Unknown}, plan.WaitIntervention},
		{"inputs", st("a", timeout("840h"), asking(plan.AsksNeeded)), true, plan.WaitInput},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSim(t, pipeline(stage("s", tt.step)))
			s.script["a"] = []any{tt.script}
			s.advance("p", 0, At{})
			d, began, looks := s.advance("p.s", 0, At{}), s.now, 0
			s.await(d) // the approval is asked for, or the attempt fails
			for d = s.advance("p.s", 0, d.At); d.Do == DoAwait; d = s.advance("p.s", 0, d.At) {
				if waited := s.now.Sub(began); d.At.Wait != tt.want || d.Wake > max(time.Hour, waited/4) {
					t.Fatalf("after %s it waits %s for %q", waited, d.Wake, d.At.Wait)
				}
				s.await(d)
				looks++
			}
			if waited := s.now.Sub(began); looks < 20 || looks >= 30 || waited != 840*time.Hour {
				t.Errorf("it looked %d times in %s; want less than 30 times in 35 days", looks, waited)
			}
		})
	}
}
