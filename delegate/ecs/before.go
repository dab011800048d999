package ecs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
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

// keep keeps how a service is before the first change, unless the stage has
// changed it before: then that is what counts.
func (s *session) keep(ctx context.Context, sort, name string, daemon bool, live *types.Service, scales *scaling) (before, error) {
	was := before{Service: name, First: live == nil, Daemon: daemon, Scaling: scales}
	if live != nil {
		was.Update, was.Deployment, was.Tags = snapshot(live), newestID(live), live.Tags
		was.Daemon = live.SchedulingStrategy == types.SchedulingStrategyDaemon
	}
	kept, err := s.env.Checkpoint(ctx, sort+s.Region+"/"+s.short()+"/"+name, was)
	if err != nil {
		return before{}, err
	}
	was = before{}
	if err := json.Unmarshal(kept.Data, &was); err != nil {
		return before{}, fmt.Errorf("decode how service %s was: %w", name, err)
	}
	if was.First {
		s.say("There was no service %s", name)
	} else {
		s.say("Service %s had the task definition %s", name, was.definition())
	}
	return was, nil
}

// kept are the services that the stage has changed, of one sort, the newest change
// first.
func (s *session) kept(ctx context.Context, sort string) ([]before, error) {
	all, err := s.env.Checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	var out []before
	for _, c := range all {
		if !strings.HasPrefix(c.Key, sort) {
			continue
		}
		var was before
		if err := json.Unmarshal(c.Data, &was); err != nil {
			return nil, fmt.Errorf("decode what %s was: %w", c.Key, err)
		}
		out = append(out, was)
	}
	return out, nil
}
