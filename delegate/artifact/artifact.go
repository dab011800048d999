// Package artifact finds versions of artifacts: it asks a registry, a
// repository manager or a CI server which there are, and chooses the one that
// a stage deploys (semantics/entities §2.2).
//
// It downloads no artifact when it looks for one; an image's configuration is all
// that it reads then. Who deploys files asks for one by File.
package artifact

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// Unit is the command unit of the log.
const Unit = "Service"

// New makes the executor. Requests are sent over t; nil is a transport with
// net/http's defaults. Scripts of custom artifacts run as tasks of the kind
// shell do.
func New(t http.RoundTripper, script executor.Executor) executor.Executor {
	if t == nil {
		t = http.DefaultTransport
	}
	return func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		p, err := executor.Payload[lookup.Artifact](a)
		if err != nil {
			return task.Result{}, err
		}
		sources := func(p lookup.Artifact) (source, error) {
			if p.Custom != nil {
				return &custom{spec: *p.Custom, name: p.Name, script: script, a: a, env: env}, nil
			}
			return open(p, t)
		}
		r, err := run(ctx, p, sources, env)
		if fault.Is(err, fault.Unsupported) {
			return task.Result{}, err
		}
		if err != nil {
			if ctx.Err() != nil {
				return task.Result{}, context.Cause(ctx)
			}
			fmt.Fprintln(env.LogError(Unit), err)
			return executor.Fail(fault.Failures(err), "%s", err), nil
		}
		return r, nil
	}
}

// source is where the versions of one artifact are.
type source interface {
	// versions lists them, the newest first; at most maxVersions.
	versions(ctx context.Context) ([]version, error)
	// find looks one up. One that isn't there is fault.NotFound.
	find(ctx context.Context, id string) (found, error)
}

// version is one of those that there are.
type version struct {
	id      string
	created time.Time // zero where the source doesn't tell
}

// found is what is known of the chosen version.
type found = lookup.Results

// maxVersions is how many versions of an artifact are looked at.
const maxVersions = 10_000

// open makes the source that a task is about.
func open(p lookup.Artifact, t http.RoundTripper) (source, error) {
	switch {
	case p.Github != nil:
		return newGithub(p, t)
	case p.ECR != nil:
		return ecrImages{*p.ECR, t}, nil
	case p.S3 != nil:
		return s3Objects{*p.S3, p.Choice.Pattern, t}, nil
	case p.AMI != nil:
		return &machineImages{spec: *p.AMI, t: t}, nil
	case p.Nexus != nil:
		return &nexus{spec: *p.Nexus, name: p.Name, client: restapi.New(p.Nexus.Server, t)}, nil
	case p.Artifactory != nil:
		return &artifactory{spec: *p.Artifactory, name: p.Name, client: restapi.New(p.Artifactory.Server, t)}, nil
	case p.Jenkins != nil:
		return &builds{spec: *p.Jenkins, name: p.Name, client: restapi.New(p.Jenkins.Server, t)}, nil
	case p.Bucket != nil:
		return &bucket{spec: *p.Bucket, t: t}, nil
	case p.Registry != nil:
		return newRegistry(*p.Registry, t)
	case p.Type == "CustomArtifact":
		return nil, fault.New(fault.Unsupported, "%s has no script that lists versions; its version is written in the service", p.Name)
	}
	return nil, fault.New(fault.Unsupported, "artifact sources of type %s aren't known to this delegate; it may be older than the control plane", p.Type)
}

// run looks the primary artifact up, and those beside it.
func run(ctx context.Context, p lookup.Artifact, sources func(lookup.Artifact) (source, error), env executor.Env) (task.Result, error) {
	results := map[string]any{}
	if p.Type != "" {
		f, err := look(ctx, p, sources, env)
		if err != nil {
			return task.Result{}, err
		}
		results["primary"] = f
	}
	beside := map[string]found{}
	for _, s := range p.Sidecars {
		f, err := look(ctx, s.Artifact, sources, env)
		if err != nil {
			return task.Result{}, fmt.Errorf("sidecar %s: %w", s.ID, err)
		}
		beside[s.ID] = f
	}
	if len(beside) > 0 {
		results["sidecars"] = beside
	}
	return result(results)
}

// look asks the source of one artifact.
func look(ctx context.Context, p lookup.Artifact, sources func(lookup.Artifact) (source, error), env executor.Env) (found, error) {
	src, err := sources(p)
	if err != nil {
		return found{}, err
	}
	if p.Choice.List == 0 {
		return choose(ctx, src, p, env)
	}
	var f found
	f.Versions, err = list(ctx, src, p.Choice.List)
	return f, err
}

// list gives the newest versions.
func list(ctx context.Context, src source, limit int) ([]lookup.ArtifactVersion, error) {
	all, err := src.versions(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]lookup.ArtifactVersion, 0, min(limit, len(all)))
	for _, v := range all[:min(limit, len(all))] {
		out = append(out, lookup.ArtifactVersion{Version: v.id, Created: v.created})
	}
	return out, nil
}

// result puts what was found where the expressions of a stage look for it.
func result(results map[string]any) (task.Result, error) {
	return executor.Succeed(map[string]any{"artifactResults": results})
}

// sorted puts the newest version first, which is the last in lexical order
// where several came at the same time.
func sorted(all []version) []version {
	slices.SortFunc(all, func(a, b version) int {
		return cmp.Or(b.created.Compare(a.created), cmp.Compare(b.id, a.id))
	})
	return all[:min(len(all), maxVersions)]
}
