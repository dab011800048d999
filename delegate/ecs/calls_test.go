package ecs_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/ecs"
	ecslane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
)

// What deployments ask of AWS is as the docs say.
func TestCalls(t *testing.T) {
	t.Parallel()
	paced := func(s *stage, pace awswait.Pace) {
		s.kind = ecs.Kind(ecs.Config{Accesses: &aws.Accesses{Options: []func(*config.LoadOptions) error{config.WithBaseEndpoint(s.Endpoint)}}, Pace: pace})
	}
	const page = "../../docs/delegate.md"
	t.Run("rolling", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		bill := s.Bill(page, *update)
		paced(s, bill.Pace)
		bill.Costs(t, "ECS, rolling, the first", func() { s.succeeds(t, ecslane.OpRolling, withScaling) })
		s = s.next(t, "web:2")
		bill.Costs(t, "ECS, rolling", func() { s.succeeds(t, ecslane.OpRolling, withScaling) })
		bill.Costs(t, "ECS, rolling, taken back", func() { s.succeeds(t, ecslane.OpRollingRollback) })
	})
	t.Run("blue green", func(t *testing.T) {
		t.Parallel()
		first := newStage(t)
		bill := first.Bill(page, *update)
		paced(first, bill.Pace)
		f := newFront(t, first)
		f.bluegreen(t, "web:1")
		s := f.next(t, "web:2")
		bill.Costs(t, "ECS, blue and green", func() {
			s.succeeds(t, ecslane.OpBlueGreenCreate, f.swapped)
			s.succeeds(t, ecslane.OpBlueGreenSwap, swapping)
		})
	})
}

// Thirty services of a cluster that are waited for at once are looked at together.
func TestWaitsOfAClusterShareTheirCalls(t *testing.T) {
	t.Parallel()
	calls, names := waitsShareTheirCalls(t, newStage(t))
	// Those that look before and after the wait do so together, too.
	if most := waiting * 3; calls > most {
		t.Errorf("%d calls have asked %d times for a service; want %d calls at most", calls, names, most)
	}
}

// So are those whose traffic ECS moves itself.
func TestWaitsForTrafficShareTheirCalls(t *testing.T) {
	t.Parallel()
	waitsShareTheirCalls(t, moved(t, "strategy: BLUE_GREEN, bakeTimeInMinutes: 0"))
}

// waiting is how many services are waited for at once.
const waiting = 30

// waitsShareTheirCalls deploys many services at once, whose waits cost three calls each
// time. It gives how many calls have asked for services, and how many they have asked for.
func waitsShareTheirCalls(t *testing.T, s *stage) (calls, names int) {
	t.Helper()
	const ticks = 10
	looked := func() int { return s.Count("ecs:DescribeServices") + s.Count("ecs:DescribeServiceDeployments") }
	var mu sync.Mutex
	looks, began, ended := 0, 0, 0
	s.kind = ecs.Kind(ecs.Config{
		Accesses: &aws.Accesses{Options: []func(*config.LoadOptions) error{config.WithBaseEndpoint(s.Endpoint)}},
		Pace: func(time.Duration) time.Duration {
			mu.Lock()
			defer mu.Unlock()
			switch looks++; looks {
			case waiting * 2: // all of them wait
				began = looked()
			case waiting * ticks:
				ended = looked()
				s.Go()
			}
			return 200 * time.Millisecond
		},
	})
	s.Hold() // so that all wait
	var all sync.WaitGroup
	for n := range waiting {
		one := s.next(t, "web:1")
		one.service = strings.Replace(s.service, "serviceName: web\n", fmt.Sprintf("serviceName: web%d\n", n), 1)
		one.execution = fmt.Sprint("e", n)
		all.Go(func() { one.succeeds(t, ecslane.OpRolling) })
	}
	all.Wait()
	if ended == 0 {
		t.Fatal("nothing was waited for")
	}
	// A tick is up to a fifth shorter than the pace.
	if got, most := ended-began, 3*(ticks-2)*5/4; got > most {
		t.Errorf("%d ticks have cost %d calls; want %d at most, which is 3 each", ticks-2, got, most)
	}
	for _, c := range s.CallsOf("ecs:DescribeServices") {
		var in awsecs.DescribeServicesInput
		if err := json.Unmarshal(c.Parameters, &in); err != nil {
			t.Fatal(err)
		}
		calls, names = calls+1, names+len(in.Services)
	}
	t.Logf("%d calls, %d names", calls, names)
	return calls, names
}
