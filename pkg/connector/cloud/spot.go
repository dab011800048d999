package cloud

import (
	"cmp"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// spotURL is where Spot's API is, for everybody.
const spotURL = "https://api.spotinst.io"

// permanentToken is the only way to prove to Spot who asks.
const permanentToken = "PermanentTokenConfig"

// Spot is an account of Spot, and the token of a user of it.
type Spot struct {
	Credential yamldoc.Field[string]
	Account    yamldoc.Field[string] // spotAccountId
	AccountRef yamldoc.Field[string]
	TokenRef   yamldoc.Field[string] // apiTokenRef
}

func decodeSpot(d *connector.Decoder, v yamldoc.Value) *Spot {
	s := &Spot{}
	d.Fields(v, document.Merge(d.Common, document.Keys{"credential": func(v yamldoc.Value) {
		d.Fields(v, document.Keys{
			"type": d.Literal(&s.Credential, permanentToken),
			"spec": func(v yamldoc.Value) {
				d.Fields(v, document.Keys{
					"spotAccountId":    d.Text(&s.Account),
					"spotAccountIdRef": d.Secret(&s.AccountRef),
					"apiTokenRef":      d.Secret(&s.TokenRef),
				})
				d.Need(v, "apiTokenRef")
				d.OneOf(v, "spotAccountId", "spotAccountIdRef")
			},
		})
		d.Need(v, "type", "spec")
	}}))
	d.Need(v, "credential")
	return s
}

// Server is Spot's API, and the account, for a delegate.
func (s *Spot) Server(r connector.Reach) (task.Server, error) {
	token, err := r.Secret(s.TokenRef)
	if err != nil {
		return task.Server{}, err
	}
	account, err := r.Secret(s.AccountRef)
	return task.Server{URL: spotURL, Auth: task.AuthBearer, Token: token, Account: cmp.Or(s.Account.Value, account)}, err
}

// Probe lists the account's groups, which whoever deploys has to.
func (s *Spot) Probe(r connector.Reach) (connector.Probe, error) {
	a, err := s.Server(r)
	return connector.Probe{Task: probe.Spec{Requests: &probe.Requests{Server: a, Path: "/aws/ec2/group?accountId=" + a.Account}}}, err
}
