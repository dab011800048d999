package ecs

import (
	"fmt"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// cluster is a cluster of ECS in a region of an account.
type cluster struct {
	aws.Account
	Name yamldoc.Field[string] // or ARN
}

func decodeCluster(d *swimlane.Decoder, v yamldoc.Value) swimlane.Place {
	c := &cluster{}
	d.Fields(v, document.Merge(c.Account.Keys(d), document.Keys{"cluster": d.Text(&c.Name)}))
	d.Need(v, append(c.Needed(), "cluster")...)
	return c
}

// Target is the cluster and the documents of what is deployed there.
func (c *cluster) Target(r swimlane.Reach) (swimlane.Target, error) {
	t := &Target{Cluster: c.Name.Value}
	var err error
	if t.AWS, t.Selectors, err = c.Reached(r); err != nil {
		return swimlane.Target{}, err
	}
	s, ok := r.Service().(*service)
	if !ok {
		return swimlane.Target{}, fmt.Errorf("the service is a %T; want a %T", r.Service(), s)
	}
	if t.TaskDefinitionARN, err = r.Text(s.TaskDefinitionARN); err != nil {
		return swimlane.Target{}, fault.Wrap(err, "ecsTaskDefinitionArn")
	}
	if err := t.documents(r); err != nil {
		return swimlane.Target{}, err
	}
	if t.TaskDefinition != nil && t.TaskDefinitionARN != "" {
		return swimlane.Target{}, fault.New(fault.Invalid, "the service has ecsTaskDefinitionArn and the manifest %s of the type %s; want only one of them", t.TaskDefinition.ID, taskDefinition)
	}
	image, version, err := r.Artifact()
	if err != nil || image == "" {
		image = version // it is only for the ledger; the documents name what they need
	}
	return swimlane.Target{Spec: t, Image: image}, nil
}

// documents finds those that the service has, and the layers above it.
func (t *Target) documents(r swimlane.Reach) error {
	var err error
	if t.TaskDefinition, err = aws.Only(r, taskDefinition); err != nil {
		return err
	}
	if t.Service, err = aws.Only(r, serviceDefinition); err != nil {
		return err
	}
	if t.Targets, err = aws.Manifests(r, scalableTarget); err != nil {
		return err
	}
	t.Policies, err = aws.Manifests(r, scalingPolicy)
	return err
}
