package look

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/gitops"
)

// TestRollout: what is told of one, and that it is another sum when something changes.
func TestRollout(t *testing.T) {
	t.Parallel()
	const canary = "{kind: Rollout, metadata: {name: web}, spec: {strategy: {canary: {steps: [{setWeight: 20}, {pause: {}}, {setWeight: 60}]}}}, status: "
	sums := map[string]string{}
	for text, want := range map[string]struct {
		strategy     string
		step, weight int64
	}{
		canary + "{currentStepIndex: 1}}":                                                 {"canary", 1, 20},
		canary + "{currentStepIndex: 2, canary: {weights: {canary: {weight: 55}}}}}":      {"canary", 2, 55},
		canary + "{currentStepIndex: 3}}":                                                 {"canary", 3, 60},
		"{kind: Rollout, metadata: {name: web}, spec: {strategy: {blueGreen: {}}}}":       {"blueGreen", 0, 0},
		"{kind: Rollout, metadata: {name: web}, spec: {workloadRef: {kind: Deployment}}}": {"", 0, 0},
	} {
		got, err := Rollout(decode(t, text), &gitops.HealthStatus{Status: gitops.Progressing})
		if err != nil || got.Strategy != want.strategy || got.Step != want.step || got.Weight != want.weight || got.Health.Status != gitops.Progressing {
			t.Errorf("%s is %+v, %v; want %+v", text, got, err, want)
		}
		if sums[got.Sum] != "" {
			t.Errorf("%s and %s have the same sum", text, sums[got.Sum])
		}
		sums[got.Sum] = text
	}
	if got, err := Rollout(decode(t, "{kind: Rollout}"), nil); err != nil || got.Health.Status != gitops.HealthUnknown {
		t.Errorf("without health it is %+v, %v", got, err)
	}
}
