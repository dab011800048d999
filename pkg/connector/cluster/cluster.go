// Package cluster has the connectors to Kubernetes clusters: K8sCluster is one,
// and Rancher has several. Which cluster and which namespace is meant there is
// said by infrastructure definitions.
package cluster

import (
	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Kubernetes is the type of connectors to one cluster.
func Kubernetes() connector.Type {
	return connector.Type{Name: "K8sCluster", New: func(d *connector.Decoder, v yamldoc.Value) connector.Spec { return decode(d, v) }}
}

// Servers is the type of connectors to Rancher.
func Servers() connector.Type {
	return connector.Type{Name: "Rancher", New: func(d *connector.Decoder, v yamldoc.Value) connector.Spec { return decodeRancher(d, v) }}
}

// The ways to reach a cluster, and to prove there who asks.
const (
	inherit        = "InheritFromDelegate"
	manual         = "ManualConfig"
	serviceAccount = "ServiceAccount"
	certificate    = "ClientKeyCert"
)

// Cluster is how a Kubernetes cluster is reached: with the delegate's own
// access, or at a URL. Fields that end in Ref name secrets.
type Cluster struct {
	Credential yamldoc.Field[string]
	URL        yamldoc.Field[string]
	Auth       yamldoc.Field[string]
	Login      connector.Login
	TokenRef   yamldoc.Field[string]
	CARef      yamldoc.Field[string]
	CertRef    yamldoc.Field[string]
	KeyRef     yamldoc.Field[string]
}

func decode(d *connector.Decoder, v yamldoc.Value) *Cluster {
	c := &Cluster{}
	d.Fields(v, document.Merge(d.Common, document.Keys{"credential": func(v yamldoc.Value) { c.credential(d, v) }}))
	d.Need(v, "credential")
	return c
}

func (c *Cluster) credential(d *connector.Decoder, v yamldoc.Value) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Literal(&c.Credential, inherit, manual),
		"spec": func(v yamldoc.Value) {
			if typ == inherit {
				d.LeftOver(v, typ)
			}
			if typ != manual {
				return
			}
			d.Fields(v, document.Keys{
				"masterUrl": d.Text(&c.URL),
				"auth":      func(v yamldoc.Value) { c.auth(d, v) },
			})
			d.Need(v, "masterUrl", "auth")
		},
	})
	d.Need(v, "type")
	if typ == manual {
		d.Need(v, "spec")
	}
}

func (c *Cluster) auth(d *connector.Decoder, v yamldoc.Value) {
	can := []string{connector.AuthPassword, serviceAccount, certificate}
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Supported(&c.Auth, "authentication", can, "OpenIdConnect"),
		"spec": func(v yamldoc.Value) {
			switch typ {
			case connector.AuthPassword:
				d.Login(v, &c.Login, "passwordRef")
			case serviceAccount:
				d.Fields(v, document.Keys{"serviceAccountTokenRef": d.Secret(&c.TokenRef), "caCertRef": d.Secret(&c.CARef)})
				d.Need(v, "serviceAccountTokenRef")
			case certificate:
				d.Fields(v, document.Keys{
					"caCertRef":              d.Secret(&c.CARef),
					"clientCertRef":          d.Secret(&c.CertRef),
					"clientKeyRef":           d.Secret(&c.KeyRef),
					"clientKeyAlgo":          d.Word(nil, "RSA", "EC"),
					"clientKeyPassphraseRef": d.Refuse("client keys with a passphrase aren't supported"),
				})
				d.Need(v, "clientCertRef", "clientKeyRef")
			}
		},
	})
	d.Need(v, "type", "spec")
}

// Cluster is how a delegate reaches its API.
func (c *Cluster) Cluster(r connector.Reach) (task.Cluster, error) {
	if c.Credential.Value == inherit {
		return task.Cluster{Inherit: true}, nil
	}
	out := task.Cluster{URL: c.URL.Value}
	var err error
	if c.Auth.Value == connector.AuthPassword {
		out.Username, out.Password, err = c.Login.Resolve(r)
		return out, err
	}
	for _, s := range []struct {
		to   *string
		name yamldoc.Field[string]
	}{{&out.Token, c.TokenRef}, {&out.CAPEM, c.CARef}, {&out.ClientCertPEM, c.CertRef}, {&out.ClientKeyPEM, c.KeyRef}} {
		if *s.to, err = r.Secret(s.name); err != nil {
			return task.Cluster{}, err
		}
	}
	return out, nil
}

// Probe asks the cluster who asks.
func (c *Cluster) Probe(r connector.Reach) (connector.Probe, error) {
	to, err := c.Cluster(r)
	return connector.Probe{Task: probe.Spec{Cluster: &to}}, err
}

// Rancher is a server that has clusters, and a token of its API.
type Rancher struct {
	URL      yamldoc.Field[string]
	TokenRef yamldoc.Field[string]
}

func decodeRancher(d *connector.Decoder, v yamldoc.Value) *Rancher {
	s := &Rancher{}
	auth := func(v yamldoc.Value) {
		d.Fields(v, document.Keys{
			"type": d.Literal(new(yamldoc.Field[string]), "BearerToken"),
			"spec": func(v yamldoc.Value) {
				d.Fields(v, document.Keys{"passwordRef": d.Secret(&s.TokenRef)})
				d.Need(v, "passwordRef")
			},
		})
		d.Need(v, "type", "spec")
	}
	d.Fields(v, document.Merge(d.Common, document.Keys{"credential": func(v yamldoc.Value) {
		d.Fields(v, document.Keys{
			"type": d.Literal(new(yamldoc.Field[string]), manual),
			"spec": func(v yamldoc.Value) {
				d.Fields(v, document.Keys{"rancherUrl": d.WebAddress(&s.URL), "auth": auth})
				d.Need(v, "rancherUrl", "auth")
			},
		})
		d.Need(v, "type", "spec")
	}}))
	d.Need(v, "credential")
	return s
}

// Server is Rancher's API.
func (s *Rancher) Server(r connector.Reach) (task.Server, error) {
	token, err := r.Secret(s.TokenRef)
	return task.Server{URL: s.URL.Value, Auth: task.AuthBearer, Token: token}, err
}

// Probe lists Rancher's clusters.
func (s *Rancher) Probe(r connector.Reach) (connector.Probe, error) {
	server, err := s.Server(r)
	return connector.Probe{Task: probe.Spec{Requests: &probe.Requests{Server: server, Path: "/v3/clusters?limit=1", Lists: true}}}, err
}
