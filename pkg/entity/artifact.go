package entity

import (
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Artifact is a service's primary artifact: one source of several
// (entities spec §2.2).
type Artifact struct {
	PrimaryRef yamldoc.Field[string]
	Sources    []ArtifactSource
	Sidecars   []ArtifactSource
}

// ArtifactSource is where an artifact comes from.
type ArtifactSource struct {
	Identifier yamldoc.Field[string]
	Name       yamldoc.Field[string]
	Type       yamldoc.Field[string]
	// Spec has the settings by their keys, where they are texts.
	Spec map[string]yamldoc.Field[string]
}

func (d *decoder) artifacts(v yamldoc.Value, a *Artifact) {
	d.fields(v, keys{
		"primary":     func(v yamldoc.Value) { d.primaryArtifact(v, a) },
		"sidecars":    func(v yamldoc.Value) { a.Sidecars = d.sidecars(v) },
		"description": func(yamldoc.Value) {},
	})
}

// primaryArtifact decodes the list of sources or the legacy single form.
func (d *decoder) primaryArtifact(v yamldoc.Value, a *Artifact) {
	known := keys{
		"primaryArtifactRef": func(v yamldoc.Value) { a.PrimaryRef = d.String(v) },
		"sources":            func(v yamldoc.Value) { a.Sources = d.artifactSources(v) },
		"description":        func(yamldoc.Value) {},
	}
	if v.Node.Get("type") != nil {
		var one ArtifactSource
		known = merge(known, d.artifactSource(v, &one))
		defer func() { a.Sources = append(a.Sources, one) }()
	}
	d.fields(v, known)
	if len(a.Sources) > 1 && !a.PrimaryRef.Set {
		d.Warnf(v, missingKey, `key "primaryArtifactRef" is missing, and there are %d sources: a run can't choose one`, len(a.Sources))
	}
	if want := a.PrimaryRef.Value; want != "" && len(a.Sources) > 0 && !hasSource(a.Sources, want) {
		d.Errorf(child(v, "primaryArtifactRef"), badReference, "there is no artifact source %q", want)
	}
}

// sidecars decodes artifacts beside the primary one.
func (d *decoder) sidecars(v yamldoc.Value) []ArtifactSource {
	var out []ArtifactSource
	ids := seen{}
	for item := range d.list(v) {
		d.fields(item, keys{"sidecar": func(v yamldoc.Value) {
			var one ArtifactSource
			d.fields(v, merge(d.artifactSource(v, &one), keys{"metadata": func(yamldoc.Value) {}})) // the console's
			d.need(v, "identifier", "type", "spec")
			d.unique(ids, v, one.Identifier.Value)
			out = append(out, one)
		}})
		d.need(item, "sidecar")
	}
	return out
}

func hasSource(list []ArtifactSource, id string) bool {
	for _, s := range list {
		if s.Identifier.Value == id {
			return true
		}
	}
	return false
}

func (d *decoder) artifactSources(v yamldoc.Value) []ArtifactSource {
	if neutral(v.Node) {
		return nil
	}
	var out []ArtifactSource
	ids := seen{}
	for item := range d.list(v) {
		var one ArtifactSource
		d.fields(item, merge(d.artifactSource(item, &one), keys{
			"template": d.link,
			"metadata": func(yamldoc.Value) {}, // the console's
		}))
		d.unique(ids, item, one.Identifier.Value)
		d.need(item, "identifier")
		if !linked(item) {
			d.need(item, "type", "spec")
		}
		out = append(out, one)
	}
	return out
}

func (d *decoder) artifactSource(v yamldoc.Value, s *ArtifactSource) keys {
	typ := peek(v, "type")
	return keys{
		"identifier": func(v yamldoc.Value) { s.Identifier = d.identifier(v, ref.CheckNodeID) },
		"name":       d.text(&s.Name),
		"type":       d.supported(&s.Type, "artifact type", artifactTypes(), otherArtifactTypes()...),
		"spec":       func(v yamldoc.Value) { s.Spec = d.artifactSpec(v, typ) },
	}
}
