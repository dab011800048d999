package yamldoc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	const week = 7 * 24 * time.Hour
	good := map[string]time.Duration{
		"10s": 10 * time.Second, "2w3d": 2*week + 3*24*time.Hour, "1h 30m": 90 * time.Minute, " 1d ": 24 * time.Hour,
		"1h 5s": time.Hour + 5*time.Second, "1ms": time.Second, "1500ms": 2 * time.Second, "53w": 53 * week,
	}
	for text, want := range good {
		if got, err := yamldoc.ParseDuration(text); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	bad := []string{
		"", " ", "0s", "10", "s", "1x", "10sfoo", "-1h", "1.5h", "1h  2m", "1h,2m", "53w1s", "54w", strings.Repeat("53w", 400),
		"99999999999999999999s", "9223372036854775807w",
	}
	for _, text := range bad {
		if got, err := yamldoc.ParseDuration(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
