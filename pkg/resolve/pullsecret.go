package resolve

import (
	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// dockerHub is how clients know Docker Hub, whatever its connector's URL is.
const dockerHub = "https://index.docker.io/v1/"

// pullSecret is the handle of the secret that pulls a source's image; empty
// where nobody has to log in (semantics/entities §2.2). A delegate makes it.
func (s *Scope) pullSecret(source *yamldoc.Node, form task.PullForm) (expr.Value, error) {
	p := task.PullSecret{Form: form}
	var selectors []string
	var err error
	switch text(source.Get("type")) {
	case "DockerRegistry":
		err = s.dockerPull(source.At("spec", "connectorRef"), &p)
	case "Ecr":
		selectors, err = s.ecrPull(source, &p)
	case "Gcr", "GoogleArtifactRegistry", "Acr", "GithubPackageRegistry", "Nexus3Registry", "ArtifactoryRegistry":
		selectors, err = s.imagePull(source, &p)
	}
	if err != nil || p.Registry == "" && p.ECR == nil {
		return expr.String(""), err
	}
	return s.secrets.lateSecret(task.LateSecret{Pull: &p, Selectors: selectors}), nil
}

func (s *Scope) dockerPull(name *yamldoc.Node, p *task.PullSecret) error {
	c, err := s.connectorAt(name)
	if err != nil {
		return err
	}
	registry, err := c.Images()
	if err != nil || registry.Server.Auth != task.AuthBasic {
		return err
	}
	p.Username, p.Password = registry.Server.Username, registry.Server.Password
	p.Registry = registry.URL
	if connector.RegistryHost(p.Registry) == connector.DockerHub {
		p.Registry = dockerHub
	}
	return nil
}

func (s *Scope) ecrPull(source *yamldoc.Node, p *task.PullSecret) (selectors []string, err error) {
	a, err := s.artifactOf(source)
	if err != nil {
		return nil, err
	}
	p.ECR = &a.ECR.AWS
	if host := ecrHost(*a.ECR); host != "" {
		p.Registry = "https://" + host
	}
	return a.selectors, nil
}

// imagePull fills in what a source's own registry is logged in to with.
// The selectors are those of a connector to a cloud, which a delegate asks.
func (s *Scope) imagePull(source *yamldoc.Node, p *task.PullSecret) (selectors []string, err error) {
	a, err := s.artifactOf(source)
	if err != nil || a.Registry == nil {
		return nil, err
	}
	server := a.Registry.Server
	p.Username, p.Password, p.Google, p.Azure = server.Username, server.Password, a.Registry.Google, a.Registry.Azure
	if p.Password != "" || p.Google != nil || p.Azure != nil {
		p.Registry = server.URL
	}
	if p.Google != nil || p.Azure != nil {
		return a.selectors, nil
	}
	return nil, nil
}

// pullSelectors are those of the connector that a source's pull secret is
// made with.
func (s *Scope) pullSelectors(source *yamldoc.Node) ([]string, error) {
	switch text(source.Get("type")) {
	case "Gcr", "GoogleArtifactRegistry", "Acr", "Ecr":
		c, err := s.connectorAt(source.At("spec", "connectorRef"))
		return c.Selectors, err
	}
	return nil, nil
}
