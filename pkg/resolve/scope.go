// Package resolve says what names mean to the expressions of one node: the
// pipeline's document, the states and outputs of other nodes, the stage's
// service, environment and infrastructure, and secrets as placeholders
// (semantics/pipeline §3.5 and §3.6).
//
// It resolves late and reads lazily: only what an expression names is looked
// at. Grammar, operators and pure functions are pkg/expr's.
//
// Documents are decoded with their expressions, and of a service only what is
// asked for is resolved: the rest may name secrets that nothing needs. What a
// path of an expression goes through is the document as it stands.
package resolve

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/template"
)

// Config is what a Scope reads from.
type Config struct {
	entity.Types // of documents

	Context   context.Context //nolint:containedctx // a Scope lives for one call; expr's interface has no context
	Plan      *plan.Plan
	Node      *plan.Node // whose expressions are evaluated
	State     func(plan.NodeID) plan.State
	Execution store.Execution
	Entities  store.Entities
	Files     store.Files     // the file store
	Templates template.Lookup // of secret managers; nil: none can be read
	Mail      *mail.Server    // the installation's; its password refers to a secret
	Now       time.Time
	// Last finds the stage that has last deployed the same as one, and
	// succeeded; nil if there is none. Without it nobody knows of any.
	Last func(stage *plan.Node, d *plan.Deployment) (*Past, error)
}

// Scope resolves names for one node.
type Scope struct {
	Config
	trail   *expr.Trail           // of values that refer to values
	names   map[string]expr.Value // of a late expression, e.g. httpResponseCode
	secrets *placeholders
	outputs outputs
	pasts   map[plan.NodeID]*Past // by stage, see last
	decoded map[*plan.Deployment]*deployed
	event   started
}

// New makes a Scope. It is for one goroutine.
func New(cfg Config) *Scope {
	hidden := newPlaceholders()
	return &Scope{
		Config: cfg, secrets: hidden, outputs: outputs{decoded: map[plan.NodeID]any{}, secrets: hidden}, pasts: map[plan.NodeID]*Past{},
		decoded: map[*plan.Deployment]*deployed{}, event: started{plan: cfg.Plan},
	}
}

// record is the plan with what has become of its nodes.
func (s *Scope) record() record { return record{plan: s.Plan, state: s.State} }

// documents are what people have saved, as the execution finds it.
func (s *Scope) documents() documents {
	return documents{ctx: s.Context, entities: s.Entities, types: &s.Types, files: s.Files, scope: s.Execution.Scope}
}

// paths find what stands where in the pipeline: by the words of its YAML, from
// a node up, or from the top down.
type paths struct{ scope *Scope }

func (s *Scope) paths() paths { return paths{s} }

// deployments find what a stage deploys, where to, and what became of it.
type deployments struct{ scope *Scope }

func (s *Scope) deployments() deployments { return deployments{s} }

// artifacts find the versions that services deploy, and where those are kept.
type artifacts struct{ scope *Scope }

func (s *Scope) artifacts() artifacts { return artifacts{s} }

// files have the content of the files that a stage deploys with, and of the file
// store's.
type files struct{ scope *Scope }

func (s *Scope) files() files { return files{s} }

// access has what proves to others who asks: connectors, secrets, keys, and the
// stores of files that they open.
type access struct{ scope *Scope }

func (s *Scope) access() access { return access{s} }

// Lookup finds the longest part of a path that names something (expr.Scope).
func (s *Scope) Lookup(path []string) (expr.Value, int, error) {
	if v, ok := s.names[path[0]]; ok {
		return v, 1, nil
	}
	switch path[0] {
	case "pipeline":
		if v, n, ok := s.record().elsewhere(path); ok {
			return v, n, nil
		}
		return s.paths().absolute(path, 0)
	case "stages":
		path = join([]string{"pipeline"}, path)
		if v, n, ok := s.record().elsewhere(path); ok {
			return v, n - 1, nil
		}
		return s.paths().absolute(path, 1)
	case "stage", "execution", "steps", "stepGroup", "step", "spec":
		return s.paths().relative(path)
	case "instance":
		return s.deployments().instance(path)
	case "matrix", "repeat", "strategy":
		return s.record().looped(s.Node, path)
	case "account", "org", "project":
		return s.documents().scopeNames(path)
	case "service", "serviceVariables", "serviceVariableOverrides", "serviceConfig", "env", "infra", "infrastructure",
		"artifact", "artifacts", "primary", "rollbackArtifact", "manifests", "manifest", "manifestConfig", "INFRA_KEY", "INFRA_KEY_SHORT_ID":
		return s.deployments().field(s.Node.Stage(), path)
	case "provisioner":
		return provisioner{s, s.Node.Stage()}.lookup(path)
	case "kubernetes":
		// The release number is known on the delegate only
		// (semantics/kubernetes §4.1).
		return expr.String("<+" + dotted(path) + ">"), len(path), nil
	case "inputSet":
		return s.record().inputSet(), 1, nil
	case "trigger", "eventPayload":
		return s.event.triggered(path)
	case "codebase":
		return expr.Null(), len(path), nil // a known name without a value
	case "approval":
		return s.paths().approval(path)
	case "variable":
		return s.documents().scopeVariable(path)
	case "OnPipelineSuccess", "OnPipelineFailure", "OnStageSuccess", "OnStageFailure", "Always":
		return s.record().verdict(s.Node, path[0])
	}
	if path[0] == "lastPublished" {
		return expr.Null(), 0, fault.New(fault.Invalid, "<+%s> is the tag or the version of an artifact source, and nothing else", dotted(path))
	}
	return s.paths().shortcut(path)
}

// elsewhere finds the value that was given for a path into a stage that
// doesn't run (semantics/pipeline §8.5).
func (r record) elsewhere(path []string) (expr.Value, int, bool) {
	for n := len(path); n > 3 && len(r.plan.Values) > 0; n-- {
		if v, ok := r.plan.Values[strings.Join(path[:n], ".")]; ok {
			return expr.String(v), n, true
		}
	}
	return expr.Null(), 0, false
}

// inputSet is what the execution was started with: the pipeline's inputs with
// their values, below the key pipeline (semantics/pipeline §2.4).
func (r record) inputSet() expr.Value {
	if r.plan.Inputs == nil {
		return expr.Null()
	}
	return expr.FromAny(map[string]any{"pipeline": r.plan.Inputs.Any()})
}

// Call runs the functors that aren't pure (expr.Scope).
func (s *Scope) Call(name string, args []expr.Value) (expr.Value, error) {
	switch name {
	case "secrets.getValue":
		if len(args) != 1 {
			return expr.Null(), fault.New(fault.Invalid, "secrets.getValue takes one argument, the secret's identifier; found %d", len(args))
		}
		return s.access().secretNamed(args[0].Text(), s.Execution.Scope, s.trail == nil && !s.secrets.inside)
	case "oidc.token":
		if len(args) != 1 {
			return expr.Null(), fault.New(fault.Invalid, "oidc.token takes one argument, the audience; found %d", len(args))
		}
		return token(s, args[0].Text())
	case "configFile.getAsString", "configFile.getAsBase64":
		if len(args) != 1 {
			return expr.Null(), fault.New(fault.Invalid, "%s takes one argument, the config file's identifier; found %d", name, len(args))
		}
		return s.files().configFile(args[0].Text(), name == "configFile.getAsBase64")
	case "fileStore.getAsString", "fileStore.getAsBase64":
		if len(args) != 1 {
			return expr.Null(), fault.New(fault.Invalid, "%s takes one argument, a path such as \"/scripts/deploy.sh\"; found %d", name, len(args))
		}
		return s.files().text(args[0].Text(), name == "fileStore.getAsBase64")
	case "exportedVariables.getValue":
		if len(args) != 1 {
			return expr.Null(), fault.New(fault.Invalid, "exportedVariables.getValue takes one argument, such as \"pipeline.build.version\"; found %d", len(args))
		}
		return s.exported(args[0].Text())
	case "currentTime", "currentDate":
		return expr.String(s.Now.UTC().Format(time.RFC3339)), nil
	}
	if functor, _, _ := strings.Cut(name, "."); slices.Contains([]string{"configFile", "fileStore", "exportedVariables", "oidc", "secrets"}, functor) {
		return expr.Null(), fault.New(fault.Unsupported, "the function %s can't be used yet", name)
	}
	return expr.Null(), expr.ErrUnknown
}

// Condition evaluates a `when` condition (semantics/pipeline §4).
func (s *Scope) Condition(body string) (bool, error) { return expr.Condition(body, s) }

// Text resolves a text to a string.
func (s *Scope) Text(text string) (string, error) {
	v, err := expr.Interpolate(text, s)
	if err != nil {
		return "", err
	}
	return v.Text(), nil
}

// EvaluateWith evaluates an expression body with more names.
func (s *Scope) EvaluateWith(body string, names map[string]expr.Value) (expr.Value, error) {
	return expr.Evaluate(body, s.With(names))
}

// InterpolateWith resolves a text with more names.
func (s *Scope) InterpolateWith(text string, names map[string]expr.Value) (expr.Value, error) {
	return expr.Interpolate(text, s.With(names))
}

// InterpolateKnown resolves a text for people: what can't be resolved stays in
// it as it was written.
func (s *Scope) InterpolateKnown(text string) (expr.Value, error) {
	return expr.InterpolateKnown(text, s)
}

// InterpolateBlank resolves a text with more names: what can't be resolved, or
// has no value, is an empty text.
func (s *Scope) InterpolateBlank(text string, names map[string]expr.Value) (expr.Value, error) {
	return expr.InterpolateBlank(text, s.With(names))
}

// With is the same scope with more names.
func (s *Scope) With(names map[string]expr.Value) *Scope {
	t := *s
	t.names = names
	return &t
}

// value resolves a text that was found on the way to another value. The same
// text inside itself is a circle: all of it is resolved for the same node.
func (s *Scope) value(text string) (expr.Value, error) {
	if !strings.Contains(text, "<+") {
		return expr.String(text), nil
	}
	inner, err := s.trail.Enter(text)
	if err != nil {
		return expr.Null(), err
	}
	outer := s.trail
	s.trail = inner
	defer func() { s.trail = outer }()
	return expr.Interpolate(text, s)
}

// unknown is the error of a name that doesn't exist where a list of names is
// given (semantics/pipeline §3.5, unresolved policy).
func unknown(format string, args ...any) error {
	return fmt.Errorf("%w: %w", expr.ErrUnknown, fault.New(fault.UnresolvedExpression, format, args...))
}
