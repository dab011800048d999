package entity

import (
	"github.com/slipway-cd/slipway/pkg/artifact"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Artifact is a service's primary artifact: one source of several
// (semantics/entities §2.2).
type Artifact struct {
	PrimaryRef yamldoc.Field[string]
	Sources    []ArtifactSource
	Single     bool // the last source stands alone, in the older form
	Sidecars   []ArtifactSource
}

// ArtifactSource is where an artifact comes from.
type ArtifactSource struct {
	Identifier yamldoc.Field[string]
	Name       yamldoc.Field[string]
	Type       yamldoc.Field[string]
	SpecDoc    *yamldoc.Node // the spec, as it stands
	Source     artifact.Source
}

func (d services) artifacts(v yamldoc.Value, a *Artifact) {
	d.Fields(v, document.Keys{
		"primary":     func(v yamldoc.Value) { d.primaryArtifact(v, a) },
		"sidecars":    func(v yamldoc.Value) { a.Sidecars = d.sidecars(v) },
		"description": document.Nothing,
	})
}

// primaryArtifact decodes the list of sources or the legacy single form.
func (d services) primaryArtifact(v yamldoc.Value, a *Artifact) {
	known := document.Keys{
		"primaryArtifactRef": d.Text(&a.PrimaryRef),
		"sources":            func(v yamldoc.Value) { a.Sources = d.artifactSources(v) },
		"description":        document.Nothing,
	}
	if v.Node.Get("type") != nil {
		var one ArtifactSource
		known = document.Merge(known, d.artifactSource(v, &one))
		defer func() { a.Sources, a.Single = append(a.Sources, one), true }()
	}
	d.Fields(v, known)
	if len(a.Sources) > 1 && !a.PrimaryRef.Set {
		d.Warnf(v, document.MissingKey, `key "primaryArtifactRef" is missing, and there are %d sources: a run can't choose one`, len(a.Sources))
	}
	if want := a.PrimaryRef.Value; want != "" && len(a.Sources) > 0 && !hasSource(a.Sources, want) {
		d.Errorf(document.Child(v, "primaryArtifactRef"), document.BadReference, "there is no artifact source %q", want)
	}
}

// sidecars decodes artifacts beside the primary one.
func (d services) sidecars(v yamldoc.Value) []ArtifactSource {
	var out []ArtifactSource
	ids := document.Seen{}
	for item := range d.Items(v) {
		d.Fields(item, document.Keys{"sidecar": func(v yamldoc.Value) {
			var one ArtifactSource
			d.Fields(v, document.Merge(d.artifactSource(v, &one), document.Keys{"metadata": func(yamldoc.Value) {}})) // the console's
			d.Need(v, "identifier", "type", "spec")
			d.Unique(ids, v, one.Identifier.Value)
			out = append(out, one)
		}})
		d.Need(item, "sidecar")
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

func (d services) artifactSources(v yamldoc.Value) []ArtifactSource {
	if d.Blank(v) {
		return nil
	}
	var out []ArtifactSource
	ids := document.Seen{}
	for item := range d.Items(v) {
		var one ArtifactSource
		d.Fields(item, document.Merge(d.artifactSource(item, &one), document.Keys{
			"template": d.link,
			"metadata": document.Nothing, // the console's
		}))
		d.Unique(ids, item, one.Identifier.Value)
		d.Need(item, "identifier")
		if !linked(item) {
			d.Need(item, "type", "spec")
		}
		out = append(out, one)
	}
	return out
}

func (d services) artifactSource(v yamldoc.Value, s *ArtifactSource) document.Keys {
	typ, known := d.options.Artifacts.Of(document.Peek(v, "type"))
	return document.Keys{
		"identifier": func(v yamldoc.Value) { s.Identifier = d.Identifier(v, ref.CheckNodeID) },
		"name":       d.Text(&s.Name),
		"type":       d.Supported(&s.Type, "artifact type", d.options.Artifacts.Names(), d.otherArtifacts()...),
		"spec": func(v yamldoc.Value) {
			if s.SpecDoc = v.Node; !known {
				return // the type is refused already; its keys aren't known here
			}
			of := &artifact.Decoder{Decoder: d.Decoder, Inputs: func(**yamldoc.Node) document.Rule {
				var list []Variable
				return d.variables(&list)
			}}
			s.Source = typ.New(of, v)
		},
	}
}

// otherArtifacts are the types that Harness has besides those that there are.
func (d services) otherArtifacts() []string {
	return without([]string{
		"Nexus2Registry", "AzureArtifacts", "AmazonMachineImage", "Bamboo", "GoogleCloudSource", "GceImage", "Har",
		"SalesforcePackage", "SalesforceOrg", "SalesforceDxProject",
	}, d.options.Artifacts.Names())
}
