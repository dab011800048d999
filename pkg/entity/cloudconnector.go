package entity

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// GoogleConnector is how a delegate proves to Google Cloud who it is
// (semantics/entities §9): by a service account's key, or by what it finds
// around it.
type GoogleConnector struct {
	Credential yamldoc.Field[string] // ManualConfig or InheritFromDelegate
	KeyRef     yamldoc.Field[string] // the secret file with the key
}

func (d *decoder) googleConnector(v yamldoc.Value, common document.Keys, g *GoogleConnector) {
	d.Fields(v, document.Merge(common, document.Keys{"credential": func(v yamldoc.Value) {
		typ := document.Peek(v, "type")
		d.Fields(v, document.Keys{
			"type": d.Supported(&g.Credential, "GCP authentication", []string{"ManualConfig", "InheritFromDelegate"}, "OidcAuthentication"),
			"spec": func(v yamldoc.Value) {
				if typ == "ManualConfig" {
					d.Fields(v, document.Keys{"secretKeyRef": d.secretRef(&g.KeyRef)})
					d.Need(v, "secretKeyRef")
				}
			},
		})
		d.Need(v, "type")
		if typ == "ManualConfig" {
			d.Need(v, "spec")
		}
	}}))
	d.Need(v, "credential")
}

// AzureConnector is how a delegate proves to Azure who it is
// (semantics/entities §9): as an application with a secret or a certificate,
// or by the identity of what it runs on.
type AzureConnector struct {
	Environment yamldoc.Field[string] // AZURE or AZURE_US_GOVERNMENT
	Credential  yamldoc.Field[string] // ManualConfig or InheritFromDelegate
	Application yamldoc.Field[string]
	Tenant      yamldoc.Field[string]
	Auth        yamldoc.Field[string]
	SecretRef   yamldoc.Field[string]
	CertRef     yamldoc.Field[string]
	ClientID    yamldoc.Field[string] // of a user-assigned identity
}

// The ways to prove to Azure who asks.
const (
	azureSecret      = "Secret"
	azureCertificate = "Certificate"
	azureSystem      = "SystemAssignedManagedIdentity"
	azureUser        = "UserAssignedManagedIdentity"
)

func (d *decoder) azureConnector(v yamldoc.Value, common document.Keys, a *AzureConnector) {
	d.Fields(v, document.Merge(common, document.Keys{
		"azureEnvironmentType": d.Literal(&a.Environment, "AZURE", "AZURE_US_GOVERNMENT"),
		"credential": func(v yamldoc.Value) {
			typ := document.Peek(v, "type")
			d.Fields(v, document.Keys{
				"type": d.Supported(&a.Credential, "Azure authentication", []string{"ManualConfig", "InheritFromDelegate"}, "OidcAuthentication"),
				"spec": func(v yamldoc.Value) { d.azureCredential(v, typ, a) },
			})
			d.Need(v, "type", "spec")
		},
	}))
	d.Need(v, "azureEnvironmentType", "credential")
}

func (d *decoder) azureCredential(v yamldoc.Value, typ string, a *AzureConnector) {
	switch typ {
	case "ManualConfig":
		d.Fields(v, document.Keys{
			"applicationId": d.Text(&a.Application),
			"tenantId":      d.Text(&a.Tenant),
			"auth":          func(v yamldoc.Value) { d.azureAuth(v, a, azureSecret, azureCertificate) },
		})
		d.Need(v, "applicationId", "tenantId", "auth")
	case "InheritFromDelegate":
		d.Fields(v, document.Keys{"auth": func(v yamldoc.Value) { d.azureAuth(v, a, azureSystem, azureUser) }})
		d.Need(v, "auth")
	}
}

func (d *decoder) azureAuth(v yamldoc.Value, a *AzureConnector, types ...string) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Literal(&a.Auth, types...),
		"spec": func(v yamldoc.Value) {
			switch typ {
			case azureSecret:
				d.Fields(v, document.Keys{"secretRef": d.secretRef(&a.SecretRef)})
				d.Need(v, "secretRef")
			case azureCertificate:
				d.Fields(v, document.Keys{"certificateRef": d.secretRef(&a.CertRef)})
				d.Need(v, "certificateRef")
			case azureUser:
				d.Fields(v, document.Keys{"clientId": d.Text(&a.ClientID)})
				d.Need(v, "clientId")
			}
		},
	})
	d.Need(v, "type")
	if typ != "" && typ != azureSystem {
		d.Need(v, "spec")
	}
}

// rancherConnector decodes a connector to Rancher, by a token of its API.
func (d *decoder) rancherConnector(v yamldoc.Value, common document.Keys, s *ServerConnector) {
	d.Fields(v, document.Merge(common, document.Keys{"credential": func(v yamldoc.Value) {
		var kind yamldoc.Field[string]
		d.Fields(v, document.Keys{
			"type": d.Literal(&kind, "ManualConfig"),
			"spec": func(v yamldoc.Value) {
				d.Fields(v, document.Keys{
					"rancherUrl": func(v yamldoc.Value) { d.webAddress(v, &s.URL) },
					"auth": func(v yamldoc.Value) {
						d.Fields(v, document.Keys{
							"type": d.Literal(&s.Auth.Type, "BearerToken"),
							"spec": func(v yamldoc.Value) {
								d.Fields(v, document.Keys{"passwordRef": d.secretRef(&s.Auth.TokenRef)})
								d.Need(v, "passwordRef")
							},
						})
						d.Need(v, "type", "spec")
					},
				})
				d.Need(v, "rancherUrl", "auth")
			},
		})
		d.Need(v, "type", "spec")
	}}))
	d.Need(v, "credential")
}
