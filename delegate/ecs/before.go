package ecs

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/delegate/executor"
)

// The sorts of checkpoints, which begin their keys.
const (
	serviceKept = "ecs/service/"
	canaryKept  = "ecs/canary/"
)

// before is how a service was before its stage changed it.
type before struct {
	Service string `json:"service"`
	First   bool   `json:"first,omitempty"` // there was none
	Daemon  bool   `json:"daemon,omitempty"`
	// Update would make it as it was, Deployment is the one that it had.
	Update     *ecs.UpdateServiceInput `json:"update,omitempty"`
	Deployment string                  `json:"deployment,omitempty"`
	Tags       []types.Tag             `json:"tags,omitempty"`
	// Scaling is what scaled it; nil: the stage leaves that alone.
	Scaling *scaling `json:"scaling,omitempty"`
}

// definition is the task definition that it had; empty: there was none.
func (b before) definition() string {
	if b.Update == nil {
		return ""
	}
	return sdk.ToString(b.Update.TaskDefinition)
}

// beforeOf is how a service is, and what scales it.
func beforeOf(one *types.Service, scales *scaling) before {
	return before{
		Service: nameOf(one), Daemon: one.SchedulingStrategy == types.SchedulingStrategyDaemon,
		Update: snapshot(one), Deployment: newestID(one), Tags: one.Tags, Scaling: scales,
	}
}

// key is that of a checkpoint about a service of the cluster.
func (c cluster) key(sort, service string) string {
	return sort + c.Region + "/" + c.short() + "/" + service
}

// keep keeps how a service is before the first change, unless the stage has
// changed it before: then that is what counts.
func (s *session) keep(ctx context.Context, sort, name string, daemon bool, live *types.Service, scales *scaling) (before, error) {
	was := before{Service: name, First: true, Daemon: daemon, Scaling: scales}
	if live != nil {
		was = beforeOf(live, scales)
	}
	kept, err := executor.Keep(ctx, s.Env, s.key(sort, name), was)
	if err != nil {
		return kept, err
	}
	if kept.First {
		s.Say("There was no service %s", name)
	} else {
		s.Say("Service %s had the task definition %s", name, kept.definition())
	}
	return kept, nil
}
