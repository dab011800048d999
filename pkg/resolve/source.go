package resolve

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/artifact"
	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Artifact resolves the artifact of the stage's service, for a delegate that
// looks it up.
func (s *Scope) Artifact() (step.Artifact, error) {
	d, err := s.deployments().of(s.Node.Stage())
	if err != nil {
		return step.Artifact{}, err
	}
	var out step.Artifact
	look := func(source *entity.ArtifactSource) (lookup.Artifact, error) {
		a, err := s.artifacts().artifactOf(source)
		a.Choice.Unchecked = d.Unchecked
		out.Selectors, out.Timeout = append(out.Selectors, a.Selectors...), max(out.Timeout, a.Timeout)
		return a.Artifact, err
	}
	source, err := s.artifacts().primarySource(d)
	if err != nil {
		return step.Artifact{}, err
	}
	if source != nil && lookedUp(source) { // else another of the sources would have to be asked
		a, err := look(source)
		if err != nil {
			return step.Artifact{}, err
		}
		out.Task = &a
	}
	for _, sidecar := range d.service.Artifact.Sidecars {
		if !lookedUp(&sidecar) {
			continue
		}
		a, err := look(&sidecar)
		if err != nil {
			return step.Artifact{}, err
		}
		if out.Task == nil {
			out.Task = &lookup.Artifact{}
		}
		out.Task.Sidecars = append(out.Task.Sidecars, lookup.Sidecar{ID: sidecar.Identifier.Text, Artifact: a})
	}
	return out, nil
}

// ArtifactVersions asks for the newest versions of an artifact source or a
// sidecar of the stage's service, whichever version it would choose itself;
// without a name of the primary artifact's.
func (s *Scope) ArtifactVersions(name string, limit int) (step.Artifact, error) {
	d, err := s.deployments().of(s.Node.Stage())
	if err != nil {
		return step.Artifact{}, err
	}
	source, err := s.artifacts().chosen(d, name)
	if err != nil {
		return step.Artifact{}, err
	}
	every, err := s.artifacts().newest(source)
	if err != nil {
		return step.Artifact{}, err
	}
	a, err := s.artifacts().artifactOf(every)
	if err != nil {
		return step.Artifact{}, err
	}
	a.Choice = lookup.Choice{List: limit}
	return step.Artifact{Task: &a.Artifact, Selectors: a.Selectors, Timeout: a.Timeout}, nil
}

// newest is a source that chooses the newest of all its versions, where its type
// can choose.
func (arts artifacts) newest(source *entity.ArtifactSource) (*entity.ArtifactSource, error) {
	if source.Source == nil {
		return nil, noSource(source)
	}
	of := source.Source.Common()
	if of.PatternKey == "" {
		return source, nil
	}
	spec := *source.SpecDoc.Without(of.FixedKey).Without(of.PatternKey).Without("digest")
	spec.Entries = append(slices.Clone(spec.Entries), yamldoc.Entry{Key: of.PatternKey, Value: &yamldoc.Node{Kind: yamldoc.Scalar, Tag: yamldoc.Str, Value: ".*"}})
	every := *source
	every.SpecDoc = &spec
	return &every, nil
}

// chosen finds an artifact source or a sidecar of a service; without a name the
// primary artifact's.
func (arts artifacts) chosen(d *deployed, name string) (*entity.ArtifactSource, error) {
	if name == "" {
		source, err := arts.primarySource(d)
		if err == nil && source == nil {
			err = fault.New(fault.Invalid, "the service has no artifact")
		}
		return source, err
	}
	for _, list := range [][]entity.ArtifactSource{d.service.Artifact.Sources, d.service.Artifact.Sidecars} {
		if source := sourceNamed(list, name); source != nil {
			return source, nil
		}
	}
	return nil, fault.New(fault.Invalid, "the service has no artifact source or sidecar %q", name)
}

// noSource is the error of a source whose type isn't there.
func noSource(source *entity.ArtifactSource) error {
	return fault.New(fault.Unsupported, "artifact sources of type %s can't be resolved yet", source.Type.Text)
}

// decoded resolves the settings of a source.
func (arts artifacts) decoded(source *entity.ArtifactSource) (artifact.Type, artifact.Source, error) {
	t, ok := arts.scope.Artifacts.Of(source.Type.Text)
	if !ok || source.Source == nil {
		return t, nil, noSource(source)
	}
	late := t.Late
	if fixed := source.Source.Common(); artifact.Newest(fixed.Fixed.Expr) {
		late = append(slices.Clone(late), fixed.FixedKey) // isn't a name that anything has
	}
	spec, err := arts.scope.Tree(source.SpecDoc, late)
	if err != nil {
		return t, nil, err
	}
	of, err := t.Resolved(spec)
	if err != nil {
		return t, nil, ofSource(source, err)
	}
	return t, of, nil
}

func ofSource(source *entity.ArtifactSource, err error) error {
	return fault.Wrap(err, "artifact source %s", source.Identifier.Text)
}

// artifactOf resolves a source: what a delegate asks.
func (arts artifacts) artifactOf(source *entity.ArtifactSource) (artifact.Asked, error) {
	a, _, err := arts.asked(source)
	return a, err
}

func (arts artifacts) asked(source *entity.ArtifactSource) (artifact.Asked, artifact.Source, error) {
	t, of, err := arts.decoded(source)
	if err != nil {
		return artifact.Asked{}, nil, err
	}
	a := artifact.Asked{Artifact: lookup.Artifact{Type: t.Name}}
	if a.Choice, err = of.Common().Choice(); err != nil {
		return a, of, ofSource(source, err)
	}
	var c connector.Connector
	if name := of.Common().Connector; name.Set {
		if c, err = arts.scope.Connector(name.Value); err != nil {
			return a, of, err
		}
		a.Selectors = c.Selectors
	}
	return a, of, of.Ask(asking{arts.scope}, c, &a)
}

// asking is how a source reaches what else it is made of (artifact.Reach).
type asking struct{ *Scope }

// Inputs resolves variables by their names.
func (s asking) Inputs(list *yamldoc.Node) (map[string]string, error) {
	out := map[string]string{}
	if list == nil {
		return out, nil
	}
	for _, item := range list.Items {
		v, err := s.variable(item)
		if err != nil {
			return nil, err
		}
		out[item.Text("name")] = v.Text()
	}
	return out, nil
}

// pullSecret is the handle of the secret that pulls a source's image; empty
// where nobody has to log in (semantics/entities §2.2). A delegate makes it.
func (arts artifacts) pullSecret(source *entity.ArtifactSource, form task.PullForm) (expr.Value, error) {
	a, of, err := arts.asked(source)
	if err != nil {
		return expr.Null(), err
	}
	p := task.PullSecret{Form: form}
	of.Pull(a, &p)
	if p.Registry == "" && p.ECR == nil {
		return expr.String(""), nil
	}
	late := task.LateSecret{Pull: &p}
	if t, _ := arts.scope.Artifacts.Of(a.Type); t.Cloud {
		late.Selectors = a.Selectors
	}
	return arts.scope.secrets.lateSecret(late), nil
}

// pullSelectors are those of the connector that a source's pull secret is
// made with.
func (arts artifacts) pullSelectors(source *entity.ArtifactSource) ([]string, error) {
	t, of, err := arts.decoded(source)
	if err != nil || !t.Cloud {
		return nil, err
	}
	c, err := arts.scope.Connector(of.Common().Connector.Value)
	return c.Selectors, err
}
