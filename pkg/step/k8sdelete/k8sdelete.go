// Package k8sdelete is the step type K8sDelete: objects are deleted that are
// named, that are in manifest files, or that a release has made (kubernetes
// spec §15).
//
// Outputs: output.releaseName. The deletion is done by delegate/kubernetes; no
// rollback brings back what is gone.
package k8sdelete

import (
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The types of deleteResources.
const (
	resourceName = "ResourceName"
	manifestPath = "ManifestPath"
	releaseName  = "ReleaseName"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: string(task.OpDelete), Deploys: true, New: decode} }

// Spec is the step's spec.
type Spec struct {
	Delete task.DeleteResources
	Flags  []task.CommandFlag
}

func decode(doc *yamldoc.Node, r *yamldoc.Report) step.Spec {
	s := &Spec{}
	v := yamldoc.Sub(doc, "")
	for e := range r.Mapping(v) {
		switch e.Key {
		case "deleteResources":
			s.resources(e, r)
		case "commandFlags":
			s.Flags = kubernetes.Flags(r, e, task.OpDelete)
		case "delegateSelectors": // the plan's
			r.Strings(e)
		default:
			r.Unknown(e, "deleteResources", "commandFlags", "delegateSelectors")
		}
	}
	r.Missing(v, "deleteResources")
	return s
}

func (s *Spec) resources(v yamldoc.Value, r *yamldoc.Report) {
	s.Delete.Type = r.Enum(yamldoc.Sub(v.Node.Get("type"), v.Path+".type"), resourceName, manifestPath, releaseName).Value
	for e := range r.Mapping(v) {
		switch e.Key {
		case "type": // read before, wherever it stands
		case "spec":
			s.selection(e, r)
		default:
			r.Unknown(e, "type", "spec")
		}
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "type")
	}
}

// selection decodes the spec of one of the three types. Of an unknown one,
// such as an expression, it can't say which keys are right.
func (s *Spec) selection(v yamldoc.Value, r *yamldoc.Report) {
	known := map[string][]string{
		resourceName: {"resourceNames"}, manifestPath: {"manifestPaths", "allManifestPaths"}, releaseName: {"deleteNamespace"},
	}[s.Delete.Type]
	if known == nil {
		return
	}
	for e := range r.Mapping(v) {
		switch s.Delete.Type + "." + e.Key {
		case "ResourceName.resourceNames":
			s.Delete.Names = r.Strings(e).Value
		case "ManifestPath.manifestPaths":
			s.Delete.ManifestPaths = r.Strings(e).Value
		case "ManifestPath.allManifestPaths":
			s.Delete.AllManifests = r.Bool(e).Value
		case "ReleaseName.deleteNamespace":
			s.Delete.DeleteNamespace = r.Bool(e).Value
		default:
			r.Unknown(e, known...)
		}
	}
	if s.Delete.Type == resourceName {
		r.Missing(v, "resourceNames")
	}
}

// Start has a delegate delete the objects.
func (s *Spec) Start(in step.In) (step.Action, error) {
	d := s.Delete
	switch {
	case d.Type == resourceName && len(d.Names) == 0:
		return step.Action{}, fault.New(fault.Invalid, "deleteResources names no resources")
	case d.Type == manifestPath && !d.AllManifests && len(d.ManifestPaths) == 0:
		return step.Action{}, fault.New(fault.Invalid, "deleteResources names no manifest paths")
	}
	return kubernetes.Start(in, task.Kubernetes{Op: task.OpDelete, Delete: &d, CommandFlags: s.Flags})
}

// Finish takes the delegate's result as it is.
func (*Spec) Finish(_ step.In, r task.Result) (plan.Outcome, error) { return step.Outcome(r), nil }
