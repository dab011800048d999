package ecs

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/slipway-cd/slipway/delegate/aws"
)

// containerSecret is a secret that a container of a task definition names.
type containerSecret struct{ container, name, from string }

// secretsOf are the secrets of containers, in their order: of their environment, and
// of their log drivers.
func secretsOf(containers []types.ContainerDefinition) []containerSecret {
	var all []containerSecret
	for _, c := range containers {
		container := sdk.ToString(c.Name)
		for _, one := range c.Secrets {
			all = append(all, containerSecret{container, "secret " + sdk.ToString(one.Name), sdk.ToString(one.ValueFrom)})
		}
		if c.LogConfiguration != nil {
			for _, one := range c.LogConfiguration.SecretOptions {
				all = append(all, containerSecret{container, "secret " + sdk.ToString(one.Name) + " of its log", sdk.ToString(one.ValueFrom)})
			}
		}
	}
	return all
}

// inParameterStore is how a parameter of Systems Manager is named that isn't named
// by its ARN.
var inParameterStore = regexp.MustCompile(`^[\w./-]+(:[\w.-]+)?$`)

// whole says which secret of a task definition isn't there, for which ECS would
// start no task. Nothing is decrypted. That the tasks' role may read it isn't
// known; what AWS doesn't tell the connector, it may tell that role.
func (n needs) whole(ctx context.Context, containers []types.ContainerDefinition) error {
	parameters := map[string][]string{} // by region
	var wants []containerSecret
	for _, one := range secretsOf(containers) {
		at, err := arn.Parse(one.from)
		switch {
		case err == nil && at.Service == "secretsmanager" && strings.HasPrefix(at.Resource, "secret:"):
			if !slices.ContainsFunc(wants, func(c containerSecret) bool { return c.from == one.from }) {
				if err := n.inSecretsManager(ctx, one, at); err != nil {
					return err
				}
			}
		case err == nil && at.Service == "ssm" && strings.HasPrefix(at.Resource, "parameter/"):
			parameters[at.Region] = append(parameters[at.Region], one.from)
		case err != nil && inParameterStore.MatchString(one.from):
			parameters[n.access.Region] = append(parameters[n.access.Region], one.from)
		default:
			return wrong("container %s: %s: found valueFrom %q; want the ARN of a secret of Secrets Manager, or the name or ARN of a parameter of Systems Manager", one.container, one.name, one.from)
		}
		wants = append(wants, one)
	}
	for _, region := range slices.Sorted(maps.Keys(parameters)) {
		slices.Sort(parameters[region])
		for some := range slices.Chunk(slices.Compact(parameters[region]), mostParameters) {
			if err := n.inSystemsManager(ctx, wants, region, some); err != nil {
				return err
			}
		}
	}
	return nil
}

// inSecretsManager says what is wrong with a secret of Secrets Manager, whose
// resource is secret:NAME:KEY:STAGE:VERSION.
func (n needs) inSecretsManager(ctx context.Context, one containerSecret, at arn.ARN) error {
	parts := append(strings.Split(at.Resource, ":"), "", "", "")
	at.Resource = strings.Join(parts[:2], ":")
	stage, version := parts[3], parts[4]
	cfg := n.access.Config.Copy()
	cfg.Region = at.Region
	out, err := secretsmanager.NewFromConfig(cfg).DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: sdk.String(at.String())})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case aws.Is(err, "ResourceNotFoundException"):
		return wrong("container %s: %s: Secrets Manager has no secret %s", one.container, one.name, one.from)
	case err != nil:
		n.say("Whether Secrets Manager has the secret %s of container %s isn't known: %s", one.from, one.container, n.access.Failed(ctx, "secretsmanager:DescribeSecret", err))
		return nil
	case out.DeletedDate != nil:
		return wrong("container %s: %s: the secret %s was deleted", one.container, one.name, one.from)
	}
	if stage == "" && version == "" {
		stage = "AWSCURRENT"
	}
	for id, stages := range out.VersionIdsToStages {
		if (version == "" || version == id) && (stage == "" || slices.Contains(stages, stage)) {
			return nil
		}
	}
	return wrong("container %s: %s: the secret %s has no version %s", one.container, one.name, one.from, strings.TrimSpace(stage+" "+version))
}

// mostParameters is how many parameters a call may name.
const mostParameters = 10

// inSystemsManager says which of some parameters of a region aren't there.
func (n needs) inSystemsManager(ctx context.Context, wants []containerSecret, region string, parameters []string) error {
	cfg := n.access.Config.Copy()
	cfg.Region = region
	out, err := ssm.NewFromConfig(cfg).GetParameters(ctx, &ssm.GetParametersInput{Names: parameters})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		n.say("Whether Systems Manager has the parameters %s isn't known: %s", strings.Join(parameters, ", "), n.access.Failed(ctx, "ssm:GetParameters", err))
		return nil
	}
	for _, one := range wants {
		if slices.Contains(out.InvalidParameters, one.from) {
			return wrong("container %s: %s: Systems Manager has no parameter %s", one.container, one.name, one.from)
		}
	}
	return nil
}
