package engine

import (
	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// permitted refuses a stage that is about to begin, or a loop of one, if whoever
// its execution acts as may not deploy that service there. It is asked about as
// of now: an approval before the stage may have taken days.
func (s *snapshot) permitted(n *plan.Node, state plan.State) error {
	as := s.execution.As
	if as == nil {
		return nil
	}
	targets, err := s.targets(n, state)
	if err != nil {
		return err
	}
	who := s.r.grants.Caller(*as, access.ActorOf(as.Principal))
	for _, t := range targets {
		if err := who.Deploys(s.ctx, t.Service, t.Environment); err != nil {
			if !fault.Is(err, fault.Forbidden) {
				s.keep(err)
			}
			return err
		}
	}
	return nil
}
