package asg

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-cd/slipway/delegate/executor"
)

// The sorts of checkpoints, which begin their keys.
const (
	groupKept  = "asg/group/"
	canaryKept = "asg/canary/"
)

// before is how a group was before its stage changed it.
type before struct {
	Group string `json:"group"`
	First bool   `json:"first,omitempty"` // there was none
	// Template says that there was a launch template of its name.
	Template bool `json:"template,omitempty"`
	// Update would make it as it was. A version of a template in it is a number.
	Update       *autoscaling.UpdateAutoScalingGroupInput `json:"update,omitempty"`
	TargetGroups []string                                 `json:"targetGroups,omitempty"`
	Tags         []types.Tag                              `json:"tags,omitempty"`
	Metrics      []types.EnabledMetric                    `json:"metrics,omitempty"`
	Scaling      scaling                                  `json:"scaling,omitzero"`
}

// from is the version of a template that the group started machines from; nil:
// none.
func (b before) from() *types.LaunchTemplateSpecification {
	if b.Update == nil {
		return nil
	}
	return templateOf(&types.AutoScalingGroup{LaunchTemplate: b.Update.LaunchTemplate, MixedInstancesPolicy: b.Update.MixedInstancesPolicy})
}

// colour is what its tags said of whether it has the traffic; empty: nothing.
func (b before) colour() string {
	for _, t := range b.Tags {
		if sdk.ToString(t.Key) == colourTag {
			return sdk.ToString(t.Value)
		}
	}
	return ""
}

// snapshot is how a group is; live is nil for none.
func (s *session) snapshot(ctx context.Context, name string, live *types.AutoScalingGroup) (before, error) {
	was := before{Group: name, First: live == nil}
	template, err := s.newest(ctx, name)
	if err != nil {
		return was, err
	}
	if was.Template = template != nil; live == nil {
		return was, nil
	}
	if was.Update, err = updateOf(live); err != nil {
		return was, err
	}
	if err := s.number(ctx, was.from()); err != nil {
		return was, err
	}
	was.TargetGroups, was.Tags, was.Metrics = live.TargetGroupARNs, tagsOf(live), live.EnabledMetrics
	was.Scaling, err = s.scalingOf(ctx, name)
	return was, err
}

// number says by its number which version of a template a group names that may
// change what it means.
func (a account) number(ctx context.Context, named *types.LaunchTemplateSpecification) error {
	if named == nil || !symbolic(versionNamed(named)) {
		return nil
	}
	v, err := a.version(ctx, named)
	if err != nil || v == nil {
		return err
	}
	n := number(v.VersionNumber)
	named.Version = &n
	return nil
}

// key is that of a checkpoint about a group of the region.
func (a account) key(sort, group string) string { return sort + a.Region + "/" + group }

// keep keeps how a group is before the first change, unless the stage has changed
// it before: then that is what counts.
func (s *session) keep(ctx context.Context, sort, name string, live *types.AutoScalingGroup) (before, error) {
	was, err := s.snapshot(ctx, name, live)
	if err != nil {
		return was, err
	}
	if was, err = executor.Keep(ctx, s.Env, s.key(sort, name), was); err != nil {
		return was, err
	}
	switch from := was.from(); {
	case was.First:
		s.Say("There was no Asg %s", name)
	case from == nil:
		s.Say("Asg %s has no launch template", name)
	default:
		s.Say("Asg %s starts its instances from version %s of its launch template", name, versionNamed(from))
	}
	return was, nil
}
