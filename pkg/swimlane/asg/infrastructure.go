package asg

import (
	"fmt"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// region is a region of an account.
type region struct {
	aws.Account
	Base yamldoc.Field[string] // baseAsgName
}

func decodeRegion(d *swimlane.Decoder, v yamldoc.Value) swimlane.Place {
	r := &region{}
	d.Fields(v, document.Merge(r.Account.Keys(d), document.Keys{"baseAsgName": d.Text(&r.Base)}))
	d.Need(v, r.Needed()...)
	return r
}

// Target is the region and the documents of what is deployed there.
func (p *region) Target(r swimlane.Reach) (swimlane.Target, error) {
	t := &Target{Base: p.Base.Value}
	var err error
	if t.AWS, t.Selectors, err = p.Reached(r); err != nil {
		return swimlane.Target{}, err
	}
	s, ok := r.Service().(*service)
	if !ok {
		return swimlane.Target{}, fmt.Errorf("the service is a %T; want a %T", r.Service(), s)
	}
	if s.UserData != nil {
		files, err := r.Store(s.UserData, "")
		if err != nil {
			return swimlane.Target{}, fault.Wrap(err, "%s", userData)
		}
		t.UserData = &aws.Manifest{ID: userData, Type: userData, Store: files}
	}
	if err := t.documents(r); err != nil {
		return swimlane.Target{}, err
	}
	image, version, err := r.Artifact()
	if err != nil {
		return swimlane.Target{}, err
	}
	t.Image = image
	if image == "" {
		image = version
	}
	return swimlane.Target{Spec: t, Image: image}, nil
}

// documents finds those that the service has, and the layers above it.
func (t *Target) documents(r swimlane.Reach) error {
	var err error
	if t.Template, err = aws.Only(r, launchTemplate); err != nil {
		return err
	}
	if t.Configuration, err = aws.Only(r, configuration); err != nil {
		return err
	}
	if t.Additional, err = aws.Only(r, additional); err != nil {
		return err
	}
	if t.Policies, err = aws.Manifests(r, scalingPolicy); err != nil {
		return err
	}
	t.Schedules, err = aws.Manifests(r, schedule)
	return err
}
