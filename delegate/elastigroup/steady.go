package elastigroup

import (
	"context"
	"fmt"
	"net/http"

	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// steady waits until as many machines of a group are healthy as it should have.
func (s *session) steady(ctx context.Context, g group, target int) error {
	if target == 0 {
		return nil
	}
	return awswait.Until(ctx, awswait.Wait{Pace: s.Pace, Log: s.Env.Log(s.Unit)}, func(ctx context.Context) (awswait.State, error) {
		n, all, err := s.count(ctx, g.ID)
		if status(err) == http.StatusNotFound {
			return awswait.State{}, fault.New(fault.NotFound, "Elastigroup %s (%s) was deleted meanwhile", g.Name, g.ID).Causing(fault.Unknown)
		}
		return awswait.State{
			Done:     n >= target,
			Progress: fmt.Sprintf("Elastigroup %s: %d of %d instances are healthy; there are %d", g.Name, n, target, all),
		}, err
	})
}

// count counts the machines of a group that are healthy, and all of them.
func (s *session) count(ctx context.Context, id string) (good, all int, err error) {
	machines, err := s.machines(ctx, id)
	if err != nil {
		return 0, 0, err
	}
	healths, err := s.healths(ctx, id)
	if err != nil {
		return 0, 0, err
	}
	how := map[string]string{}
	for _, h := range healths {
		how[h.ID] = h.Health
	}
	for _, m := range machines {
		if m.ID != "" && how[m.ID] == healthy {
			good++
		}
	}
	return good, len(machines), nil
}
