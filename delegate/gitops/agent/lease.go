package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// The times of the lease by which one process leads an agent.
const (
	leaseFor   = 15 * time.Second
	renewFor   = 10 * time.Second
	leaseRetry = 2 * time.Second
)

// errLost: another process leads.
var errLost = errors.New("the lease of the agent was lost")

// lead waits until this process leads the agent, and does the agent's work until it
// doesn't any more. A process that begins again where it was killed has its lease
// still.
func (a *agent) lead(ctx context.Context) error {
	client, err := coordination.NewForConfigAndClient(a.home.Config, a.home.HTTP)
	if err != nil {
		return fmt.Errorf("make a client of leases: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name this process: %w", err)
	}
	lock := &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: "slipway-gitops-" + a.label()}, Client: client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + ":" + a.Cache},
	}
	leads := make(chan context.Context, 1)
	elect, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: leaseFor, RenewDeadline: renewFor, RetryPeriod: leaseRetry, ReleaseOnCancel: true, Name: "gitops",
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(ctx context.Context) { leads <- ctx }, OnStoppedLeading: func() {}},
	})
	if err != nil {
		return fmt.Errorf("make the election: %w", err)
	}
	// What Kubernetes' library says goes where all else does.
	elected, stop := context.WithCancel(logr.NewContextWithSlogLogger(ctx, a.Log.With("agent", a.Agent.ID)))
	over := make(chan struct{})
	go func() {
		defer close(over)
		elect.Run(elected)
	}()
	defer func() { stop(); <-over }()
	select {
	case <-over:
		return errLost
	case leading := <-leads:
		record, _, err := lock.Get(leading)
		if err != nil {
			return fmt.Errorf("read the agent's lease: %w", err)
		}
		err = a.leading(leading, int64(record.LeaderTransitions)+1)
		if ctx.Err() == nil && (leading.Err() != nil || fault.Is(err, fault.LeaseLost)) {
			return errLost
		}
		return err
	}
}
