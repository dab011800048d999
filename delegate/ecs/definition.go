package ecs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// contentTag is of what was registered: by it a task definition is known again that
// the execution has registered.
const contentTag = "slipway:content"

// register registers a task definition, always as a new revision: the same image
// tag may be another image by now. A step that is done again finds the one that
// it has registered.
func (s *session) register(ctx context.Context, d *ecs.RegisterTaskDefinitionInput) (string, error) {
	in := *d
	content, err := digest(d)
	if err != nil {
		return "", err
	}
	marks := s.Accesses.Tags(s.work)
	if marks != nil {
		marks[contentTag] = content
	}
	in.Tags = tagged(d.Tags, marks)
	was, err := s.described(ctx, sdk.ToString(d.Family))
	if err != nil {
		return "", err
	}
	if was != nil && marks != nil && has(was.Tags, aws.ExecutionTag, marks[aws.ExecutionTag]) && has(was.Tags, contentTag, content) {
		s.Say("Task definition %s is registered already", sdk.ToString(was.TaskDefinition.TaskDefinitionArn))
		return sdk.ToString(was.TaskDefinition.TaskDefinitionArn), nil
	}
	out, err := s.ecs.RegisterTaskDefinition(ctx, &in)
	if err != nil {
		return "", s.Failed(ctx, "ecs:RegisterTaskDefinition", err)
	}
	arn := sdk.ToString(out.TaskDefinition.TaskDefinitionArn)
	s.Say("Registered task definition %s", arn)
	return arn, nil
}

// digest tells task definitions apart.
func digest(d *ecs.RegisterTaskDefinitionInput) (string, error) {
	doc, err := json.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("encode the task definition: %w", err)
	}
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:16]), nil
}

// described describes a task definition with its tags: by its ARN, or the newest
// one of a family; nil if there is none.
func (c cluster) described(ctx context.Context, name string) (*ecs.DescribeTaskDefinitionOutput, error) {
	out, err := c.ecs.DescribeTaskDefinition(ctx, &ecs.DescribeTaskDefinitionInput{
		TaskDefinition: &name, Include: []types.TaskDefinitionField{types.TaskDefinitionFieldTags},
	})
	switch {
	case aws.Is(err, "ClientException") && strings.Contains(strings.ToLower(err.Error()), "unable to describe"):
		return nil, nil //nolint:nilnil // as documented
	case err != nil:
		return nil, c.Failed(ctx, "ecs:DescribeTaskDefinition", err)
	}
	return out, nil
}

// active is a task definition that is registered already, by its ARN, or the newest
// one of a family.
func (c cluster) active(ctx context.Context, named string) (*types.TaskDefinition, error) {
	out, err := c.described(ctx, named)
	if err != nil {
		return nil, err
	}
	if out == nil {
		return nil, fault.New(fault.NotFound, "there is no active task definition %s", named).Causing(fault.ConfigurationFailure)
	}
	if status := out.TaskDefinition.Status; status != types.TaskDefinitionStatusActive {
		return nil, wrong("task definition %s is %s; want one that is ACTIVE", named, status)
	}
	return out.TaskDefinition, nil
}

// resolvedDefinition is the task definition that a stage deploys which is
// registered already. Its newest revision is looked for once for a stage.
func (s *session) resolvedDefinition(ctx context.Context, named string) (string, error) {
	found, err := s.active(ctx, named)
	if err != nil {
		return "", err
	}
	arn, err := executor.Keep(ctx, s.Env, "ecs/definition/"+named, sdk.ToString(found.TaskDefinitionArn))
	if err == nil {
		s.Say("Task definition %s", arn)
	}
	return arn, err
}

// registerAgain gives a task definition that a service may be updated to, in place
// of one that may have been deregistered since.
func (s *session) registerAgain(ctx context.Context, arn string) (string, error) {
	out, err := s.described(ctx, arn)
	if err != nil {
		return "", err
	}
	if out == nil || out.TaskDefinition.Status == types.TaskDefinitionStatusDeleteInProgress {
		return "", fault.New(fault.NotFound, "task definition %s, which the service had before, was deleted meanwhile", arn)
	}
	if out.TaskDefinition.Status == types.TaskDefinitionStatusActive {
		return arn, nil
	}
	s.Say("Task definition %s was deregistered meanwhile; registering it anew", arn)
	d := registered(out.TaskDefinition)
	d.Tags = slices.DeleteFunc(slices.Clone(out.Tags), func(t types.Tag) bool {
		return aws.Own(sdk.ToString(t.Key)) || strings.HasPrefix(sdk.ToString(t.Key), "aws:")
	})
	return s.register(ctx, &d)
}

// registered is a task definition as it would be registered again.
func registered(d *types.TaskDefinition) ecs.RegisterTaskDefinitionInput {
	return ecs.RegisterTaskDefinitionInput{
		ContainerDefinitions: d.ContainerDefinitions, Family: d.Family, Cpu: d.Cpu, EnableFaultInjection: d.EnableFaultInjection,
		EphemeralStorage: d.EphemeralStorage, ExecutionRoleArn: d.ExecutionRoleArn, IpcMode: d.IpcMode, Memory: d.Memory,
		NetworkMode: d.NetworkMode, PidMode: d.PidMode, PlacementConstraints: d.PlacementConstraints,
		ProxyConfiguration: d.ProxyConfiguration, RequiresCompatibilities: d.RequiresCompatibilities, RuntimePlatform: d.RuntimePlatform,
		TaskRoleArn: d.TaskRoleArn, Volumes: d.Volumes,
	}
}

// tagged are tags with more, which give way to those that are there.
func tagged(tags []types.Tag, more map[string]string) []types.Tag {
	out := slices.Clone(tags)
	for _, key := range slices.Sorted(maps.Keys(more)) {
		if !slices.ContainsFunc(tags, func(t types.Tag) bool { return sdk.ToString(t.Key) == key }) && more[key] != "" {
			out = append(out, types.Tag{Key: sdk.String(key), Value: sdk.String(more[key])})
		}
	}
	return out
}

func has(tags []types.Tag, key, value string) bool {
	return slices.ContainsFunc(tags, func(t types.Tag) bool { return sdk.ToString(t.Key) == key && sdk.ToString(t.Value) == value })
}

// tagOf is the value of a tag; empty: there is none.
func tagOf(tags []types.Tag, key string) string {
	i := slices.IndexFunc(tags, func(t types.Tag) bool { return sdk.ToString(t.Key) == key })
	if i < 0 {
		return ""
	}
	return sdk.ToString(tags[i].Value)
}
