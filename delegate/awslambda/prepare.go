package awslambda

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// before is what a stage finds of a function. It has no values of its environment:
// a rollback reads them from the version.
type before struct {
	Function string `json:"function"` // its name
	First    bool   `json:"first,omitempty"`
	// Version is the newest published one.
	Version string `json:"version,omitempty"`
	// Description is the function's own, which its versions don't have.
	Description string           `json:"description,omitempty"`
	Aliases     map[string]alias `json:"aliases,omitempty"`
	// Tags are the function's; nil: they aren't known, and stay as they are.
	Tags map[string]string `json:"tags"`
}

// alias is an alias; without a version it isn't there.
type alias struct {
	Version     string             `json:"version,omitempty"`
	Description string             `json:"description,omitempty"`
	Weights     map[string]float64 `json:"weights,omitempty"`
}

// release is what a stage has published. It is kept before any alias changes.
type release struct {
	Function string   `json:"function"`
	Version  string   `json:"version"`
	Aliases  []string `json:"aliases,omitempty"`
	Canary   bool     `json:"canary,omitempty"` // the aliases stay where they are
}

// The checkpoints of a function are of these names and its own.
const (
	beforeKey  = "lambda:before:"
	releaseKey = "lambda:release:"
)

func (s *session) key(kind, name string) string { return kind + s.access.Region + ":" + name }

// madeBefore describes a version that Slipway publishes of a function that has
// none, so that a rollback has its code.
const madeBefore = "before Slipway"

// found is a function as it is.
type found struct {
	first  bool // it isn't there
	config *types.FunctionConfiguration
	newest *types.FunctionConfiguration // of its published versions; nil: it has none
	image  string                       // that it is made of, by its digest; empty: it is made of a zip
	tags   map[string]string            // nil: the connector may not read them
}

// look looks at the function.
func (s *session) look(ctx context.Context, name string) (found, error) {
	out, err := s.client.GetFunction(ctx, &lambda.GetFunctionInput{FunctionName: &name})
	if aws.Is(err, notFound) {
		return found{first: true}, nil
	}
	if err != nil {
		return found{}, s.failed(ctx, "GetFunction", err)
	}
	newest, err := s.newest(ctx, name)
	now := found{config: out.Configuration, newest: newest, tags: out.Tags}
	if out.Tags == nil && out.TagsError == nil {
		now.tags = map[string]string{}
	}
	if out.Code != nil {
		now.image = sdk.ToString(out.Code.ResolvedImageUri)
	}
	return now, err
}

// prepare keeps what is there before the first change. A stage that was here
// before has kept it already, and gets that.
func (s *session) prepare(ctx context.Context, d definition, now found) (before, error) {
	b := before{Function: d.name, First: now.first, Aliases: map[string]alias{}}
	for _, name := range d.named() {
		a, err := s.alias(ctx, d.name, name)
		if err != nil {
			return b, err
		}
		b.Aliases[name] = a.alias
	}
	if !now.first {
		b.Description, b.Tags = sdk.ToString(now.config.Description), now.tags
		v := now.newest
		if v == nil {
			var err error
			if v, err = s.publishBefore(ctx, d.name); err != nil {
				return b, err
			}
		}
		b.Version = sdk.ToString(v.Version)
		s.Say("Function %s: version %s, code %s, %d MB, %s %s %v", d.name, b.Version, sdk.ToString(v.CodeSha256), sdk.ToInt32(v.MemorySize), v.Runtime, sdk.ToString(v.Handler), v.Architectures)
	}
	first, err := executor.Keep(ctx, s.Env, s.key(beforeKey, d.name), b)
	if first.First {
		s.Say("Function %s isn't there before this stage", d.name)
	}
	return first, err
}

// newest is the newest published version; nil for none.
func (s *session) newest(ctx context.Context, name string) (*types.FunctionConfiguration, error) {
	all, err := s.published(ctx, name)
	var last *types.FunctionConfiguration
	for _, v := range all {
		if last == nil || number(v.Version) > number(last.Version) {
			last = &v
		}
	}
	return last, err
}

// published are the published versions.
func (s *session) published(ctx context.Context, name string) ([]types.FunctionConfiguration, error) {
	var all []types.FunctionConfiguration
	pages := lambda.NewListVersionsByFunctionPaginator(s.client, &lambda.ListVersionsByFunctionInput{FunctionName: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, s.failed(ctx, "ListVersionsByFunction", err)
		}
		for _, v := range page.Versions {
			if number(v.Version) > 0 {
				all = append(all, v)
			}
		}
	}
	return all, nil
}

// number is that of a version; 0 of $LATEST.
func number(version *string) int {
	n, err := strconv.Atoi(sdk.ToString(version))
	if err != nil {
		return 0
	}
	return n
}

// publishBefore publishes a function that was made by hand.
func (s *session) publishBefore(ctx context.Context, name string) (*types.FunctionConfiguration, error) {
	s.Say("Function %s has no version: publishing it as it is, so that it can be brought back", name)
	if _, err := s.settled(ctx, name, "", false); err != nil {
		return nil, err
	}
	out, err := s.client.PublishVersion(ctx, &lambda.PublishVersionInput{FunctionName: &name, Description: sdk.String(madeBefore)})
	if err != nil {
		return nil, s.full(ctx, name, s.failed(ctx, "PublishVersion", err))
	}
	return &types.FunctionConfiguration{
		Version: out.Version, CodeSha256: out.CodeSha256, MemorySize: out.MemorySize, Runtime: out.Runtime, Handler: out.Handler, Architectures: out.Architectures,
	}, nil
}

// suits says whether a function can get the code.
func suits(name string, now found, c code) error {
	if now.first {
		return nil
	}
	has := now.config.PackageType
	if has == "" {
		has = types.PackageTypeZip
	}
	if want := c.packageType(); has != want {
		return wrong("function %s has the package type %s, and the artifact is of the type %s: AWS can't change that. Give the new function another name, or delete this one first", name, has, want)
	}
	return nil
}

// checkpoints are those of the stage, the newest first, by what they hold.
func (s *session) checkpoints(ctx context.Context) (found []before, releases map[string]release, err error) {
	all, err := s.Env.Checkpoints(ctx)
	if err != nil {
		return nil, nil, err
	}
	releases = map[string]release{}
	for _, c := range all {
		var b before
		var r release
		switch {
		case strings.HasPrefix(c.Key, beforeKey):
			err = json.Unmarshal(c.Data, &b)
			found = append(found, b)
		case strings.HasPrefix(c.Key, releaseKey):
			err = json.Unmarshal(c.Data, &r)
			releases[r.Function] = r
		}
		if err != nil {
			return nil, nil, fault.New(fault.Invalid, "decode the checkpoint %s: %w", c.Key, err)
		}
	}
	return found, releases, nil
}

// keep keeps what was published.
func (s *session) keep(ctx context.Context, r release) error {
	_, err := executor.Keep(ctx, s.Env, s.key(releaseKey, r.Function), r)
	return err
}
