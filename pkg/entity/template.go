package entity

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/extent"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Template is one version of a template (pipeline spec §9.1). What its body
// lacks is filled in where it is used: pkg/template does that.
type Template struct {
	Type             yamldoc.Field[string]
	VersionLabel     yamldoc.Field[string]
	Spec             *yamldoc.Node
	AllowedOverrides []yamldoc.Field[string]
}

// shared says whether the document is a template that other scopes use. A
// name without a scope would mean something else in each of them.
func (d *decoder) shared() bool { return d.kind == ref.Template && d.scope.Project == "" }

func (d *decoder) template(v yamldoc.Value, e *Entity) *Template {
	t := &Template{}
	kind := template.Kind(peek(v, "type"))
	var supported, others []string
	for _, k := range template.Kinds() {
		if k.Supported() {
			supported = append(supported, string(k))
		} else {
			others = append(others, string(k))
		}
	}
	d.fields(v, merge(d.meta(e), keys{
		"versionLabel": func(v yamldoc.Value) { t.VersionLabel = d.identifier(v, ref.CheckLabel) },
		"type":         d.supported(&t.Type, "template type", supported, others...),
		"spec": func(v yamldoc.Value) {
			t.Spec = v.Node
			d.Opened(func() { d.templateSpec(v, kind) })
		},
		"allowedOverrides": func(o yamldoc.Value) { t.AllowedOverrides = d.allowedOverrides(o, child(v, "spec"), kind) },
		"variables":        d.refuse("variables beside a template's spec aren't supported"),
		"icon":             func(yamldoc.Value) {}, // the console's
	}))
	d.need(v, "identifier", "name", "versionLabel", "type", "spec")
	return t
}

// templateSpec checks a template's body like the node that is made of it.
func (d *decoder) templateSpec(v yamldoc.Value, kind template.Kind) {
	if !v.Is(yamldoc.Mapping) && kind.Supported() {
		d.Errorf(v, wrongType, "want the keys of a %s", kind)
		return
	}
	for _, key := range []string{"identifier", "name"} {
		if v.Node.Get(key) != nil && kind != template.ArtifactSource {
			d.Errorf(child(v, key), misplacedKey, "%q is said where the template is used; take it out of the template", key)
			return
		}
	}
	switch kind {
	case template.Step:
		d.step(named(v, ""), place{section: seen{}}, seen{})
	case template.StepGroup:
		d.Takes(v, yamldoc.UseKeys, "stageType")
		group := d.stepGroup(named(v, "stageType"), place{stage: d.stageType(v), section: seen{}}, seen{})
		d.bounded(v, extent.Nodes(group.nodes()))
	case template.Stage:
		stage := d.stage(named(v, ""), seen{})
		d.bounded(v, extent.Nodes(stage.nodes()))
	case template.Pipeline:
		d.fields(v, merge(d.pipelineKeys(&Pipeline{}), d.codebase(v)))
		d.need(v, "stages")
	case template.ArtifactSource:
		d.fields(v, d.artifactSource(v, &ArtifactSource{}))
		d.need(v, "type", "spec")
	case template.Notification:
		d.fields(v, keys{"body": func(v yamldoc.Value) { d.notificationBody(v, &NotificationBody{}, d.open) }})
		d.need(v, "body")
	case template.CustomDeployment:
		d.customTemplate(v)
	case template.SecretManager:
		d.managerTemplate(v)
	case template.MonitoredService, template.Workspace:
	}
}

// link decodes what says of which template a node is made. pkg/template follows
// it and puts the template's keys beside it.
func (d *decoder) link(v yamldoc.Value) {
	var name, version, label, branch yamldoc.Field[string]
	var inputs, overrides, variables *yamldoc.Node
	d.fields(v, keys{
		"templateRef":  d.text(&name),
		"versionLabel": d.text(&version),
		"label":        d.text(&label),
		"gitBranch": func(v yamldoc.Value) { // of which pkg/template warns
			d.text(&branch)(v)
			d.Takes(v, yamldoc.UseIdle, notFromBranch)
		},
		"templateInputs":    d.node(&inputs),
		"templateOverrides": d.node(&overrides),
		"templateVariables": d.node(&variables),
	})
	d.need(v, "templateRef")
}

// linked says whether a node is made of a template, which has been checked to
// have the keys that the node must have.
func linked(v yamldoc.Value) bool { return v.Node.Get("template") != nil }

// stageType is the type of the stages that a template of a step group is for;
// empty for any.
func (d *decoder) stageType(v yamldoc.Value) string {
	if v.Node.Get("stageType") == nil {
		return ""
	}
	var f yamldoc.Field[string]
	d.supported(&f, "stage type", []string{StageDeployment, StageApproval, StageCustom}, otherStageTypes()...)(child(v, "stageType"))
	return f.Value
}

// named is the body as a node that says who it is, without one of its keys.
func named(v yamldoc.Value, without string) yamldoc.Value {
	body := *v.Node
	word := func(key string) yamldoc.Entry {
		value := &yamldoc.Node{Kind: yamldoc.Scalar, Value: "template", Line: body.Line, Column: body.Column, File: body.File}
		return yamldoc.Entry{Key: key, Line: body.Line, Column: body.Column, Value: value}
	}
	body.Entries = append([]yamldoc.Entry{word("identifier"), word("name")}, body.Entries...)
	body.Entries = slices.DeleteFunc(body.Entries, func(e yamldoc.Entry) bool { return e.Key == without })
	v.Node = &body
	return v
}

// allowedOverrides decodes which settings a link may override. One that the
// template asks for anyway can't be among them (pipeline spec §9.3).
func (d *decoder) allowedOverrides(v, spec yamldoc.Value, kind template.Kind) []yamldoc.Field[string] {
	known := template.Overridable(kind)
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []yamldoc.Field[string]
	for item := range d.list(v) {
		f := d.String(item)
		key := known[f.Value]
		switch asked := spec.Node.Get(key); {
		case !f.Set:
		case len(names) == 0:
			d.Errorf(item, wrongValue, "found %q; what links to a template of the type %s can override nothing", item.Node.Value, kind)
		case key == "":
			d.Errorf(item, wrongValue, "found %q; what links to a template of the type %s can override %s%s",
				item.Node.Value, kind, strings.Join(names, ", "), d.Hint(item.Node.Value, names))
		case asked != nil && asked.Kind == yamldoc.Scalar && expr.IsRuntimeInput(asked.Value):
			d.Errorf(item, ambiguous, "%q is <+input> in the template, so it is one of its inputs; it can't be overridden as well", key)
		}
		out = append(out, f)
	}
	return out
}
