package entity

import "github.com/slipway-cd/slipway/pkg/yamldoc"

// GoogleConnector is how a delegate proves to Google Cloud who it is (entities
// spec §9): by a service account's key, or by what it finds around it.
type GoogleConnector struct {
	Credential yamldoc.Field[string] // ManualConfig or InheritFromDelegate
	KeyRef     yamldoc.Field[string] // the secret file with the key
}

func (d *decoder) googleConnector(v yamldoc.Value, common keys, g *GoogleConnector) {
	d.fields(v, merge(common, keys{"credential": func(v yamldoc.Value) {
		typ := peek(v, "type")
		d.fields(v, keys{
			"type": d.supported(&g.Credential, "GCP authentication", []string{"ManualConfig", "InheritFromDelegate"}, "OidcAuthentication"),
			"spec": func(v yamldoc.Value) {
				if typ == "ManualConfig" {
					d.fields(v, keys{"secretKeyRef": d.secretRef(&g.KeyRef)})
					d.need(v, "secretKeyRef")
				}
			},
		})
		d.need(v, "type")
		if typ == "ManualConfig" {
			d.need(v, "spec")
		}
	}}))
	d.need(v, "credential")
}

// AzureConnector is how a delegate proves to Azure who it is (entities spec
// §9): as an application with a secret or a certificate, or by the identity of
// what it runs on.
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

func (d *decoder) azureConnector(v yamldoc.Value, common keys, a *AzureConnector) {
	d.fields(v, merge(common, keys{
		"azureEnvironmentType": d.literal(&a.Environment, "AZURE", "AZURE_US_GOVERNMENT"),
		"credential": func(v yamldoc.Value) {
			typ := peek(v, "type")
			d.fields(v, keys{
				"type": d.supported(&a.Credential, "Azure authentication", []string{"ManualConfig", "InheritFromDelegate"}, "OidcAuthentication"),
				"spec": func(v yamldoc.Value) { d.azureCredential(v, typ, a) },
			})
			d.need(v, "type", "spec")
		},
	}))
	d.need(v, "azureEnvironmentType", "credential")
}

func (d *decoder) azureCredential(v yamldoc.Value, typ string, a *AzureConnector) {
	switch typ {
	case "ManualConfig":
		d.fields(v, keys{
			"applicationId": d.text(&a.Application),
			"tenantId":      d.text(&a.Tenant),
			"auth":          func(v yamldoc.Value) { d.azureAuth(v, a, azureSecret, azureCertificate) },
		})
		d.need(v, "applicationId", "tenantId", "auth")
	case "InheritFromDelegate":
		d.fields(v, keys{"auth": func(v yamldoc.Value) { d.azureAuth(v, a, azureSystem, azureUser) }})
		d.need(v, "auth")
	}
}

func (d *decoder) azureAuth(v yamldoc.Value, a *AzureConnector, types ...string) {
	typ := peek(v, "type")
	d.fields(v, keys{
		"type": d.literal(&a.Auth, types...),
		"spec": func(v yamldoc.Value) {
			switch typ {
			case azureSecret:
				d.fields(v, keys{"secretRef": d.secretRef(&a.SecretRef)})
				d.need(v, "secretRef")
			case azureCertificate:
				d.fields(v, keys{"certificateRef": d.secretRef(&a.CertRef)})
				d.need(v, "certificateRef")
			case azureUser:
				d.fields(v, keys{"clientId": d.text(&a.ClientID)})
				d.need(v, "clientId")
			}
		},
	})
	d.need(v, "type")
	if typ != "" && typ != azureSystem {
		d.need(v, "spec")
	}
}

// rancherConnector decodes a connector to Rancher, by a token of its API.
func (d *decoder) rancherConnector(v yamldoc.Value, common keys, s *ServerConnector) {
	d.fields(v, merge(common, keys{"credential": func(v yamldoc.Value) {
		var kind yamldoc.Field[string]
		d.fields(v, keys{
			"type": d.literal(&kind, "ManualConfig"),
			"spec": func(v yamldoc.Value) {
				d.fields(v, keys{
					"rancherUrl": func(v yamldoc.Value) { d.webAddress(v, &s.URL) },
					"auth": func(v yamldoc.Value) {
						d.fields(v, keys{
							"type": d.literal(&s.Auth.Type, "BearerToken"),
							"spec": func(v yamldoc.Value) {
								d.fields(v, keys{"passwordRef": d.secretRef(&s.Auth.TokenRef)})
								d.need(v, "passwordRef")
							},
						})
						d.need(v, "type", "spec")
					},
				})
				d.need(v, "rancherUrl", "auth")
			},
		})
		d.need(v, "type", "spec")
	}}))
	d.need(v, "credential")
}
