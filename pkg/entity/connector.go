package entity

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Connector is a connector's document (entities spec §9). Which of the last
// fields is meant says its type.
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

func connectorTypes() []string {
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
	typ := peek(v, "type")
	d.fields(v, merge(d.meta(e), keys{
		"type": d.supported(&c.Type, "connector type", connectorTypes(), otherConnectors()...),
		"spec": func(v yamldoc.Value) { d.connectorSpec(v, typ, c) },
	}))
	d.need(v, "identifier", "name", "type", "spec")
	return c
}

func (d *decoder) connectorSpec(v yamldoc.Value, typ string, c *Connector) {
	common := keys{
		"delegateSelectors": d.words(&c.DelegateSelectors),
		"executeOnDelegate": func(v yamldoc.Value) {
			if on := d.Bool(v); on.Set && on.Expr == "" && !on.Value {
				d.Warnf(v, unsupportedAtRun, "executeOnDelegate is false, but a delegate uses the connector all the same: Slipway itself never reaches out")
			}
		},
		"ignoreTestConnection": d.idle("saving a connector tests no connection", func(v yamldoc.Value) { d.Bool(v) }),
		"proxy":                d.refuse("proxies of a connector aren't supported"),
	}
	switch {
	case typ == "K8sCluster":
		d.fields(v, merge(common, keys{"credential": func(v yamldoc.Value) { d.clusterCredential(v, &c.Cluster) }}))
		d.need(v, "credential")
	case typ == "DockerRegistry":
		d.fields(v, merge(common, d.dockerRegistry(&c.Docker)))
		d.need(v, "dockerRegistryUrl", "providerType", "auth")
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
	typ := peek(v, "type")
	d.fields(v, keys{
		"type": d.literal(&c.Credential, "InheritFromDelegate", "ManualConfig"),
		"spec": func(v yamldoc.Value) {
			if typ != "ManualConfig" {
				return // blank, or left over from another type
			}
			d.fields(v, keys{
				"masterUrl": d.text(&c.MasterURL),
				"auth":      func(v yamldoc.Value) { d.clusterAuth(v, &c.Auth) },
			})
			d.need(v, "masterUrl", "auth")
		},
	})
	d.need(v, "type")
	if typ == "ManualConfig" {
		d.need(v, "spec")
	}
}

func (d *decoder) clusterAuth(v yamldoc.Value, a *Auth) {
	can := []string{"UsernamePassword", "ServiceAccount", "ClientKeyCert"}
	typ := peek(v, "type")
	d.fields(v, keys{
		"type": d.supported(&a.Type, "authentication", can, "OpenIdConnect"),
		"spec": func(v yamldoc.Value) {
			switch typ {
			case "UsernamePassword":
				d.login(v, a, "passwordRef")
			case "ServiceAccount":
				d.fields(v, keys{"serviceAccountTokenRef": d.secretRef(&a.TokenRef), "caCertRef": d.secretRef(&a.CACertRef)})
				d.need(v, "serviceAccountTokenRef")
			case "ClientKeyCert":
				d.fields(v, keys{
					"caCertRef":              d.secretRef(&a.CACertRef),
					"clientCertRef":          d.secretRef(&a.CertRef),
					"clientKeyRef":           d.secretRef(&a.KeyRef),
					"clientKeyAlgo":          d.word(&a.KeyAlgo, "RSA", "EC"),
					"clientKeyPassphraseRef": d.refuse("client keys with a passphrase aren't supported"),
				})
				d.need(v, "clientCertRef", "clientKeyRef")
			}
		},
	})
	d.need(v, "type", "spec")
}

// secretRef binds the name of a secret.
func (d *decoder) secretRef(f *yamldoc.Field[string]) func(yamldoc.Value) {
	return d.reference(ref.Secret, f)
}

// login decodes a user name, plain or secret, with a secret under the key.
func (d *decoder) login(v yamldoc.Value, a *Auth, key string) {
	secret := &a.PasswordRef
	if key == "tokenRef" {
		secret = &a.TokenRef
	}
	d.fields(v, keys{"username": d.text(&a.Username), "usernameRef": d.secretRef(&a.UsernameRef), key: d.secretRef(secret)})
	d.need(v, key)
	if neutral(v.Node.Get("username")) && neutral(v.Node.Get("usernameRef")) && v.Is(yamldoc.Mapping) {
		d.Errorf(v, missingKey, "one of the keys username, usernameRef is missing")
	}
}

func (d *decoder) dockerRegistry(r *DockerRegistry) keys {
	return keys{
		"dockerRegistryUrl": d.text(&r.URL),
		"providerType":      d.literal(&r.Provider, "DockerHub", "Harbor", "Quay", "Other"),
		"auth": func(v yamldoc.Value) {
			typ := peek(v, "type")
			d.fields(v, keys{
				"type": d.literal(&r.Auth.Type, "Anonymous", "UsernamePassword"),
				"spec": func(v yamldoc.Value) {
					if typ == "UsernamePassword" {
						d.login(v, &r.Auth, "passwordRef")
					}
				},
			})
			d.need(v, "type")
			if typ == "UsernamePassword" {
				d.need(v, "spec")
			}
		},
	}
}
