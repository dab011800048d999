// Package generate makes the applications of an ApplicationSet: parameters of its
// generators, put into its template (semantics/gitops §15). What generators want to
// know of Git, of clusters and of the hosts of repositories they ask for.
//
// It answers none of these questions, and does nothing with the applications:
// what is made, changed and deleted is the caller's. Templates are other people's
// and may take any time and memory, so they run in a sandbox.
package generate

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"dario.cat/mergo"

	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// MaxApplications bounds what one set comes to.
const MaxApplications = 10_000

// Reason is why a set's applications couldn't be made, in the words of the
// condition ErrorOccurred.
type Reason string

// The reasons, which are Argo CD's.
const (
	ParametersFailed  Reason = "ApplicationParamsGenerationError"
	TemplateFailed    Reason = "RenderTemplateParamsError"
	ApplicationsWrong Reason = "ApplicationValidationError"
)

// Outcome is what a set comes to: its applications or, if anything went wrong, why
// there are none. A set never has a part of its applications.
type Outcome struct {
	Applications []gitops.Application `json:"applications,omitempty"`
	Reason       Reason               `json:"reason,omitempty"`
	Message      string               `json:"message,omitempty"`
}

// verb is what a sandbox does of this package.
const verb = "applicationset"

// Verbs are what this package has a sandbox do: make a set's applications.
func Verbs() sandbox.Verbs {
	return sandbox.Verbs{verb: func(ctx context.Context, c sandbox.Call) (any, error) {
		set, err := sandbox.Decode[appset.Set](c)
		if err != nil {
			return nil, err
		}
		return Applications(ctx, set, func(_ context.Context, q Question) (Answer, error) {
			var a Answer
			err := c.Ask(verb, q, &a)
			return a, err
		})
	}}
}

// In makes the applications of a set in a sandbox that knows Verbs. An error is the
// sandbox's: the set took too long or too much.
func In(ctx context.Context, in *sandbox.Sandbox, set appset.Set, ask Ask) (Outcome, error) {
	var out Outcome
	err := in.Run(ctx, sandbox.Work{
		Verb: verb, What: "making the applications of " + set.Meta.Name, Request: set,
		Asked: func(ctx context.Context, _ string, question json.RawMessage) (any, error) {
			var q Question
			if err := json.Unmarshal(question, &q); err != nil {
				return nil, fault.New(fault.Invalid, "decode a question: %w", err)
			}
			return ask(ctx, q)
		},
	}, &out)
	return out, err
}

// Applications makes the applications of a set in this process, which must be a
// sandbox's. The error is that of the context.
func Applications(ctx context.Context, set appset.Set, ask Ask) (Outcome, error) {
	g := &generator{ctx: ctx, ask: ask, notation: newNotation(set.Spec.GoTemplate, set.Spec.GoTemplateOptions), answers: map[string]Answer{}}
	apps, err := g.applications(set)
	if ctx.Err() != nil {
		return Outcome{}, context.Cause(ctx)
	}
	var failed *failure
	if errors.As(err, &failed) {
		return Outcome{Reason: failed.reason, Message: failed.Error()}, nil
	}
	return Outcome{Applications: apps}, err
}

// failure is an error and what of a set it is about.
type failure struct {
	reason Reason
	err    error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func failed(reason Reason, text string, args ...any) error {
	return &failure{reason: reason, err: fault.New(fault.Invalid, text, args...)}
}

// generator makes the parameters of one set.
type generator struct {
	ctx      context.Context //nolint:containedctx // one call's, as all of it
	ask      Ask
	notation *notation
	answers  map[string]Answer // by their questions
}

func (g *generator) applications(set appset.Set) ([]gitops.Application, error) {
	var apps []gitops.Application
	names := map[string]bool{}
	for i := range set.Spec.Generators {
		gen := &set.Spec.Generators[i]
		sets, err := g.parameters(gen, 0)
		if err != nil {
			return nil, failed(ParametersFailed, "generator %d: %w", i+1, err)
		}
		if len(apps)+len(sets) > MaxApplications {
			return nil, failed(ApplicationsWrong, "the set comes to more than %d applications", MaxApplications)
		}
		t, err := over(gen, set.Spec.Template)
		if err != nil {
			return nil, failed(TemplateFailed, "generator %d: %w", i+1, err)
		}
		for _, p := range sets {
			app, err := g.application(set, t, p)
			if err != nil {
				return nil, failed(TemplateFailed, "generator %d: %w", i+1, err)
			}
			if names[app.Meta.Name] {
				return nil, failed(ApplicationsWrong, "the set has the application %q twice", app.Meta.Name)
			}
			names[app.Meta.Name] = true
			apps = append(apps, app)
		}
	}
	return apps, nil
}

// over is a generator's own template, which comes before the set's field by field.
func over(gen *appset.Generator, set appset.Template) (appset.Template, error) {
	t := template(gen)
	if err := mergo.Merge(&t, set); err != nil {
		return t, fault.New(fault.Invalid, "the generator's template: %w", err)
	}
	return t, nil
}

func template(gen *appset.Generator) appset.Template {
	switch {
	case gen.List != nil:
		return gen.List.Template
	case gen.Clusters != nil:
		return gen.Clusters.Template
	case gen.Git != nil:
		return gen.Git.Template
	case gen.SCMProvider != nil:
		return gen.SCMProvider.Template
	case gen.Decisions != nil:
		return gen.Decisions.Template
	case gen.PullRequests != nil:
		return gen.PullRequests.Template
	case gen.Plugin != nil:
		return gen.Plugin.Template
	case gen.Matrix != nil:
		return gen.Matrix.Template
	case gen.Merge != nil:
		return gen.Merge.Template
	}
	return appset.Template{}
}

// application puts parameters into a template. As in Argo CD a template is left as
// it is where there are no parameters at all.
func (g *generator) application(set appset.Set, t appset.Template, p Params) (gitops.Application, error) {
	app := gitops.Application{Meta: t.Meta, Spec: t.Spec}
	if len(p) > 0 {
		filled, err := fill(app, func(text string) (string, error) { return g.notation.fill(text, p) })
		if err != nil {
			return app, err
		}
		app = filled
		keep := set.Spec.SyncPolicy != nil && set.Spec.SyncPolicy.PreserveResourcesOnDeletion
		if len(app.Meta.Finalizers) == 0 && !keep {
			app.Meta.Finalizers = []string{object.FinalizerForeground}
		}
	}
	if set.Spec.TemplatePatch != nil {
		patch, err := g.notation.fill(*set.Spec.TemplatePatch, p)
		if err != nil {
			return app, fault.New(fault.Invalid, "templatePatch: %w", err)
		}
		if app, err = patched(app, patch); err != nil {
			return app, fault.New(fault.Invalid, "templatePatch: %w", err)
		}
	}
	app.Meta.Namespace = set.Meta.Namespace // which bounds what a set may make
	return app, nil
}

// parameters are the sets of parameters of a generator. depth is in how many
// generators it stands.
func (g *generator) parameters(gen *appset.Generator, depth int) ([]Params, error) {
	if err := gen.Selector.Check(); err != nil {
		return nil, err
	}
	sets, err := g.unselected(gen, depth)
	if err != nil || gen.Selector == nil {
		return sets, err
	}
	return slices.DeleteFunc(sets, func(p Params) bool { return !gen.Selector.Matches(flat(p)) }), nil
}

func (g *generator) unselected(gen *appset.Generator, depth int) ([]Params, error) {
	switch {
	case gen.List != nil:
		return g.list(gen.List)
	case gen.Clusters != nil:
		return g.clusters(gen.Clusters)
	case gen.Git != nil:
		return g.git(gen.Git)
	case gen.SCMProvider != nil:
		return g.repositories(gen.SCMProvider)
	case gen.Decisions != nil:
		return g.decisions(gen.Decisions)
	case gen.PullRequests != nil:
		return g.pullRequests(gen.PullRequests)
	case gen.Plugin != nil:
		return g.plugin(gen.Plugin)
	case depth > 1 && (gen.Matrix != nil || gen.Merge != nil):
		return nil, fault.New(fault.Invalid, "matrix and merge may stand in one another once")
	case gen.Matrix != nil:
		return g.matrix(gen.Matrix, depth)
	case gen.Merge != nil:
		return g.merge(gen.Merge, depth)
	}
	return nil, fault.New(fault.Invalid, "the generator has no kind; want list, clusters, git, scmProvider, clusterDecisionResource, pullRequest, plugin, matrix or merge")
}

// matrix is each set of the first generator with each of the second. Where both say
// something, Go's templates take what the first says, and {{key}} takes none.
func (g *generator) matrix(m *appset.Matrix, depth int) ([]Params, error) {
	if len(m.Generators) != 2 {
		return nil, fault.New(fault.Invalid, "matrix has %d generators; want 2", len(m.Generators))
	}
	first, err := g.parameters(&m.Generators[0], depth+1)
	if err != nil {
		return nil, fault.New(fault.Invalid, "matrix, generator 1: %w", err)
	}
	var all []Params
	for _, a := range first {
		gen, err := g.given(&m.Generators[1], a)
		if err != nil {
			return nil, fault.New(fault.Invalid, "matrix, generator 2: %w", err)
		}
		second, err := g.parameters(gen, depth+1)
		if err != nil {
			return nil, fault.New(fault.Invalid, "matrix, generator 2: %w", err)
		}
		if len(all)+len(second) > MaxApplications {
			return nil, fault.New(fault.TooLarge, "matrix comes to more than %d sets of parameters", MaxApplications)
		}
		for _, b := range second {
			joined, err := g.joined(a, b)
			if err != nil {
				return nil, fault.New(fault.Invalid, "matrix: %w", err)
			}
			all = append(all, joined)
		}
	}
	return all, nil
}

// joined is a set of the first generator of a matrix with one of the second.
func (g *generator) joined(a, b Params) (Params, error) {
	if g.notation.golang {
		all := b.clone()
		return all, deepen(all, a)
	}
	all := texts(a)
	for k, v := range texts(b) {
		if was, ok := all[k]; ok && was != v {
			return nil, fault.New(fault.Invalid, "both generators have the parameter %q, with different values", k)
		}
		all[k] = v
	}
	return all, nil
}

// merge is the sets of the first generator with what those of the others say that
// have the same values for the keys; what they have besides is left out.
func (g *generator) merge(m *appset.Merge, depth int) ([]Params, error) {
	if len(m.Generators) < 2 {
		return nil, fault.New(fault.Invalid, "merge has %d generators; want at least 2", len(m.Generators))
	}
	if len(m.MergeKeys) == 0 {
		return nil, fault.New(fault.Invalid, "merge has no mergeKeys; want at least one")
	}
	var base []Params
	for i := range m.Generators {
		sets, err := g.parameters(&m.Generators[i], depth+1)
		if err != nil {
			return nil, fault.New(fault.Invalid, "merge, generator %d: %w", i+1, err)
		}
		by := map[string]Params{}
		for _, p := range sets {
			key, err := p.key(m.MergeKeys)
			if err != nil {
				return nil, err
			}
			if by[key] != nil {
				return nil, fault.New(fault.Invalid, "merge, generator %d: two sets of parameters have the same merge keys, %s", i+1, key)
			}
			by[key] = p
		}
		if i == 0 {
			base = sets
			continue
		}
		for _, p := range base {
			key, err := p.key(m.MergeKeys)
			if err != nil {
				return nil, err
			}
			if err := g.override(p, by[key]); err != nil {
				return nil, fault.New(fault.Invalid, "merge, generator %d: %w", i+1, err)
			}
		}
	}
	return base, nil
}

func (g *generator) override(p, by Params) error {
	if g.notation.golang {
		return deepen(p, by)
	}
	for k, v := range by {
		p[k] = v
	}
	return nil
}
