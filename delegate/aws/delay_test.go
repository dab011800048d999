package aws

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/task"
)

func TestDelay(t *testing.T) {
	t.Parallel()
	most := func(n int64) int64 { return n - 1 }
	least := func(int64) int64 { return 0 }
	for strategy, want := range map[string][]time.Duration{ // least and most of the attempts 1, 2 and 40
		"FixedDelayBackoffStrategy":  {7, 7, 7, 7, 7, 7},
		"EqualJitterBackoffStrategy": {50, 100, 100, 200, 250, 500},
		"FullJitterBackoffStrategy":  {0, 100, 0, 200, 0, 500},
	} {
		b := task.AWSBackOff{Strategy: strategy, Fixed: 7, Base: 100, Max: 500}
		var got []time.Duration
		for _, attempt := range []int{1, 2, 40} {
			got = append(got, delay(b, attempt, least)/time.Millisecond, delay(b, attempt, most)/time.Millisecond)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s, in ms (-want +got):\n%s", strategy, d)
		}
	}
}
