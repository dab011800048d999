package ecs

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/delegate/awsdiff"
)

// comparing is a task that tells what EcsRollingDeploy would change. Options of
// that step, such as which count counts, aren't known to it.
type comparing struct {
	*session
	diff awsdiff.Diff
}

// compare compares what is there with what the documents say, and changes nothing.
func (s *comparing) compare(ctx context.Context) error {
	w, err := s.documents().wanted(ctx)
	if err != nil {
		return err
	}
	s.In(diffUnit)
	live, err := s.live(ctx, w.name)
	if err != nil {
		return err
	}
	if err := s.definitions(ctx, w, live); err != nil {
		return err
	}
	if err := s.services(w, live); err != nil {
		return err
	}
	if err := s.scalings(ctx, w); err != nil {
		return err
	}
	if s.diff.Empty() {
		s.Say("Nothing would change")
	}
	s.outputs.Outputs = s.diff.Outputs(s.Warn)
	return nil
}

// differs notes how something would change; nil is nothing.
func (s *comparing) differs(name string, was, is any) error {
	hunks, err := s.diff.Add(name, was, is)
	if hunks != "" {
		s.Say("%s\n%s", name, hunks)
	}
	return err
}

// definitions compares the task definition that the service has with that of the
// documents, without what AWS adds to each.
func (s *comparing) definitions(ctx context.Context, w *wanted, live *types.Service) error {
	var was, is any
	name := "TaskDefinition/"
	if live != nil {
		d, err := s.described(ctx, sdk.ToString(live.TaskDefinition))
		if err != nil {
			return err
		}
		if d != nil {
			was = awsdiff.Plain(usual(registered(d.TaskDefinition)))
		}
	}
	if w.definition == nil {
		d, err := s.described(ctx, s.spec.Target.TaskDefinitionARN)
		if err != nil {
			return err
		}
		if d == nil {
			return s.differs(name+s.spec.Target.TaskDefinitionARN, was, nil)
		}
		is = awsdiff.Plain(usual(registered(d.TaskDefinition)))
		return s.differs(name+sdk.ToString(d.TaskDefinition.Family), was, is)
	}
	wanted := *w.definition
	wanted.Tags = nil
	is = awsdiff.Plain(usual(wanted))
	return s.differs(name+sdk.ToString(wanted.Family), was, is)
}

// services compares the service with its definition: what that doesn't say stays.
func (s *comparing) services(w *wanted, live *types.Service) error {
	name := "Service/" + w.name
	if live == nil {
		in := *w.create
		in.Tags = nil
		return s.differs(name, nil, awsdiff.Plain(in))
	}
	in := *s.wantedUpdate(w, live, "")
	in.TaskDefinition = nil // compared already
	is := awsdiff.Plain(in)
	return s.differs(name, awsdiff.Masked(awsdiff.Plain(*snapshot(live)), is), is)
}

// scalings compares what scales the service with what would.
func (s *comparing) scalings(ctx context.Context, w *wanted) error {
	now, err := s.scalingOf(ctx, w.name)
	if err != nil {
		return err
	}
	then := w.scaling.of(s.cluster, w.name)
	is := awsdiff.Plain(then)
	was := awsdiff.Plain(now)
	if len(now.Targets) == len(then.Targets) && len(now.Policies) == len(then.Policies) {
		was = awsdiff.Masked(was, is)
	}
	return s.differs("Scaling/"+w.name, was, is)
}

// usual has what AWS takes for what isn't said.
func usual(d ecs.RegisterTaskDefinitionInput) ecs.RegisterTaskDefinitionInput {
	containers := make([]types.ContainerDefinition, len(d.ContainerDefinitions))
	for i, c := range d.ContainerDefinitions {
		if c.Essential == nil {
			c.Essential = sdk.Bool(true)
		}
		ports := make([]types.PortMapping, len(c.PortMappings))
		for k, m := range c.PortMappings {
			if m.Protocol == "" {
				m.Protocol = types.TransportProtocolTcp
			}
			if host := sdk.ToInt32(m.HostPort); host == 0 || host == sdk.ToInt32(m.ContainerPort) {
				m.HostPort = nil
			}
			ports[k] = m
		}
		c.PortMappings = ports
		containers[i] = c
	}
	d.ContainerDefinitions = containers
	return d
}
