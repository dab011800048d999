// Package registry has the connectors to what images and charts are kept in:
// DockerRegistry, HttpHelmRepo and OciHelmRepo. The registries of clouds and of
// repository managers are reached by theirs.
package registry

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The connector types.
const (
	docker = "DockerRegistry"
	http   = "HttpHelmRepo"
	oci    = "OciHelmRepo"
)

// Images is the type of registries of images.
func Images() connector.Type {
	return connector.Type{Name: docker, New: func(d *connector.Decoder, v yamldoc.Value) connector.Spec { return decodeDocker(d, v) }}
}

// Charts are the types of repositories of charts.
func Charts() []connector.Type {
	return []connector.Type{
		{Name: http, New: func(d *connector.Decoder, v yamldoc.Value) connector.Spec { return &HTTP{decodeCharts(d, v, http)} }},
		{Name: oci, New: func(d *connector.Decoder, v yamldoc.Value) connector.Spec { return &OCI{decodeCharts(d, v, oci)} }},
	}
}

// Docker is a registry of images.
type Docker struct {
	URL      yamldoc.Field[string]
	Provider yamldoc.Field[string]
	Auth     connector.Auth
}

func decodeDocker(d *connector.Decoder, v yamldoc.Value) *Docker {
	r := &Docker{}
	d.Fields(v, document.Merge(d.Common, document.Keys{
		"dockerRegistryUrl": d.Text(&r.URL),
		"providerType":      d.Literal(&r.Provider, "DockerHub", "Harbor", "Quay", "Other"),
		"auth":              d.Auth(&r.Auth, docker+" authentication", []string{connector.AuthNobody, connector.AuthPassword}),
	}))
	d.Need(v, "dockerRegistryUrl", "providerType", "auth")
	return r
}

// Images is the registry, for a delegate.
func (d *Docker) Images(r connector.Reach) (connector.ImageRegistry, error) {
	server, err := d.Server(r)
	return connector.ImageRegistry{URL: d.URL.Value, Server: server}, err
}

// Server is the registry's API, for who logs in there.
func (d *Docker) Server(r connector.Reach) (task.Server, error) {
	return d.Auth.Server(r, connector.RegistryAPI(d.URL.Value))
}

// Probe logs in to the registry.
func (d *Docker) Probe(r connector.Reach) (connector.Probe, error) {
	images, err := d.Images(r)
	return connector.Probe{Task: probe.Spec{Registry: &images.Server}}, err
}

// Repository is a repository of charts.
type Repository struct {
	URL  yamldoc.Field[string]
	Auth connector.Auth
}

func decodeCharts(d *connector.Decoder, v yamldoc.Value, typ string) Repository {
	var r Repository
	address := d.WebAddress(&r.URL)
	if typ == oci {
		address = func(v yamldoc.Value) {
			r.URL = d.String(v)
			if scheme, _, ok := strings.Cut(r.URL.Value, "://"); ok && scheme != "oci" && scheme != "https" {
				d.Errorf(v, document.WrongValue, "found %q; want a registry such as oci://registry.example.com/charts", r.URL.Value)
			}
		}
	}
	d.Fields(v, document.Merge(d.Common, document.Keys{
		"helmRepoUrl": address,
		"auth":        d.Auth(&r.Auth, typ+" authentication", []string{connector.AuthPassword, connector.AuthNobody}),
	}))
	d.Need(v, "helmRepoUrl")
	d.Need(v, "auth")
	return r
}

// charts is the repository, for a delegate.
func (c Repository) charts(r connector.Reach) (*task.ChartRepo, error) {
	server, err := c.Auth.Server(r, "")
	return &task.ChartRepo{URL: strings.TrimSuffix(c.URL.Value, "/"), Username: server.Username, Password: server.Password}, err
}

// HTTP is a server with an index of charts.
type HTTP struct{ Repository }

// Charts is the repository, for a delegate.
func (h *HTTP) Charts(r connector.Reach) (*task.ChartRepo, error) { return h.charts(r) }

// Probe reads the index.
func (h *HTTP) Probe(r connector.Reach) (connector.Probe, error) {
	server, err := h.Auth.Server(r, strings.TrimSuffix(h.URL.Value, "/"))
	return connector.Probe{Task: probe.Spec{Charts: &server}}, err
}

// OCI is a registry with charts in it.
type OCI struct{ Repository }

// Charts is the registry, for a delegate.
func (o *OCI) Charts(r connector.Reach) (*task.ChartRepo, error) {
	repo, err := o.charts(r)
	repo.OCI = true
	repo.URL = "oci://" + strings.TrimPrefix(strings.TrimPrefix(repo.URL, "https://"), "oci://")
	return repo, err
}

// Probe logs in to the registry.
func (o *OCI) Probe(r connector.Reach) (connector.Probe, error) {
	server, err := o.Auth.Server(r, connector.RegistryAPI(strings.TrimPrefix(o.URL.Value, "oci://")))
	return connector.Probe{Task: probe.Spec{Registry: &server}}, err
}
