package resolve

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Deployment resolves what the node's stage deploys where, for a delegate.
func (s *Scope) Deployment() (*step.Deployment, error) {
	r, place, err := s.place()
	if err != nil {
		return nil, err
	}
	t, err := place.Target(r)
	if err != nil {
		return nil, err
	}
	return &step.Deployment{
		Type: r.what.Type, ServiceID: r.what.ServiceRef, EnvironmentID: r.what.EnvironmentRef, Infrastructure: r.what.infrastructure.Identifier.Text,
		Release: t.Release, Namespace: t.Namespace, Image: t.Image, Target: t.Spec,
	}, nil
}

// Cluster is the one that the node's stage deploys to, and the selectors of
// the delegates that reach it.
func (s *Scope) Cluster() (task.Cluster, []string, error) {
	r, place, err := s.place()
	if err != nil {
		return task.Cluster{}, nil, err
	}
	clustered, ok := place.(swimlane.Clustered)
	if !ok {
		return task.Cluster{}, nil, fault.New(fault.Invalid, "the stage deploys %s, which knows no cluster", r.what.Type)
	}
	return clustered.Cluster(r)
}

// Chart resolves the chart of the stage's service, for a delegate that reads
// what it says of itself. Nothing if it isn't to be described.
func (s *Scope) Chart() (step.Chart, error) {
	r, place, err := s.place()
	if err != nil {
		return step.Chart{}, err
	}
	charted, ok := place.(swimlane.Charted)
	if !ok {
		return step.Chart{}, nil
	}
	d, err := charted.Described(r)
	return step.Chart{Kind: d.Kind, Spec: d.Spec, Selectors: d.Selectors}, err
}

// place is where the node's stage deploys to, as its lane reads it.
func (s *Scope) place() (*reach, swimlane.Place, error) {
	d, err := s.deployments().of(s.Node.Stage())
	if err != nil {
		return nil, nil, fault.New(fault.Invalid, "the step needs a Deployment stage: %w", err)
	}
	lane, ok := s.Lanes.Of(d.Type)
	if !ok {
		return nil, nil, fault.New(fault.Unsupported, "the deployment type %s can't be deployed yet", d.Type)
	}
	typ := d.infrastructure.Infrastructure.Type.Text
	infrastructure, ok := lane.Infrastructure(typ)
	if !ok {
		return nil, nil, fault.New(fault.Unsupported, "infrastructure type %s can't be deployed to by stages of the deployment type %s", typ, d.Type)
	}
	spec, err := s.tree(d.infrastructure.Infrastructure.SpecDoc.Without("variables"), "infrastructureDefinition.spec") // what variables say is asked for one by one
	if err != nil {
		return nil, nil, err
	}
	report := yamldoc.NewReport("").Resolved()
	place := infrastructure.New(swimlane.Resolved(report), yamldoc.Sub(spec, "spec"))
	if err := report.Err(); err != nil {
		return nil, nil, fault.New(fault.Invalid, "infrastructure %s: %w", d.infrastructure.Identifier.Text, err)
	}
	return &reach{Scope: s, what: d, lane: lane}, place, nil
}

// reach is how a lane reaches what else a stage's deployment is made of
// (swimlane.Reach).
type reach struct {
	*Scope
	what *deployed
	lane swimlane.Lane
}

// Text resolves the expressions of a field.
func (r *reach) Text(f yamldoc.Field[string]) (string, error) {
	v, err := r.value(f.Value + f.Expr) // it has one of them
	return v.Text(), err
}

// Service is what the lane reads of the service's definition.
func (r *reach) Service() any { return r.what.service.Spec }

// Template is what the lane reads of the deployment template.
func (r *reach) Template() (any, error) {
	if r.what.Template == nil || r.lane.Template == nil {
		return nil, fault.New(fault.Invalid, "the stage has no deployment template")
	}
	return r.lane.Template(swimlane.Resolved(yamldoc.NewReport("")), yamldoc.Sub(r.what.Template, "spec")), nil
}

// Manifests are those of the service and of the layers above it, decoded.
func (r *reach) Manifests(wanted func(swimlane.ManifestKind) bool) ([]swimlane.Manifest, error) {
	var all []swimlane.Manifest
	for n, layer := range r.what.layers {
		for _, m := range layer.manifests {
			id := m.Identifier.Text
			i := slices.IndexFunc(r.lane.Manifests, func(k swimlane.ManifestKind) bool { return k.Type == m.Type.Text })
			if i < 0 {
				return nil, fault.New(fault.Unsupported, "manifest %s has the type %s, which can't be deployed by stages of the deployment type %s", id, m.Type.Text, r.what.Type)
			}
			kind := r.lane.Manifests[i]
			if !wanted(kind) {
				continue
			}
			later := laterNames(kind)
			resolved, err := r.With(later).tree(m.SpecDoc, "manifests of "+layer.what)
			if err != nil {
				return nil, err
			}
			report := yamldoc.NewReport("").Resolved()
			spec := kind.New(document.New(report), yamldoc.Sub(resolved, "spec"))
			if err := report.Err(); err != nil {
				return nil, fault.New(fault.Invalid, "manifest %s: %w", id, err)
			}
			all = append(all, swimlane.Manifest{ID: id, Layer: n, Kind: kind, Spec: spec})
		}
	}
	return all, nil
}

// laterNames are the names of a kind that only somebody later knows: they stay as
// they are written.
func laterNames(kind swimlane.ManifestKind) map[string]expr.Value {
	later, fields := map[string]expr.Value{}, map[string]map[string]expr.Value{}
	for _, name := range kind.Later {
		head, field, within := strings.Cut(name, ".")
		text := expr.String("<+" + name + ">")
		if !within {
			later[name] = text
			continue
		}
		if fields[head] == nil {
			fields[head] = map[string]expr.Value{}
		}
		fields[head][field] = text
	}
	for head, all := range fields {
		later[head] = expr.Map(all)
	}
	return later
}

// Store is how the files of a store are reached.
func (r *reach) Store(from *filesource.Store, charts string) (task.Store, error) {
	if charts != "" {
		other := *from
		other.Charts.ConnectorRef.Value = charts
		from = &other
	}
	return r.Scope.Store(from)
}

// Artifact is the image and the version of the primary artifact.
func (r *reach) Artifact() (image, version string, err error) {
	source, err := r.artifacts().primarySource(r.what)
	if err != nil || source == nil {
		return "", "", err
	}
	found, err := r.artifacts().results(r.Node.Stage(), "primary")
	if err != nil {
		return "", "", err
	}
	v, err := r.artifacts().image(source, found)
	if err != nil || !v.IsNull() {
		return known(v), "", err
	}
	v, err = r.artifacts().version(source, found)
	return "", known(v), err
}

// Source is where the primary artifact is kept, with what is deployed of it.
func (r *reach) Source() (*lookup.Artifact, []string, error) {
	source, err := r.artifacts().primarySource(r.what)
	if err != nil || source == nil {
		return nil, nil, err
	}
	found, err := r.artifacts().results(r.Node.Stage(), "primary")
	if err != nil {
		return nil, nil, err
	}
	return r.artifacts().kept(source, found)
}

// Sidecars are where the artifacts beside the primary one are kept, with what is
// deployed of them.
func (r *reach) Sidecars() ([]lookup.Sidecar, []string, error) {
	var all []lookup.Sidecar
	var selectors []string
	for _, source := range r.what.service.Artifact.Sidecars {
		id := source.Identifier.Text
		var found map[string]any
		if lookedUp(&source) {
			var err error
			if found, err = r.artifacts().results(r.Node.Stage(), "sidecars", id); err != nil {
				return nil, nil, err
			}
		}
		a, more, err := r.artifacts().kept(&source, found)
		if err != nil {
			return nil, nil, err
		}
		all, selectors = append(all, lookup.Sidecar{ID: id, Artifact: *a}), append(selectors, more...)
	}
	return all, selectors, nil
}

// kept is where an artifact is kept, with what was found of it.
func (arts artifacts) kept(source *entity.ArtifactSource, found map[string]any) (*lookup.Artifact, []string, error) {
	a, err := arts.artifactOf(source)
	if err != nil {
		return nil, nil, err
	}
	version, err := arts.version(source, found)
	if err != nil {
		return nil, nil, err
	}
	a.Choice = lookup.Choice{Version: known(version), Digest: a.Choice.Digest}
	if digest, ok := found["digest"].(string); ok {
		a.Choice.Digest = digest
	}
	return &a.Artifact, a.Selectors, nil
}

// known is a value's text; empty for none.
func known(v expr.Value) string {
	if v.IsNull() {
		return ""
	}
	return v.Text()
}

// PullSelectors are those of the delegates that can make the pull secret.
func (r *reach) PullSelectors() ([]string, error) {
	source, err := r.artifacts().primarySource(r.what)
	if err != nil || source == nil {
		return nil, err
	}
	return r.artifacts().pullSelectors(source)
}

// Chart is what the chart of a manifest says of itself.
func (r *reach) Chart(manifest string) (*lookup.ChartFound, error) {
	return r.record().chartFound(r.Node.Stage(), manifest)
}
