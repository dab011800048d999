package asl

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
)

// The delays that a state's retriers give to failures one after the other; a
// failure that isn't tried again ends the list with none.
func TestRetries(t *testing.T) {
	t.Parallel()
	const none = time.Duration(-1)
	tests := []struct {
		name, retry string
		failures    []string
		want        []time.Duration
		jitter      bool
	}{
		{"the defaults: 1 s, doubled, three times", `[{"ErrorEquals":["States.ALL"]}]`,
			[]string{"A", "A", "A", "A"}, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, none}, false},
		{"an interval and a rate", `[{"ErrorEquals":["A"],"IntervalSeconds":3,"BackoffRate":1.5,"MaxAttempts":2}]`,
			[]string{"A", "A", "A"}, []time.Duration{3 * time.Second, 4500 * time.Millisecond, none}, false},
		{"the longest delay", `[{"ErrorEquals":["A"],"IntervalSeconds":10,"BackoffRate":10,"MaxDelaySeconds":60,"MaxAttempts":3}]`,
			[]string{"A", "A", "A"}, []time.Duration{10 * time.Second, time.Minute, time.Minute}, false},
		{"an error that nobody names", `[{"ErrorEquals":["A"]}]`, []string{"B"}, []time.Duration{none}, false},
		{"retriers count apart", `[{"ErrorEquals":["A"],"MaxAttempts":1},{"ErrorEquals":["B"],"IntervalSeconds":5,"MaxAttempts":2}]`,
			[]string{"B", "A", "B", "A"}, []time.Duration{5 * time.Second, time.Second, 10 * time.Second, none}, false},
		{"the first that fits counts", `[{"ErrorEquals":["A","B"],"MaxAttempts":0},{"ErrorEquals":["States.ALL"]}]`,
			[]string{"B"}, []time.Duration{none}, false},
		{"full jitter stays within the delay", `[{"ErrorEquals":["A"],"IntervalSeconds":8,"BackoffRate":2,"MaxAttempts":3,"JitterStrategy":"FULL"}]`,
			[]string{"A", "A", "A"}, []time.Duration{8 * time.Second, 16 * time.Second, 32 * time.Second}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			st := &state{}
			if err := json.Unmarshal([]byte(tt.retry), &st.Retry); err != nil {
				t.Fatal(err)
			}
			var th thread
			var got []time.Duration
			for _, name := range tt.failures {
				d, ok := th.retry(st, &Failure{Name: name})
				if !ok {
					d = none
				}
				got = append(got, d)
			}
			if !tt.jitter {
				if !slices.Equal(got, tt.want) {
					t.Errorf("delays %v, want %v", got, tt.want)
				}
				return
			}
			for i, d := range got {
				if d < 0 || d > tt.want[i] {
					t.Errorf("delay %d is %s, want at most %s", i, d, tt.want[i])
				}
			}
		})
	}
}
