package awslambda

import (
	"context"
	"maps"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/slipway-cd/slipway/delegate/aws"
)

// current is an alias as it is.
type current struct {
	alias
	revision *string
}

// alias looks at an alias; without a version it isn't there.
func (s *session) alias(ctx context.Context, function, name string) (current, error) {
	out, err := s.client.GetAlias(ctx, &lambda.GetAliasInput{FunctionName: &function, Name: &name})
	if aws.Is(err, notFound) {
		return current{}, nil
	}
	if err != nil {
		return current{}, s.failed(ctx, "GetAlias", err)
	}
	a := alias{Version: sdk.ToString(out.FunctionVersion), Description: sdk.ToString(out.Description)}
	if out.RoutingConfig != nil && len(out.RoutingConfig.AdditionalVersionWeights) > 0 {
		a.Weights = out.RoutingConfig.AdditionalVersionWeights
	}
	return current{a, out.RevisionId}, nil
}

// same says whether an alias sends its traffic as another does.
func (a alias) same(b alias) bool {
	return a.Version == b.Version && a.Description == b.Description && maps.Equal(a.Weights, b.Weights)
}

// point has an alias be as it is wanted, and makes it if it isn't there. What is
// so already isn't changed.
func (s *session) point(ctx context.Context, function, name string, want alias) error {
	var err error
	var operation string
	for range tries {
		var now current
		if now, err = s.alias(ctx, function, name); err != nil {
			return err
		}
		routing := &types.AliasRoutingConfiguration{AdditionalVersionWeights: want.Weights}
		if want.Weights == nil {
			routing.AdditionalVersionWeights = map[string]float64{}
		}
		operation = "UpdateAlias"
		switch {
		case now.same(want):
			s.Say("Alias %s points to version %s", name, want)
			return nil
		case now.Version == "":
			operation = "CreateAlias"
			in := &lambda.CreateAliasInput{FunctionName: &function, Name: &name, FunctionVersion: &want.Version, Description: some(want.Description)}
			if len(want.Weights) > 0 {
				in.RoutingConfig = routing
			}
			_, err = s.client.CreateAlias(ctx, in)
		default:
			_, err = s.client.UpdateAlias(ctx, &lambda.UpdateAliasInput{
				FunctionName: &function, Name: &name, FunctionVersion: &want.Version, Description: &want.Description, RoutingConfig: routing, RevisionId: now.revision,
			})
		}
		if err == nil {
			s.Say("Alias %s points to version %s; before: %s", name, want, now.alias)
			return nil
		}
		if !aws.Is(err, "ResourceConflictException", "PreconditionFailedException") {
			return s.failed(ctx, operation, err)
		}
	}
	return s.failed(ctx, operation, err)
}

// String says for people where an alias points to.
func (a alias) String() string {
	if a.Version == "" {
		return "none"
	}
	text := a.Version
	for _, v := range slices.Sorted(maps.Keys(a.Weights)) {
		text += ", " + percent(a.Weights[v]) + " to version " + v
	}
	return text
}

// pointAliases has the aliases of the definition point to a version. Weights of a
// manifest count for other versions than that.
func (s *session) pointAliases(ctx context.Context, d definition, version string) error {
	if len(d.aliases) > 0 {
		s.Say("Create or Update Aliases for function %s with version %s", d.name, version)
	}
	for _, a := range d.aliases {
		want, err := s.described(ctx, d, a)
		if err != nil {
			return err
		}
		want.Version = version
		want.Weights = weights(a.RoutingConfig, version)
		if err := s.point(ctx, d.name, *a.Name, want); err != nil {
			return err
		}
	}
	return nil
}

// described is an alias with the description that it is to have: that of its
// manifest, or the one that it has.
func (s *session) described(ctx context.Context, d definition, a *lambda.CreateAliasInput) (alias, error) {
	if a.Description != nil {
		return alias{Description: *a.Description}, nil
	}
	now, err := s.alias(ctx, d.name, *a.Name)
	return alias{Description: now.Description}, err
}

// canaryAliases makes the aliases that aren't there yet, on the version before
// this one; the others stay as they are.
func (s *session) canaryAliases(ctx context.Context, d definition, was before, version string) error {
	from := was.Version
	if from == "" {
		from = version
	}
	for _, a := range d.aliases {
		if there := was.Aliases[*a.Name]; there.Version != "" {
			s.Say("Alias %s stays at version %s", *a.Name, there)
			continue
		}
		if err := s.point(ctx, d.name, *a.Name, alias{Version: from, Description: sdk.ToString(a.Description)}); err != nil {
			return err
		}
	}
	return nil
}
