package e2e_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate"
	"github.com/slipway-cd/slipway/delegate/agent"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/internal/testservers/sam"
	"github.com/slipway-cd/slipway/pkg/poll"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// The variables that make the test binary a server or a delegate: processes
// of their own, which tests can kill.
const (
	serveEnv    = "E2E_SERVE" // the data folder
	addrEnv     = "E2E_ADDR"
	delegateEnv = "E2E_DELEGATE" // the name of a delegate
	tokenEnv    = "E2E_TOKEN"
	capacityEnv = "E2E_CAPACITY" // how many tasks the delegate runs at once
	leaseEnv    = "E2E_LEASE"    // the server's heartbeat time, if another
	cacheEnv    = "E2E_CACHE"    // the folder of what the delegate keeps
	journalEnv  = "E2E_JOURNAL"  // the folder of the delegate's journal
	spotEnv     = "E2E_SPOT"     // where a stand-in of Spot is
	toolsEnv    = "E2E_TOOLS"    // set: the delegate looks which programs its machine has
	pollEnv     = "E2E_POLL"     // how often the delegate asks for new versions, whatever triggers say
	lookEnv     = "E2E_LOOK"     // how often the delegate looks at what was deployed to AWS
)

// viaSpot is how a delegate reaches Spot, if there is a stand-in.
func viaSpot() http.RoundTripper {
	if at := os.Getenv(spotEnv); at != "" {
		return testservers.Reroute{testservers.SpotHost: at}
	}
	return nil
}

// heartbeat is short, so that lost tasks are found while a test waits.
const heartbeat = 2 * time.Second

func TestMain(m *testing.M) {
	delegate.Answer()
	sam.Answer()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case os.Getenv(serveEnv) != "":
		lease := heartbeat
		if d, err := time.ParseDuration(os.Getenv(leaseEnv)); err == nil {
			lease = d
		}
		err = wire.Serve(ctx, wire.ServeConfig{
			Addr: os.Getenv(addrEnv), Data: os.Getenv(serveEnv), EmbeddedDelegate: os.Getenv(delegateEnv) != "", Kinds: e2e.Kinds(0), Heartbeat: lease,
			Traces: os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "",
			Log:    slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
			Ready:  func(i wire.Info) { fmt.Printf("%s %s\n", i.URL, i.Token) },
		})
	case os.Getenv(delegateEnv) != "":
		look, _ := time.ParseDuration(os.Getenv(lookEnv)) // without it as seldom as people's
		kinds := delegate.Kinds(delegate.Config{
			Cache: cmp.Or(os.Getenv(cacheEnv), os.TempDir()), Orphan: time.Minute, Via: viaSpot(), AWS: delegate.AWS{InstancePoll: look},
		})
		if os.Getenv(toolsEnv) == "" {
			kinds = e2e.WithoutTools(kinds)
		}
		capacity, _ := strconv.Atoi(os.Getenv(capacityEnv)) // without it the agent's own
		err = agent.New(agent.Config{
			Capacity: capacity,
			URL:      os.Getenv(addrEnv), Token: os.Getenv(tokenEnv), Name: os.Getenv(delegateEnv), Kinds: polling(kinds),
			Drain: time.Minute, Journal: os.Getenv(journalEnv),
		}).Run(ctx)
	default:
		code := m.Run()
		if err := e2e.RemovePrograms(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code) //nolint:gocritic // stop does nothing that the end of the process doesn't
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// polling has a delegate ask for new versions more often than triggers may say.
func polling(kinds map[task.Kind]executor.Kind) map[task.Kind]executor.Kind {
	every, err := time.ParseDuration(os.Getenv(pollEnv))
	if err != nil {
		return kinds
	}
	k := kinds[poll.Kind]
	watch := k.Watch
	k.Watch = func(ctx context.Context, w task.Watch, report func(context.Context, task.Observed) error) error {
		place, err := executor.Place[poll.Place](w.Kind, w.Place)
		if err != nil {
			return err
		}
		place.Every = every
		if w.Place, err = json.Marshal(place); err != nil {
			return err
		}
		return watch(ctx, w, report)
	}
	kinds[poll.Kind] = k
	return kinds
}
