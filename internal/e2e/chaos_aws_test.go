package e2e_test

import (
	"math/rand/v2"
	"testing"

	"github.com/slipway-cd/slipway/internal/chaos"
	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
)

// The same as TestChaos where functions are the control plane: they are killed
// at their work, their calls and answers get lost or come twice, the table
// throttles, and the delegate's socket breaks.
func TestChaosOnAWS(t *testing.T) {
	t.Parallel()
	n := *seed
	if n == 0 {
		n = rand.Uint64()
	}
	a := e2e.StartAWS(t)
	a.RepeatResults()
	o := newOrdeal(t, n, a.Server)
	o.kinds = []chaos.Kind{chaos.KillFunction, chaos.Cut, chaos.Lost, chaos.Doubled, chaos.Throttled}
	o.make = func(f chaos.Fault) { faultOnAWS(t, a, f) }
	o.run(t, max(1, *faults/5))
}

func faultOnAWS(t *testing.T, a *e2e.AWS, f chaos.Fault) {
	t.Helper()
	during := func(faults testaws.Faults, throttled float64) {
		for _, name := range []string{"engine", "api"} {
			a.Host.Fail(name, faults)
		}
		a.Throttle(throttled)
		pause(t, f.For)
		for _, name := range []string{"engine", "api"} {
			a.Host.Fail(name, testaws.Faults{})
		}
		a.Throttle(0)
	}
	switch f.Kind {
	case chaos.KillFunction:
		for _, name := range []string{"engine", "api"} {
			a.Host.Kill(name)
		}
	case chaos.Cut:
		a.Sockets.Drop()
	case chaos.Lost:
		during(testaws.Faults{Before: 0.2, After: 0.2}, 0)
	case chaos.Doubled:
		during(testaws.Faults{Twice: true}, 0)
	case chaos.Throttled:
		during(testaws.Faults{}, 0.2)
	case chaos.KillServer, chaos.KillDelegate, chaos.Delayed, chaos.Stalled, chaos.FullDisk: // are of one machine
	}
}
