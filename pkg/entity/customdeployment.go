package entity

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// deployCustom is the deployment type of what a deployment template says how to
// find. Stages, services and infrastructure definitions of it name the template.
const deployCustom = "CustomDeployment"

// TemplateRef names the deployment template that a stage, a service or an
// infrastructure definition is made for.
type TemplateRef struct {
	Doc   *yamldoc.Node // all of it; nil: none is named
	Name  yamldoc.Field[string]
	Label yamldoc.Field[string] // empty: the stable version
}

// TemplateRefOf reads a reference that has been checked, as it stands in a plan.
func TemplateRefOf(doc *yamldoc.Node) TemplateRef {
	var t TemplateRef
	services{newDecoder(ref.Pipeline, yamldoc.NewReport(""), Options{})}.customRef(&t)(yamldoc.Sub(doc, ""))
	return t
}

// customTemplate decodes the body of a deployment template, and gives the
// variables of its infrastructures.
func (d services) customTemplate(v yamldoc.Value) (variables []Variable) {
	if lane, ok := d.options.Lanes.Of(deployCustom); ok && lane.Template != nil {
		lane.Template(d.lane(d.unnamed(), &variables, &TemplateRef{}), v)
	}
	return variables
}

// TemplateVariables reads those of a deployment template that has been checked,
// as its spec stands in a plan.
func TemplateVariables(spec *yamldoc.Node, o Options) []Variable {
	return services{newDecoder(ref.Template, yamldoc.NewReport(""), o)}.customTemplate(yamldoc.Sub(spec, ""))
}

// customRef binds which template something is made for, by a key that isn't
// replaced by what the template holds. more are keys beside the reference.
func (d services) customRef(t *TemplateRef, more ...document.Keys) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		var at yamldoc.Value
		t.Doc = v.Node
		d.Fields(v, document.Merge(append(more, document.Keys{
			"templateRef": func(v yamldoc.Value) {
				at = v
				d.PlainText(&t.Name, "a fixed text")(v)
			},
			"versionLabel": func(v yamldoc.Value) {
				d.PlainText(&t.Label, "a fixed text")(v)
				if err := ref.CheckLabel(t.Label.Value); t.Label.Value != "" && err != nil {
					d.Errorf(v, document.WrongValue, "found the version label %q; want one that a template can have, or none for the stable version", t.Label.Value)
				}
			},
		})...))
		d.Need(v, "templateRef")
		if t.Name.Value == "" {
			return
		}
		before := len(d.references)
		d.refer(ref.Template, at, t.Name.Value)
		if len(d.references) > before && t.Label.Value != "" {
			r := &d.references[before]
			r.Ref.ID, r.Text = template.ID(r.Ref.ID, t.Label.Value), t.Name.Value+"@"+t.Label.Value
		}
	}
}

// customOnly binds a stage's reference to a deployment template, which stages
// of other types haven't. A stage of the type may say none: its service and
// its infrastructure do.
func (d services) customOnly(typ string, t *TemplateRef) func(yamldoc.Value) {
	if lane, known := d.options.Lanes.Of(typ); known && lane.Template == nil {
		return d.Forbid(document.MisplacedKey, "customDeploymentRef goes with the deployment type "+deployCustom)
	}
	return d.customRef(t)
}
