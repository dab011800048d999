package engine

import (
	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
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
		for kind, name := range map[ref.Kind]ref.Ref{ref.Service: t.Service, ref.Environment: t.Environment} {
			if err := who.Uses(s.ctx, kind, name); err != nil {
				if !fault.Is(err, fault.Forbidden) {
					s.keep(err)
				}
				return err
			}
		}
	}
	return nil
}
