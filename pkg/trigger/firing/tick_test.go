package firing_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/trigger/firing"
)

// minutes is a store with one schedule, which is due each minute and whose
// pipeline doesn't exist. It keeps the minutes of its fires.
type minutes struct {
	store.Entities
	store.Executions
	store.Fires
	store.Keys
	mu    sync.Mutex
	seen  []string
	fails int // so many fires can't be kept first
}

func (m *minutes) Referrers(context.Context, store.EntityKey, store.Page) ([]store.EntityKey, string, error) {
	return []store.EntityKey{{Scope: project, Kind: ref.Trigger, Env: "deploy", ID: "often"}}, "", nil
}

func (m *minutes) Entity(_ context.Context, k store.EntityKey) (store.Entity, error) {
	if k.Kind != ref.Trigger {
		return store.Entity{}, fault.New(fault.NotFound, "no %s", k.ID)
	}
	return store.Entity{Key: k, YAML: []byte(schedule("often", "* * * * *", "UTC"))}, nil
}

func (m *minutes) ListEntities(context.Context, ref.Scope, ref.Kind, string, store.Page) ([]store.Entity, string, error) {
	return nil, "", nil
}

func (m *minutes) Execution(_ context.Context, id string) (store.Execution, error) {
	return store.Execution{}, fault.New(fault.NotFound, "no execution %s", id)
}

func (m *minutes) PutFire(_ context.Context, f store.Fire) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails--; m.fails >= 0 {
		return errors.New("busy")
	}
	m.seen = append(m.seen, strings.TrimPrefix(f.ID, "2000-01-01T"))
	return nil
}

// run fires minutes until it is stopped.
func (m *minutes) run(t *testing.T, now func() time.Time) (stop func()) {
	t.Helper()
	s := firing.New(firing.Config{
		Account: "default", Store: m, Launch: launch.New(launch.Config{Store: store.Store{Entities: m, Executions: m}, Now: now}), Now: now,
		Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestRun: each minute once, and what a pause of the machine hid for up to
// five minutes. The clock of a bubble begins at 2000-01-01T00:00Z.
func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var slept time.Duration // the machine did, unseen by its timers
		now := func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Add(slept)
		}
		kept := &minutes{}
		stop := kept.run(t, now)
		<-time.After(2*time.Minute + 10*time.Second)
		sleep := func(d time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			slept += d
		}
		sleep(3 * time.Minute)
		<-time.After(time.Minute) // 00:06:10
		sleep(time.Hour)
		<-time.After(time.Minute) // 01:07:10
		stop()
		want := []string{"00:00Z", "00:01Z", "00:02Z", "00:03Z", "00:04Z", "00:05Z", "00:06Z", "01:07Z"}
		if diff := cmp.Diff(want, kept.seen); diff != "" {
			t.Errorf("minutes (-want +got):\n%s", diff)
		}
	})
}

// A minute that couldn't be fired is fired with the next ones, as long as it is
// wanted, and holds none of them up.
func TestAFailedMinuteIsFiredAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		fails int
		want  []string
	}{
		{"once", 1, []string{"00:00Z", "00:01Z", "00:02Z", "00:03Z"}},
		{"thrice", 1 + 2, []string{"00:00Z", "00:01Z", "00:02Z", "00:03Z"}},
		{"for longer than a minute is wanted", 1 + 2 + 3 + 4 + 5 + 6 + 2, []string{"00:03Z", "00:04Z", "00:05Z", "00:06Z"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				kept := &minutes{fails: tt.fails}
				stop := kept.run(t, time.Now)
				<-time.After(6*time.Minute + 10*time.Second)
				stop()
				if diff := cmp.Diff(tt.want, kept.seen[:min(len(kept.seen), len(tt.want))]); diff != "" {
					t.Errorf("minutes (-want +got):\n%s", diff)
				}
			})
		})
	}
}
