package entity

import (
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/extent"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Template is one version of a template (semantics/pipeline §9.1). What its
// body lacks is filled in where it is used: pkg/template does that.
type Template struct {
	Type             yamldoc.Field[string]
	VersionLabel     yamldoc.Field[string]
	Spec             *yamldoc.Node
	AllowedOverrides []yamldoc.Field[string]
}

// shared says whether the document is a template that other scopes use. A
// name without a scope would mean something else in each of them.
func (d *decoder) shared() bool { return d.kind == ref.Template && d.Scope.Project == "" }

func (d templates) template(v yamldoc.Value, e *Entity) *Template {
	t := &Template{}
	kind := template.Kind(document.Peek(v, "type"))
	var supported, others []string
	for _, k := range template.Kinds() {
		if k.Supported() {
			supported = append(supported, string(k))
		} else {
			others = append(others, string(k))
		}
	}
	d.Fields(v, document.Merge(d.meta(e), document.Keys{
		"versionLabel": func(v yamldoc.Value) { t.VersionLabel = d.Identifier(v, ref.CheckLabel) },
		"type":         d.Supported(&t.Type, "template type", supported, others...),
		"spec": func(v yamldoc.Value) {
			t.Spec = v.Node
			d.Takes(v, yamldoc.UseOpened)
			d.Opened(expr.IsRuntimeInput, func() { d.templateSpec(v, kind) })
		},
		"allowedOverrides": func(o yamldoc.Value) { t.AllowedOverrides = d.allowedOverrides(o, document.Child(v, "spec"), kind) },
		"variables":        d.Refuse("variables beside a template's spec aren't supported"),
		"icon":             document.Nothing, // the console's
	}))
	d.Need(v, "identifier", "name", "versionLabel", "type", "spec")
	return t
}

// templateSpec checks a template's body like the node that is made of it.
func (d templates) templateSpec(v yamldoc.Value, kind template.Kind) {
	d.Takes(v, yamldoc.UsePlain)
	if !v.Is(yamldoc.Mapping) && kind.Supported() {
		d.Errorf(v, document.WrongType, "want the keys of a %s", kind)
		return
	}
	switch kind {
	case template.Step:
		p, s := place{section: document.Seen{}}, &Step{}
		d.Fields(v, document.Merge(steps(d).stepKeys(v, s, p), d.unnamed()))
		steps(d).stepNeeds(v, s, p)
	case template.StepGroup:
		d.groupTemplate(v)
	case template.Stage:
		s := &Stage{}
		d.Fields(v, document.Merge(pipelines(d).stageKeys(s, document.Peek(v, "type")), d.unnamed()))
		pipelines(d).stageNeeds(v)
		d.bounded(v, extent.Nodes(s.nodes()))
	case template.Pipeline:
		d.Fields(v, document.Merge(pipelines(d).pipelineKeys(&Pipeline{}), pipelines(d).codebase(v), d.unnamed()))
		d.Need(v, "stages")
	case template.ArtifactSource:
		d.Fields(v, services(d).artifactSource(v, &ArtifactSource{}))
		d.Need(v, "type", "spec")
	case template.Notification:
		d.Fields(v, document.Merge(d.unnamed(), document.Keys{"body": func(v yamldoc.Value) {
			notifications(d).notificationBody(v, &NotificationBody{}, notifications(d).open)
		}}))
		d.Need(v, "body")
	case template.CustomDeployment:
		services(d).customTemplate(v)
	case template.SecretManager:
		settings(d).managerTemplate(v)
	case template.MonitoredService, template.Workspace:
	}
}

// link decodes what says of which template a node is made. pkg/template follows
// it and puts the template's keys beside it.
func (d *decoder) link(v yamldoc.Value) {
	var name, version, label, branch yamldoc.Field[string]
	var inputs, overrides, variables *yamldoc.Node
	d.Fields(v, document.Keys{
		"templateRef":  d.Text(&name),
		"versionLabel": d.Text(&version),
		"label":        d.Text(&label),
		"gitBranch": func(v yamldoc.Value) { // of which pkg/template warns
			d.Text(&branch)(v)
			d.Takes(v, yamldoc.UseIdle, notFromBranch)
		},
		"templateInputs":    d.Node(&inputs),
		"templateOverrides": d.Node(&overrides),
		"templateVariables": d.Node(&variables),
	})
	d.Need(v, "templateRef")
}

// noted is a rule that says that its key was there.
func noted(is *bool, rule document.Rule) document.Rule {
	return func(v yamldoc.Value) {
		*is = true
		rule(v)
	}
}

// linked says whether a node is made of a template, which has been checked to
// have the keys that the node must have.
func linked(v yamldoc.Value) bool { return v.Node.Get("template") != nil }

// groupTemplate checks the body of a template of a step group, which may say
// what stages it is for.
func (d templates) groupTemplate(v yamldoc.Value) {
	var of yamldoc.Field[string]
	can := []string{StageDeployment, stageApproval, StageCustom}
	p, g := place{section: document.Seen{}}, &StepGroup{}
	if typ := document.Peek(v, "stageType"); slices.Contains(can, typ) {
		p.stage = typ
	}
	inner := p
	inner.depth++
	d.Fields(v, document.Merge(steps(d).groupKeys(g, p, inner), d.unnamed(), document.Keys{
		"stageType": d.Supported(&of, "stage type", can, otherStageTypes()...),
	}))
	steps(d).groupNeeds(v)
	containers(d).placed(v, g)
	d.bounded(v, extent.Nodes(g.nodes()))
}

// unnamed are the keys that a template's body lacks: who uses it says them.
func (d *decoder) unnamed() document.Keys {
	known := document.Keys{}
	for _, key := range []string{"identifier", "name"} {
		known[key] = d.Elsewhere(document.MisplacedKey, strconv.Quote(key)+" is said where the template is used; take it out of the template")
	}
	return known
}

// allowedOverrides decodes which settings a link may override. One that the
// template asks for anyway can't be among them (semantics/pipeline §9.3).
func (d templates) allowedOverrides(v, spec yamldoc.Value, kind template.Kind) []yamldoc.Field[string] {
	known := template.Overridable(kind)
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []yamldoc.Field[string]
	for item := range d.Items(v) {
		f := d.String(item)
		key := known[f.Value]
		switch asked := spec.Node.Get(key); {
		case !f.Set:
		case len(names) == 0:
			d.Errorf(item, document.WrongValue, "found %q; what links to a template of the type %s can override nothing", item.Node.Value, kind)
		case key == "":
			d.Errorf(item, document.WrongValue, "found %q; what links to a template of the type %s can override %s%s",
				item.Node.Value, kind, strings.Join(names, ", "), d.Hint(item.Node.Value, names))
		case asked != nil && asked.Kind == yamldoc.Scalar && expr.IsRuntimeInput(asked.Value):
			d.Errorf(item, document.Ambiguous, "%q is <+input> in the template, so it is one of its inputs; it can't be overridden as well", key)
		}
		out = append(out, f)
	}
	return out
}
