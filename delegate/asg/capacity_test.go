package asg

import (
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
)

// A mixed instances policy may give weights to machines: then a group has what it desires
// with fewer of them.
func TestWeightsOfMachines(t *testing.T) {
	t.Parallel()
	machine := func(id, weight string, state types.LifecycleState) types.Instance {
		i := types.Instance{InstanceId: &id, LifecycleState: state, HealthStatus: sdk.String("Healthy"), LaunchTemplate: version{ID: "lt-1", Number: "2"}.reference()}
		if weight != "" {
			i.WeightedCapacity = &weight
		}
		return i
	}
	for name, c := range map[string]struct {
		machines []types.Instance
		has      int
		steady   bool
	}{
		"two of four":     {[]types.Instance{machine("a", "4", types.LifecycleStateInService), machine("b", "4", types.LifecycleStateInService)}, 8, true},
		"one comes":       {[]types.Instance{machine("a", "4", types.LifecycleStateInService), machine("b", "4", types.LifecycleStatePending)}, 4, false},
		"without weights": {[]types.Instance{machine("a", "", types.LifecycleStateInService)}, 1, false},
	} {
		one := types.AutoScalingGroup{DesiredCapacity: sdk.Int32(8), Instances: c.machines}
		state, err := new(session).steady(t.Context(), one)
		if err != nil || state.Done != c.steady {
			t.Errorf("%s: steady: %v, %v, %s; want %v", name, state.Done, err, state.Progress, c.steady)
		}
		if got := new(session).servingOf(one, version{ID: "lt-1", Number: "2"}); got != c.has {
			t.Errorf("%s: %d of the version serve; want %d", name, got, c.has)
		}
	}
}
