package entity

import (
	"fmt"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The types of overrides, from those that win least to those that win most
// (semantics/entities §8).
const (
	EnvGlobal    = "ENV_GLOBAL_OVERRIDE"
	EnvService   = "ENV_SERVICE_OVERRIDE"
	infraGlobal  = "INFRA_GLOBAL_OVERRIDE"
	infraService = "INFRA_SERVICE_OVERRIDE"
)

// OverrideTypes lists them in that order.
func OverrideTypes() []string { return []string{EnvGlobal, EnvService, infraGlobal, infraService} }

// Override is a document of overrides: what services get in an environment
// instead of what they define (semantics/entities §8). A serviceOverrides
// document is one of the type EnvService, of version 1.
type Override struct {
	Type           yamldoc.Field[string]
	EnvironmentRef yamldoc.Field[string]
	ServiceRef     yamldoc.Field[string]
	Infrastructure yamldoc.Field[string] // its identifier in the environment
	Variables      []Variable
	Manifests      []Manifest
	ConfigFiles    []ConfigFile
}

func (d environments) override(v yamldoc.Value, e *Entity) *Override {
	o := &Override{}
	typ, env := document.Peek(v, "type"), document.Peek(v, "environmentRef")
	service, infra := strings.Contains(typ, "_SERVICE_"), strings.HasPrefix(typ, "INFRA_")
	d.Fields(v, document.Merge(d.meta(e), d.overriding(o), document.Keys{
		"identifier":        d.handle,
		"type":              d.Supported(&o.Type, "the override type", OverrideTypes(), "CLUSTER_GLOBAL_OVERRIDE", "CLUSTER_SERVICE_OVERRIDE"),
		"environmentRef":    d.chosen(ref.Environment, &o.EnvironmentRef),
		"serviceRef":        d.about(typ, service, d.chosen(ref.Service, &o.ServiceRef)),
		"infraIdentifier":   d.about(typ, infra, func(v yamldoc.Value) { d.overriddenInfrastructure(v, env, o) }),
		"clusterIdentifier": d.Refuse("overrides of GitOps clusters aren't supported"),
		"spec":              func(v yamldoc.Value) { d.Fields(v, d.overriding(o)) },
	}))
	d.Need(v, "type", "environmentRef")
	if service {
		d.Need(v, "serviceRef")
	}
	if infra {
		d.Need(v, "infraIdentifier")
		d.Takes(v, yamldoc.UseClosed)
		d.noInputs(v)
	}
	d.named(e, o)
	return o
}

// serviceOverride decodes overrides of version 1.
func (d environments) serviceOverride(v yamldoc.Value, e *Entity) *Override {
	o := &Override{Type: yamldoc.Field[string]{Value: EnvService, Set: true}}
	d.Fields(v, document.Merge(d.meta(e), d.overriding(o), document.Keys{
		"identifier":        d.handle,
		"environmentRef":    d.chosen(ref.Environment, &o.EnvironmentRef),
		"serviceRef":        d.chosen(ref.Service, &o.ServiceRef),
		"variableOverrides": d.variables(&o.Variables),
	}))
	d.Need(v, "environmentRef", "serviceRef")
	if !document.Neutral(v.Node.Get("variables")) && !document.Neutral(v.Node.Get("variableOverrides")) {
		d.Errorf(v, document.Ambiguous, "found variables and variableOverrides; want only one of them")
	}
	d.named(e, o)
	return o
}

// handle reads the name that Harness gives to overrides. They are found by
// what they override, so it says nothing.
func (d environments) handle(v yamldoc.Value) { d.Identifier(v, ref.CheckNodeID) }

// overriding are the keys of what is overridden.
func (d environments) overriding(o *Override) document.Keys {
	return document.Keys{
		"variables": d.variables(&o.Variables),
		"manifests": func(v yamldoc.Value) {
			o.Manifests = services(d).overridingManifests(v)
		},
		"configFiles":         func(v yamldoc.Value) { o.ConfigFiles = services(d).configFiles(v) },
		"applicationSettings": d.Never("application settings are those of Azure Web Apps, which aren't supported"),
		"connectionStrings":   d.Never("connection strings are those of Azure Web Apps, which aren't supported"),
	}
}

func (d environments) overriddenInfrastructure(v yamldoc.Value, env string, o *Override) {
	o.Infrastructure = d.String(v)
	d.Fixed(v, o.Infrastructure.Expr)
	d.referInfrastructure(v, o.Infrastructure.Value, env)
}

// about binds what overrides of some types are about, and of others not.
func (d environments) about(typ string, wanted bool, decode document.Rule) document.Rule {
	if typ == "" {
		return decode
	}
	if !wanted {
		return d.Forbid(document.Ambiguous, "overrides of the type "+typ+" have none")
	}
	return func(v yamldoc.Value) {
		if decode(v); !v.Null() && document.Neutral(v.Node) {
			d.Errorf(v, document.MissingKey, "%s is empty; overrides of the type %s need one", v.Key, typ)
		}
	}
}

// noInputs reports inputs, which nobody could give a value. It looks at lists
// where none is wanted, too: who reads them says so.
func (d environments) noInputs(v yamldoc.Value) {
	switch {
	case v.Is(yamldoc.Mapping):
		for _, e := range v.Node.Entries {
			d.noInputs(document.At(v, e.Key, e.Value))
		}
	case v.Is(yamldoc.Sequence):
		for i, item := range v.Node.Items {
			d.noInputs(yamldoc.Sub(item, fmt.Sprintf("%s[%d]", v.Path, i)))
		}
	case v.Is(yamldoc.Scalar) && expr.IsRuntimeInput(v.Node.Value):
		d.Errorf(v, document.WrongValue, "found a runtime input; overrides of infrastructures can't have any")
	}
}

// named gives the entity the name by which it is found: what it overrides.
func (d environments) named(e *Entity, o *Override) {
	env, err := ref.Parse(o.EnvironmentRef.Value, d.Scope)
	if err != nil {
		return // reported where it stands
	}
	e.Parent = env
	var service string
	if o.ServiceRef.Value != "" {
		r, err := ref.Parse(o.ServiceRef.Value, d.Scope)
		if err != nil {
			return
		}
		service = r.Text(d.Scope)
	}
	e.Identifier = yamldoc.Field[string]{Value: OverrideID(service, o.Infrastructure.Value), Set: true}
	if e.Name.Value == "" {
		e.Name = e.Identifier
	}
}

// OverrideID is how overrides are called within their environment: global,
// service:web, infrastructure:eu or service:web:infrastructure:eu. The service
// is named as in the scope of the overrides.
func OverrideID(service, infrastructure string) string {
	var parts []string
	if service != "" {
		parts = append(parts, "service:"+service)
	}
	if infrastructure != "" {
		parts = append(parts, "infrastructure:"+infrastructure)
	}
	if parts == nil {
		return "global"
	}
	return strings.Join(parts, ":")
}
