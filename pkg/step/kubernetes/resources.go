package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The types of a selection of resources.
const (
	resourceName = "ResourceName"
	manifestPath = "ManifestPath"
	releaseName  = "ReleaseName"
)

// Resources decodes {type, spec}, a selection of objects: by their names, by
// manifest files, or by their release. deletes says that the objects are to be
// deleted, perhaps with the release's namespace.
func Resources(r *yamldoc.Report, v yamldoc.Value, deletes bool) task.ResourceSelection {
	var s task.ResourceSelection
	s.Type = r.Enum(yamldoc.Sub(v.Node.Get("type"), v.Path+".type"), resourceName, manifestPath, releaseName).Value
	for e := range r.Mapping(v) {
		switch e.Key {
		case "type": // read before, wherever it stands
		case "spec":
			selection(r, e, &s, deletes)
		default:
			r.Unknown(e, "type", "spec")
		}
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "type")
	}
	return s
}

// selection decodes the spec of one of the three types. Of an unknown one,
// such as an expression, it can't say which keys are right.
func selection(r *yamldoc.Report, v yamldoc.Value, s *task.ResourceSelection, deletes bool) {
	known := map[string][]string{resourceName: {"resourceNames"}, manifestPath: {"manifestPaths", "allManifestPaths"}, releaseName: {}}
	if deletes {
		known[releaseName] = []string{"deleteNamespace"}
	}
	if known[s.Type] == nil {
		return
	}
	for e := range r.Mapping(v) {
		switch place := s.Type + "." + e.Key; {
		case place == "ResourceName.resourceNames":
			s.Names = r.Strings(e).Value
		case place == "ManifestPath.manifestPaths":
			s.ManifestPaths = r.Strings(e).Value
		case place == "ManifestPath.allManifestPaths":
			s.AllManifests = r.Bool(e).Value
		case place == "ReleaseName.deleteNamespace" && deletes:
			s.DeleteNamespace = r.Bool(e).Value
		default:
			r.Unknown(e, known[s.Type]...)
		}
	}
	if s.Type == resourceName {
		r.Missing(v, "resourceNames")
	}
}

// CheckResources says whether a selection selects something, once there are
// no expressions in it any more. key is the selection's in the YAML.
func CheckResources(s task.ResourceSelection, key string) error {
	switch {
	case s.Type == resourceName && len(s.Names) == 0:
		return fault.New(fault.Invalid, "%s names no resources", key)
	case s.Type == manifestPath && !s.AllManifests && len(s.ManifestPaths) == 0:
		return fault.New(fault.Invalid, "%s names no manifest paths", key)
	}
	return nil
}
