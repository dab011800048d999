package entity

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Connector is a connector's document (semantics/entities §9). Which of the
// last fields is meant says its type.
type Connector struct {
	Type              yamldoc.Field[string]
	DelegateSelectors yamldoc.Field[[]string]
	Cluster           Cluster         // K8sCluster
	Git               GitConnector    // Git, Github, Gitlab, Bitbucket, AzureRepo
	Docker            DockerRegistry  // DockerRegistry
	Server            ServerConnector // Jira, ServiceNow, Jenkins, Bamboo
	AWS               AWSConnector    // Aws
	Google            GoogleConnector // Gcp
	Azure             AzureConnector  // Azure
}

// Cluster is how a Kubernetes cluster is reached: with the delegate's own
// access (InheritFromDelegate), or at a URL (ManualConfig).
type Cluster struct {
	Credential yamldoc.Field[string]
	MasterURL  yamldoc.Field[string]
	Auth       Auth
}

// DockerRegistry is a registry of images.
type DockerRegistry struct {
	URL      yamldoc.Field[string]
	Provider yamldoc.Field[string]
	Auth     Auth
}

// Auth is how somebody proves who he is. Which fields are set says the type;
// those that end in Ref name secrets.
type Auth struct {
	Type        yamldoc.Field[string]
	Username    yamldoc.Field[string]
	UsernameRef yamldoc.Field[string]
	PasswordRef yamldoc.Field[string]
	TokenRef    yamldoc.Field[string]
	SSHKeyRef   yamldoc.Field[string]
	CACertRef   yamldoc.Field[string]
	CertRef     yamldoc.Field[string]
	KeyRef      yamldoc.Field[string]
	KeyAlgo     yamldoc.Field[string]
}

// ConnectorTypes lists the types of connectors that can be used.
func ConnectorTypes() []string {
	return slices.Concat([]string{"K8sCluster", "DockerRegistry", "Aws", "Gcp", "Azure", "Rancher", CustomSecretManager, AWSSecretManager, VaultManager}, gitConnectors(), serverConnectorTypes())
}

func otherConnectors() []string {
	return []string{
		"Codecommit",
		"AzureArtifacts", "Pdc", "Spot", "Tas", "TerraformCloud", "AwsKms",
		"GcpKms", "GcpSecretManager", "AzureKeyVault", "Local", "Prometheus",
		"Datadog", "NewRelic", "Dynatrace", "AppDynamics", "Splunk", "SumoLogic", "ElasticSearch", "CustomHealth", "PagerDuty",
		"JDBC", "CEAws", "CEAzure", "GcpCloudCost", "CEK8sCluster", "SignalFX", "Salesforce",
	}
}

func (d *decoder) connector(v yamldoc.Value, e *Entity) *Connector {
	c := &Connector{}
	typ := document.Peek(v, "type")
	d.Fields(v, document.Merge(d.meta(e), document.Keys{
		"type": d.Supported(&c.Type, "connector type", ConnectorTypes(), otherConnectors()...),
		"spec": func(v yamldoc.Value) { d.connectorSpec(v, typ, c) },
	}))
	d.Need(v, "identifier", "name", "type", "spec")
	return c
}

func (d *decoder) connectorSpec(v yamldoc.Value, typ string, c *Connector) {
	common := document.Keys{
		"delegateSelectors": d.Words(&c.DelegateSelectors),
		"executeOnDelegate": func(v yamldoc.Value) {
			if on := d.Bool(v); on.Set && on.Expr == "" && !on.Value {
				d.Warnf(v, unsupportedAtRun, "executeOnDelegate is false, but a delegate uses the connector all the same: Slipway itself never reaches out")
			}
		},
		"ignoreTestConnection": d.Idle("saving a connector tests no connection", func(v yamldoc.Value) { d.Bool(v) }),
		"proxy":                d.Refuse("proxies of a connector aren't supported"),
	}
	switch {
	case typ == "K8sCluster":
		d.Fields(v, document.Merge(common, document.Keys{"credential": func(v yamldoc.Value) { d.clusterCredential(v, &c.Cluster) }}))
		d.Need(v, "credential")
	case typ == "DockerRegistry":
		d.Fields(v, document.Merge(common, d.dockerRegistry(&c.Docker)))
		d.Need(v, "dockerRegistryUrl", "providerType", "auth")
	case typ == "Aws":
		d.awsConnector(v, common, &c.AWS)
	case typ == "Gcp":
		d.googleConnector(v, common, &c.Google)
	case typ == "Azure":
		d.azureConnector(v, common, &c.Azure)
	case typ == "Rancher":
		d.rancherConnector(v, common, &c.Server)
	case typ == CustomSecretManager:
		d.customManager(v, common)
	case typ == AWSSecretManager:
		d.awsSecretManager(v, common)
	case typ == VaultManager:
		d.vaultManager(v, common)
	case slices.Contains(gitConnectors(), typ):
		d.gitConnector(v, typ, common, &c.Git)
	case slices.Contains(serverConnectorTypes(), typ):
		d.serverConnector(v, typ, common, &c.Server)
	}
}

func (d *decoder) clusterCredential(v yamldoc.Value, c *Cluster) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Literal(&c.Credential, "InheritFromDelegate", "ManualConfig"),
		"spec": func(v yamldoc.Value) {
			if typ != "ManualConfig" {
				return // blank, or left over from another type
			}
			d.Fields(v, document.Keys{
				"masterUrl": d.Text(&c.MasterURL),
				"auth":      func(v yamldoc.Value) { d.clusterAuth(v, &c.Auth) },
			})
			d.Need(v, "masterUrl", "auth")
		},
	})
	d.Need(v, "type")
	if typ == "ManualConfig" {
		d.Need(v, "spec")
	}
}

func (d *decoder) clusterAuth(v yamldoc.Value, a *Auth) {
	can := []string{"UsernamePassword", "ServiceAccount", "ClientKeyCert"}
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Supported(&a.Type, "authentication", can, "OpenIdConnect"),
		"spec": func(v yamldoc.Value) {
			switch typ {
			case "UsernamePassword":
				d.login(v, a, "passwordRef")
			case "ServiceAccount":
				d.Fields(v, document.Keys{"serviceAccountTokenRef": d.secretRef(&a.TokenRef), "caCertRef": d.secretRef(&a.CACertRef)})
				d.Need(v, "serviceAccountTokenRef")
			case "ClientKeyCert":
				d.Fields(v, document.Keys{
					"caCertRef":              d.secretRef(&a.CACertRef),
					"clientCertRef":          d.secretRef(&a.CertRef),
					"clientKeyRef":           d.secretRef(&a.KeyRef),
					"clientKeyAlgo":          d.Word(&a.KeyAlgo, "RSA", "EC"),
					"clientKeyPassphraseRef": d.Refuse("client keys with a passphrase aren't supported"),
				})
				d.Need(v, "clientCertRef", "clientKeyRef")
			}
		},
	})
	d.Need(v, "type", "spec")
}

// secretRef binds the name of a secret.
func (d *decoder) secretRef(f *yamldoc.Field[string]) func(yamldoc.Value) {
	return d.Reference(ref.Secret, f)
}

// login decodes a user name, plain or secret, with a secret under the key.
func (d *decoder) login(v yamldoc.Value, a *Auth, key string) {
	secret := &a.PasswordRef
	if key == "tokenRef" {
		secret = &a.TokenRef
	}
	d.Fields(v, document.Keys{"username": d.Text(&a.Username), "usernameRef": d.secretRef(&a.UsernameRef), key: d.secretRef(secret)})
	d.Need(v, key)
	if document.Neutral(v.Node.Get("username")) && document.Neutral(v.Node.Get("usernameRef")) && v.Is(yamldoc.Mapping) {
		d.Errorf(v, document.MissingKey, "one of the keys username, usernameRef is missing")
	}
}

func (d *decoder) dockerRegistry(r *DockerRegistry) document.Keys {
	return document.Keys{
		"dockerRegistryUrl": d.Text(&r.URL),
		"providerType":      d.Literal(&r.Provider, "DockerHub", "Harbor", "Quay", "Other"),
		"auth": func(v yamldoc.Value) {
			typ := document.Peek(v, "type")
			d.Fields(v, document.Keys{
				"type": d.Literal(&r.Auth.Type, "Anonymous", "UsernamePassword"),
				"spec": func(v yamldoc.Value) {
					if typ == "UsernamePassword" {
						d.login(v, &r.Auth, "passwordRef")
					}
				},
			})
			d.Need(v, "type")
			if typ == "UsernamePassword" {
				d.Need(v, "spec")
			}
		},
	}
}
