package entity

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// DeployCustom is the deployment type of what a deployment template says how
// to find. An infrastructure of such a deployment has the type of that name.
const DeployCustom = "CustomDeployment"

// stepFetchInstances is the type of the step that runs a deployment template's
// script.
const stepFetchInstances = "FetchInstanceScript"

// TemplateRef names the deployment template that a stage, a service or an
// infrastructure definition is made for.
type TemplateRef struct {
	Name  yamldoc.Field[string]
	Label yamldoc.Field[string] // empty: the stable version
}

// InstanceNames are the instance attributes that say what an instance is
// called. A deployment template has one of them; the second is what it was
// called before.
func InstanceNames() []string { return []string{"instancename", "hostname"} }

// customTemplate decodes the body of a deployment template.
func (d *decoder) customTemplate(v yamldoc.Value) {
	d.Fields(v, document.Merge(d.unnamed(), document.Keys{
		"infrastructure": func(v yamldoc.Value) {
			var list yamldoc.Field[string]
			d.Fields(v, document.Keys{
				"variables":            d.infraVariables(),
				"fetchInstancesScript": d.fetchScript,
				"instancesListPath":    d.written(&list),
				"instanceAttributes":   d.instanceAttributes,
				"metadata":             document.Nothing,
				"description":          document.Nothing,
			})
			d.Need(v, "fetchInstancesScript", "instancesListPath", "instanceAttributes")
		},
		"execution": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{"stepTemplateRefs": d.stepTemplates, "description": func(yamldoc.Value) {}})
		},
		"metadata":    document.Nothing,
		"description": document.Nothing,
	}))
	d.Need(v, "infrastructure", "execution")
}

// infraVariables decodes the variables of a deployment template or of an
// infrastructure made with it.
func (d *decoder) infraVariables() func(yamldoc.Value) {
	var list []Variable
	return d.variables(&list, variableConnector)
}

// fetchScript decodes the script that writes which instances there are: in the
// template, or a file of the file store.
func (d *decoder) fetchScript(v yamldoc.Value) {
	d.Fields(v, document.Keys{
		"store": func(v yamldoc.Value) {
			var kind yamldoc.Field[string]
			d.Fields(v, document.Keys{
				"type": d.Literal(&kind, storeInline, storeHarness),
				"spec": d.scriptIn(v, "content", d.fetchContent, "files", d.fetchFile),
			})
			d.Need(v, "type", "spec")
		},
		"metadata":    document.Nothing,
		"description": document.Nothing,
	})
	d.Need(v, "store")
}

func (d *decoder) fetchContent(v yamldoc.Value) {
	if expr.IsRuntimeInput(d.String(v).Expr) {
		d.Errorf(v, document.WrongValue, "found a runtime input; want a script, whose values can be variables of the infrastructure")
	}
}

func (d *decoder) fetchFile(v yamldoc.Value) {
	var list yamldoc.Field[[]string]
	d.files(&list)(v)
	d.Filled(v, document.Ambiguous, "found no file; a script is one")
	switch {
	case v.Is(yamldoc.Sequence) && len(v.Node.Items) > 1:
		d.Errorf(v, document.Ambiguous, "found %d files; a script is one", len(v.Node.Items))
	case v.Is(yamldoc.Scalar) && expr.IsRuntimeInput(v.Node.Value):
		d.Errorf(v, document.WrongValue, "found a runtime input; want a file, whose path may have variables of the infrastructure")
	}
}

// written binds a text that has no expression in it.
func (d *decoder) written(f *yamldoc.Field[string]) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		*f = d.String(v)
		d.Plain(v, f.Expr, "a fixed text")
	}
}

// instanceAttributes decodes which values of an instance are kept.
func (d *decoder) instanceAttributes(v yamldoc.Value) {
	var found []string
	names := document.Seen{}
	d.Filled(v, document.MissingKey, "found no attributes; want %q at least, which says what an instance is called", InstanceNames()[0])
	for item := range d.Items(v) {
		var name, path yamldoc.Field[string]
		d.Fields(item, document.Keys{
			"name": func(v yamldoc.Value) {
				d.written(&name)(v)
				d.Unique(names, v, name.Value)
			},
			"jsonPath":    d.written(&path),
			"description": document.Nothing,
		})
		d.Need(item, "name", "jsonPath")
		found = append(found, name.Value)
	}
	if len(found) > 0 && !slices.ContainsFunc(InstanceNames(), func(n string) bool { return slices.Contains(found, n) }) {
		d.Errorf(v, document.MissingKey, "no attribute is named %q; want the one that says what an instance is called", InstanceNames()[0])
	}
}

// stepTemplates decodes which step templates go with the deployment template.
// They limit nothing: they say where editors look for steps.
func (d *decoder) stepTemplates(v yamldoc.Value) {
	for item := range d.Items(v) {
		var f yamldoc.Field[string]
		d.written(&f)(item)
		d.refer(ref.Template, item, f.Value)
	}
}

// customRef binds which template something is made for, by a key that isn't
// replaced by what the template holds. more are keys beside the reference.
func (d *decoder) customRef(t *TemplateRef, more ...document.Keys) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		var at yamldoc.Value
		d.Fields(v, document.Merge(append(more, document.Keys{
			"templateRef": func(v yamldoc.Value) {
				at = v
				d.written(&t.Name)(v)
			},
			"versionLabel": func(v yamldoc.Value) {
				d.written(&t.Label)(v)
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
func (d *decoder) customOnly(typ string, t *TemplateRef) func(yamldoc.Value) {
	if typ == DeployKubernetes || typ == DeployNativeHelm {
		return d.Forbid(misplacedKey, "customDeploymentRef goes with the deployment type "+DeployCustom)
	}
	return d.customRef(t)
}

// customService are the keys of the service of a custom deployment.
func (d *decoder) customService(s *Service) document.Keys {
	return document.Keys{
		"customDeploymentRef":    d.customRef(&s.CustomRef),
		"manifests":              d.Refuse("manifests of custom deployments aren't supported"),
		"manifestConfigurations": d.Refuse("manifests of custom deployments aren't supported"),
		"hooks":                  d.Refuse("hooks of custom deployments aren't supported"),
	}
}

// customInfrastructure are the keys of an infrastructure's spec.
func (d *decoder) customInfrastructure(i *Infrastructure) document.Keys {
	return document.Keys{
		"customDeploymentRef":          d.customRef(&i.CustomRef),
		"variables":                    d.variables(&i.Variables, variableConnector),
		"provisioner":                  d.Refuse("provisioners aren't supported"),
		"allowSimultaneousDeployments": d.Decided(&i.AllowSimultaneousDeployments),
		"metadata":                     document.Nothing,
		"description":                  document.Nothing,
	}
}

// sameSwimlane reports a step of another deployment type than its stage's.
func (d *decoder) sameSwimlane(typ yamldoc.Value, name, deployment string) {
	kubernetes := strings.HasPrefix(name, "K8s") || strings.HasPrefix(name, "Helm")
	switch {
	case name == stepFetchInstances && deployment != "" && deployment != DeployCustom:
		d.Errorf(typ, document.WrongValue, "%s is a step of stages of the deployment type %s; this one is of the type %s", name, DeployCustom, deployment)
	case kubernetes && deployment == DeployCustom:
		d.Errorf(typ, document.WrongValue, "%s is a step of Kubernetes stages; this one is of the deployment type %s", name, DeployCustom)
	case strings.HasPrefix(name, "K8s") && deployment == DeployNativeHelm:
		d.Warnf(typ, document.WrongValue, "%s is a step of Kubernetes stages; the stage has the deployment type %s", name, DeployNativeHelm)
	}
}
