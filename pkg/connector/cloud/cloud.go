// Package cloud has the connectors to accounts of AWS, Google Cloud, Azure and Spot.
// What is used there is named by who uses the connector.
package cloud

import (
	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Types are the connector types.
func Types() []connector.Type {
	return []connector.Type{
		{Name: "Aws", New: func(d *connector.Decoder, v yamldoc.Value) connector.Spec { return decodeAWS(d, v) }},
		{Name: "Gcp", New: func(d *connector.Decoder, v yamldoc.Value) connector.Spec { return decodeGoogle(d, v) }},
		{Name: "Azure", New: func(d *connector.Decoder, v yamldoc.Value) connector.Spec { return decodeAzure(d, v) }},
		{Name: "Spot", New: func(d *connector.Decoder, v yamldoc.Value) connector.Spec { return decodeSpot(d, v) }},
	}
}

// The ways to get credentials: the connector has them, or the delegate; or a
// token of the control plane stands for them, which only AWS takes so far.
const (
	manual  = "ManualConfig"
	inherit = "InheritFromDelegate"
	oidc    = "OidcAuthentication"
	irsa    = "Irsa"
)

// Google is how a delegate proves to Google Cloud who it is: by a service
// account's key, or by what it finds around it.
type Google struct {
	Credential yamldoc.Field[string] // ManualConfig or InheritFromDelegate
	KeyRef     yamldoc.Field[string] // the secret file with the key
}

func decodeGoogle(d *connector.Decoder, v yamldoc.Value) *Google {
	g := &Google{}
	d.Fields(v, document.Merge(d.Common, document.Keys{"credential": func(v yamldoc.Value) {
		typ := document.Peek(v, "type")
		d.Fields(v, document.Keys{
			"type": d.Supported(&g.Credential, "GCP authentication", []string{manual, inherit}, oidc),
			"spec": func(v yamldoc.Value) {
				switch typ {
				case manual:
					d.Fields(v, document.Keys{"secretKeyRef": d.Secret(&g.KeyRef)})
					d.Need(v, "secretKeyRef")
				case inherit:
					d.LeftOver(v, typ)
				}
			},
		})
		d.Need(v, "type")
		if typ == manual {
			d.Need(v, "spec")
		}
	}}))
	d.Need(v, "credential")
	return g
}

// Google is the access, for a delegate.
func (g *Google) Google(r connector.Reach) (*task.Google, error) {
	key, err := r.Secret(g.KeyRef)
	return &task.Google{Key: key}, err
}

// Probe asks Google Cloud for a token.
func (g *Google) Probe(r connector.Reach) (connector.Probe, error) {
	access, err := g.Google(r)
	return connector.Probe{Task: probe.Spec{Google: access}}, err
}

// Azure is how a delegate proves to Azure who it is: as an application with a
// secret or a certificate, or by the identity of what it runs on.
type Azure struct {
	Environment yamldoc.Field[string] // AZURE or AZURE_US_GOVERNMENT
	Credential  yamldoc.Field[string] // ManualConfig or InheritFromDelegate
	Application yamldoc.Field[string]
	Tenant      yamldoc.Field[string]
	Auth        yamldoc.Field[string]
	SecretRef   yamldoc.Field[string]
	CertRef     yamldoc.Field[string]
	ClientID    yamldoc.Field[string] // of a user-assigned identity
}

// government is the cloud of the United States' government.
const government = "AZURE_US_GOVERNMENT"

// The ways to prove to Azure who asks.
const (
	azureSecret      = "Secret"
	azureCertificate = "Certificate"
	azureSystem      = "SystemAssignedManagedIdentity"
	azureUser        = "UserAssignedManagedIdentity"
)

func decodeAzure(d *connector.Decoder, v yamldoc.Value) *Azure {
	a := &Azure{}
	d.Fields(v, document.Merge(d.Common, document.Keys{
		"azureEnvironmentType": d.Literal(&a.Environment, "AZURE", government),
		"credential": func(v yamldoc.Value) {
			typ := document.Peek(v, "type")
			d.Fields(v, document.Keys{
				"type": d.Supported(&a.Credential, "Azure authentication", []string{manual, inherit}, oidc),
				"spec": func(v yamldoc.Value) { a.credential(d, v, typ) },
			})
			d.Need(v, "type", "spec")
		},
	}))
	d.Need(v, "azureEnvironmentType", "credential")
	return a
}

func (a *Azure) credential(d *connector.Decoder, v yamldoc.Value, typ string) {
	switch typ {
	case manual:
		d.Fields(v, document.Keys{
			"applicationId": d.Text(&a.Application),
			"tenantId":      d.Text(&a.Tenant),
			"auth":          func(v yamldoc.Value) { a.auth(d, v, azureSecret, azureCertificate) },
		})
		d.Need(v, "applicationId", "tenantId", "auth")
	case inherit:
		d.Fields(v, document.Keys{"auth": func(v yamldoc.Value) { a.auth(d, v, azureSystem, azureUser) }})
		d.Need(v, "auth")
	}
}

func (a *Azure) auth(d *connector.Decoder, v yamldoc.Value, types ...string) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Literal(&a.Auth, types...),
		"spec": func(v yamldoc.Value) {
			switch typ {
			case azureSecret:
				d.Fields(v, document.Keys{"secretRef": d.Secret(&a.SecretRef)})
				d.Need(v, "secretRef")
			case azureCertificate:
				d.Fields(v, document.Keys{"certificateRef": d.Secret(&a.CertRef)})
				d.Need(v, "certificateRef")
			case azureUser:
				d.Fields(v, document.Keys{"clientId": d.Text(&a.ClientID)})
				d.Need(v, "clientId")
			case azureSystem:
				d.LeftOver(v, typ)
			}
		},
	})
	d.Need(v, "type")
	if typ != "" && typ != azureSystem {
		d.Need(v, "spec")
	}
}

// Azure is the access, for a delegate.
func (a *Azure) Azure(r connector.Reach) (*task.Azure, error) {
	out := &task.Azure{Government: a.Environment.Value == government}
	if a.Credential.Value == inherit {
		out.Managed, out.Client = true, a.ClientID.Value
		return out, nil
	}
	out.Tenant, out.Client = a.Tenant.Value, a.Application.Value
	var err error
	if out.Secret, err = r.Secret(a.SecretRef); err != nil {
		return nil, err
	}
	out.Certificate, err = r.Secret(a.CertRef)
	return out, err
}

// Probe asks Microsoft Entra for a token.
func (a *Azure) Probe(r connector.Reach) (connector.Probe, error) {
	access, err := a.Azure(r)
	return connector.Probe{Task: probe.Spec{Azure: access}}, err
}
