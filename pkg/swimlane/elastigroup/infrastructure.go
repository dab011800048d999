package elastigroup

import (
	"fmt"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// account is an account of Spot, and what its groups are like.
type account struct {
	ConnectorRef  yamldoc.Field[string]
	Configuration *filesource.Store
}

func decodeAccount(d *swimlane.Decoder, v yamldoc.Value) swimlane.Place {
	a := &account{}
	d.Fields(v, document.Merge(d.Common, document.Keys{
		"connectorRef": d.Reference(ref.Connector, &a.ConnectorRef),
		configuration:  file(d, configuration, &a.Configuration),
		"metadata":     document.Nothing, // the console's
	}))
	d.Need(v, "connectorRef", configuration)
	return a
}

// Target is the account, and the documents of what is deployed there.
func (p *account) Target(r swimlane.Reach) (swimlane.Target, error) {
	s, ok := r.Service().(*service)
	if !ok {
		return swimlane.Target{}, fmt.Errorf("the service is a %T; want a %T", r.Service(), s)
	}
	c, err := r.Connector(p.ConnectorRef.Value)
	if err != nil {
		return swimlane.Target{}, err
	}
	t := &Target{Selectors: c.Selectors}
	if t.Spot, err = c.Server(spot); err != nil {
		return swimlane.Target{}, err
	}
	if t.Configuration, err = reached(r, configuration, p.Configuration); err != nil {
		return swimlane.Target{}, err
	}
	if t.Startup, err = reached(r, startupScript, s.Startup); err != nil {
		return swimlane.Target{}, err
	}
	image, version, err := r.Artifact()
	if err != nil {
		return swimlane.Target{}, err
	}
	if t.Image = image; image == "" {
		t.Image = version
	}
	return swimlane.Target{Spec: t, Image: t.Image}, nil
}

// reached is how a delegate reaches a file that the lane has; nil: there is none.
func reached(r swimlane.Reach, what string, from *filesource.Store) (*aws.Manifest, error) {
	if from == nil {
		return nil, nil //nolint:nilnil // as documented
	}
	files, err := r.Store(from, "")
	if err != nil {
		return nil, fault.Wrap(err, "%s", what)
	}
	return &aws.Manifest{ID: what, Type: what, Store: files}, nil
}
