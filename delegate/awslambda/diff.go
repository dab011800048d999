package awslambda

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/slipway-cd/slipway/delegate/awsdiff"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/task"
)

// newVersion stands for the version that a deployment would publish.
const newVersion = "a new one"

// compare tells what AwsLambdaDeploy would change of a function, its code and its
// aliases, and changes nothing.
func (s *session) compare(ctx context.Context) (task.Result, error) {
	d, err := s.read(ctx)
	if err != nil {
		return task.Result{}, err
	}
	c, err := s.artifact(ctx)
	if err != nil {
		return task.Result{}, err
	}
	s.Unit = unitDiff
	now, err := s.look(ctx, d.name)
	if err != nil {
		return task.Result{}, err
	}
	if err := suits(d.name, now, c); err != nil {
		return task.Result{}, err
	}
	var diff awsdiff.Diff
	differs := func(name string, was, is any) error {
		hunks, err := diff.Add(name, was, is)
		if hunks != "" {
			s.Say("%s\n%s", name, hunks)
		}
		return err
	}
	if err := differs("Function/"+d.name, s.configuration(d, now), awsdiff.Plain(wantedConfiguration(d, c))); err != nil {
		return task.Result{}, err
	}
	if err := differs("Code/"+d.name, now.code(), code{name: c.name, image: c.image}.plain()); err != nil {
		return task.Result{}, err
	}
	version := newVersion
	if diff.Empty() && now.newest != nil {
		version = sdk.ToString(now.newest.Version)
	}
	for _, a := range d.aliases {
		name := sdk.ToString(a.Name)
		is, err := s.described(ctx, d, a)
		if err != nil {
			return task.Result{}, err
		}
		is.Version, is.Weights = version, weights(a.RoutingConfig, version)
		was, err := s.alias(ctx, d.name, name)
		if err != nil {
			return task.Result{}, err
		}
		if err := differs("Alias/"+name, was.plain(), is.plain()); err != nil {
			return task.Result{}, err
		}
	}
	if diff.Empty() {
		s.Say("Nothing would change")
	}
	return executor.Succeed(diff.Outputs(s.Say))
}

// wantedConfiguration is what the function's definition says of it.
func wantedConfiguration(d definition, c code) any {
	in := *d.update(c)
	in.FunctionName = nil
	return in
}

// configuration is what there is of what the definition says; what it doesn't say
// stays.
func (s *session) configuration(d definition, now found) any {
	if now.first {
		return nil
	}
	in := *configured(d.name, now.config)
	in.FunctionName, in.Description = nil, now.config.Description
	return awsdiff.Masked(awsdiff.Plain(in), awsdiff.Plain(wantedConfiguration(d, code{image: now.image})))
}

// code is the artifact that the function was made of, as far as it is known.
func (f found) code() any {
	if f.newest == nil {
		return nil
	}
	name := artifactOf(f.newest.Description)
	if name == "" {
		name = "published by others"
	}
	return code{name: name, image: f.image}.plain()
}

func (c code) plain() any {
	return awsdiff.Plain(struct{ Artifact, ImageURI string }{c.name, c.image})
}

func (a alias) plain() any {
	if a.Version == "" {
		return nil
	}
	return awsdiff.Plain(struct {
		FunctionVersion, Description string
		Weights                      map[string]float64
	}{a.Version, a.Description, a.Weights})
}
