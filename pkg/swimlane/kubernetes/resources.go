package kubernetes

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The types of a selection of resources.
const (
	byName     = "ResourceName"
	byManifest = "ManifestPath"
	byRelease  = "ReleaseName"
)

// resources decodes {type, spec}, a selection of objects: by their names, by
// manifest files, or by their release. deletes says that the objects are to be
// deleted, perhaps with the release's namespace.
func resources(d *document.Decoder, v yamldoc.Value, deletes bool) ResourceSelection {
	var s ResourceSelection
	types := []string{byName, byManifest, byRelease}
	if typ := document.Peek(v, "type"); slices.Contains(types, typ) {
		s.Type = typ
	}
	d.Fields(v, document.Keys{
		"type": d.Word(nil, types...),
		"spec": func(e yamldoc.Value) { selection(d, e, &s, deletes) },
	})
	d.Need(v, "type")
	return s
}

// selection decodes the spec of one of the three types. Of an unknown one,
// such as an expression, it can't say which keys are right.
func selection(d *document.Decoder, v yamldoc.Value, s *ResourceSelection, deletes bool) {
	switch s.Type {
	case byName:
		d.Fields(v, document.Keys{"resourceNames": func(e yamldoc.Value) { s.Names = d.Strings(e).Value }})
		d.Missing(v, "resourceNames")
	case byManifest:
		d.Fields(v, document.Keys{
			"manifestPaths":    func(e yamldoc.Value) { s.ManifestPaths = d.Strings(e).Value },
			"allManifestPaths": func(e yamldoc.Value) { s.AllManifests = d.Bool(e).Value },
		})
	case byRelease:
		known := document.Keys{}
		if deletes {
			known["deleteNamespace"] = func(e yamldoc.Value) { s.DeleteNamespace = d.Bool(e).Value }
		}
		d.Fields(v, known)
	}
}

// checkResources says whether a selection selects something, once there are
// no expressions in it any more. key is the selection's in the YAML.
func checkResources(s ResourceSelection, key string) error {
	switch {
	case s.Type == byName && len(s.Names) == 0:
		return fault.New(fault.Invalid, "%s names no resources", key)
	case s.Type == byManifest && !s.AllManifests && len(s.ManifestPaths) == 0:
		return fault.New(fault.Invalid, "%s names no manifest paths", key)
	}
	return nil
}
