package resolve

import (
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// Delivered is what a stage deploys where, for people.
type Delivered struct {
	Service         string              `json:"service" doc:"As the stage names it, e.g. account.web"`
	ServiceName     string              `json:"serviceName,omitempty"`
	Environment     string              `json:"environment" doc:"As the stage names it"`
	EnvironmentName string              `json:"environmentName,omitempty"`
	Infrastructure  string              `json:"infrastructure,omitempty" doc:"Its identifier; none of what agents bring to clusters"`
	Type            string              `json:"type" doc:"The deployment type, e.g. Kubernetes"`
	Artifacts       []DeliveredArtifact `json:"artifacts" nullable:"false" doc:"The primary one first"`
	Manifests       []DeliveredManifest `json:"manifests" nullable:"false" doc:"In the order in which they count: those of the service, of the environment, of overrides"`
}

// DeliveredArtifact is an artifact of a service.
type DeliveredArtifact struct {
	Identifier string `json:"identifier,omitempty"`
	Sidecar    bool   `json:"sidecar,omitempty"`
	Type       string `json:"type" doc:"Of its source, e.g. DockerRegistry"`
	Version    string `json:"version,omitempty" doc:"The tag or the version"`
	Image      string `json:"image,omitempty" doc:"What isn't an image has none"`
	Digest     string `json:"digest,omitempty" doc:"If its source told it"`
	Unknown    string `json:"unknown,omitempty" doc:"Why some of it isn't known"`
}

// DeliveredManifest is a manifest that a service is deployed with.
type DeliveredManifest struct {
	Identifier string `json:"identifier"`
	Type       string `json:"type" doc:"E.g. K8sManifest"`
	From       string `json:"from" doc:"Which document has it, e.g. the service"`
	Store      string `json:"store,omitempty" doc:"The type of the store, e.g. Github"`
	Branch     string `json:"branch,omitempty"`
	Commit     string `json:"commit,omitempty"`
	Chart      string `json:"chart,omitempty"`
	Version    string `json:"version,omitempty" doc:"Of the chart"`
}

// DeliveredBy says what the stage of a scope's node deploys where, as far as it
// is known.
func DeliveredBy(s *Scope) (*Delivered, error) {
	stage := s.Node.Stage()
	d, err := s.deployments().of(stage)
	if err != nil {
		return nil, err
	}
	said := saying{scope: s, stage: stage, of: d}
	out := &Delivered{
		Service: d.ServiceRef, ServiceName: said.name("service"), Environment: d.EnvironmentRef, EnvironmentName: said.name("env"),
		Infrastructure: d.InfrastructureID(), Type: d.Type, Artifacts: []DeliveredArtifact{}, Manifests: []DeliveredManifest{},
	}
	arts := s.artifacts()
	source, err := arts.primarySource(d)
	switch {
	case err != nil:
		out.Artifacts = append(out.Artifacts, DeliveredArtifact{Unknown: said.why(err)})
	case source != nil:
		out.Artifacts = append(out.Artifacts, said.artifact(source, func() (map[string]any, error) { return arts.results(stage, "primary") }))
	}
	for i := range d.service.Artifact.Sidecars {
		sidecar := &d.service.Artifact.Sidecars[i]
		one := said.artifact(sidecar, func() (map[string]any, error) {
			if !lookedUp(sidecar) {
				return nil, nil
			}
			return arts.results(stage, "sidecars", sidecar.Identifier.Text)
		})
		one.Sidecar = true
		out.Artifacts = append(out.Artifacts, one)
	}
	for _, l := range d.layers {
		for _, m := range l.manifests {
			out.Manifests = append(out.Manifests, said.manifest(m, l.what))
		}
	}
	return out, nil
}

// saying resolves what people read of a stage, without secrets. What has no value
// is empty.
type saying struct {
	scope *Scope
	stage *plan.Node
	of    *deployed
}

func (say saying) text(v expr.Value, err error) (string, error) {
	if err != nil || v.IsNull() {
		return "", err
	}
	text, _ := say.scope.secrets.masked(v.Text())
	return text, nil
}

func (say saying) why(err error) string {
	text, _ := say.scope.secrets.masked(err.Error())
	return text
}

// name is that of what expressions know by a word.
func (say saying) name(word string) string {
	v, _, err := say.scope.deployments().field(say.stage, []string{word, "name"})
	text, err := say.text(v, err)
	if err != nil {
		return "" // its identifier is told
	}
	return text
}

func (say saying) artifact(source *entity.ArtifactSource, looked func() (map[string]any, error)) DeliveredArtifact {
	out := DeliveredArtifact{Identifier: source.Identifier.Text, Type: source.Type.Text}
	for field, into := range map[string]*string{"version": &out.Version, "image": &out.Image, "digest": &out.Digest} {
		v, _, err := say.scope.artifacts().sourceField(source, looked, []string{"artifact", field}, []string{field})
		if *into, err = say.text(v, err); err != nil {
			out.Unknown = say.why(err)
		}
	}
	return out
}

func (say saying) manifest(m entity.Manifest, from string) DeliveredManifest {
	field := func(path ...string) string {
		v, _, err := say.scope.deployments().below(m.SpecDoc, path, 0)
		text, err := say.text(v, err)
		if err != nil {
			return ""
		}
		return text
	}
	return DeliveredManifest{
		Identifier: m.Identifier.Text, Type: m.Type.Text, From: from, Store: field("store", "type"),
		Branch: field("store", "spec", "branch"), Commit: field("store", "spec", "commitId"), Chart: field("chartName"), Version: field("chartVersion"),
	}
}
