package target

import (
	"context"
	"slices"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/templatestore"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// custom reads the deployment template of a custom deployment: its service and
// its infrastructure must be made for the same version of one, and so must its
// stage if it names one (semantics/pipeline §9.6).
func (r *Reader) custom(ctx context.Context, c plan.Choice, service, infrastructure *entity.Entity) (*yamldoc.Node, error) {
	type made struct {
		what  string
		link  entity.TemplateRef
		scope ref.Scope
	}
	all := []made{
		{"the stage", entity.TemplateRefOf(c.Template), r.Scope},
		{"service " + c.Service.Ref, service.Service.CustomRef, service.Scope},
		{"infrastructure " + infrastructure.Identifier.Text, infrastructure.Infrastructure.CustomRef, infrastructure.Scope},
	}
	if c.Template == nil || c.Template.Kind == yamldoc.Null {
		all = all[1:]
	}
	var first plan.Template
	var spec *yamldoc.Node
	for i, by := range all {
		one, version, err := r.deploymentTemplate(ctx, by.link, by.scope)
		if err != nil {
			return nil, fault.Wrap(err, "the deployment template of %s", by.what)
		}
		if i == 0 {
			first, spec = one, version.Doc.Get("spec")
			continue
		}
		if one != first {
			return nil, fault.New(fault.Invalid, "%s is made for the deployment template %s, but %s for %s", all[0].what, nameOf(first), by.what, nameOf(one))
		}
	}
	if !slices.Contains(r.Templates, first) {
		r.Templates = append(r.Templates, first)
	}
	return spec, nil
}

func nameOf(t plan.Template) string {
	return template.Name(ref.Ref{Scope: t.Scope, ID: t.ID}, t.Version)
}

// deploymentTemplate reads the version that a customDeploymentRef names.
func (r *Reader) deploymentTemplate(ctx context.Context, link entity.TemplateRef, from ref.Scope) (plan.Template, template.Version, error) {
	name, err := ref.Parse(link.Name.Text, from)
	if err != nil {
		return plan.Template{}, template.Version{}, err
	}
	label := link.Label.Text
	v, err := templatestore.Lookup(r.Entities.Entity)(ctx, name, label)
	if fault.Is(err, fault.NotFound) {
		return plan.Template{}, v, fault.New(fault.NotFound, "there is no template %s", template.Name(name, label))
	}
	if err != nil {
		return plan.Template{}, v, err
	}
	if kind := v.Doc.Text("type"); kind != string(template.CustomDeployment) {
		return plan.Template{}, v, fault.New(fault.Invalid, "template %s is of the type %s; want one of the type %s",
			template.Name(name, v.Label), kind, template.CustomDeployment)
	}
	return plan.Template{Scope: name.Scope, ID: name.ID, Version: v.Label, Revision: v.Revision}, v, nil
}
