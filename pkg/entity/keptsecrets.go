package entity

import (
	"regexp"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The types of connectors to secret managers whose secrets are named by a
// reference.
const (
	AWSSecretManager = "AwsSecretManager"
	VaultManager     = "Vault"
)

// awsSecretManager decodes a connector to AWS Secrets Manager.
func (d *decoder) awsSecretManager(v yamldoc.Value, common keys) {
	var region, prefix yamldoc.Field[string]
	var isDefault yamldoc.Field[bool]
	known := keys{
		"credential": d.awsManagerCredential,
		"region":     d.text(&region),
		"default":    d.flag(&isDefault), // which manager editors offer first
		"isDefault":  d.flag(&isDefault),
		// Of secrets that are written there, which nobody does.
		"secretNamePrefix":           d.text(&prefix),
		"usePutSecret":               func(v yamldoc.Value) { d.Bool(v) },
		"forceDeleteWithoutRecovery": func(v yamldoc.Value) { d.Bool(v) },
		"recoveryWindowInDays":       func(v yamldoc.Value) { d.Int(v) },
	}
	d.fields(v, merge(common, known))
	d.need(v, "credential", "region")
}

func (d *decoder) awsManagerCredential(v yamldoc.Value) {
	typ := peek(v, "type")
	var kind yamldoc.Field[string]
	d.fields(v, keys{
		"type": d.supported(&kind, "AWS authentication", []string{"ManualConfig", "AssumeIAMRole", "AssumeSTSRole"}, "OidcAuthentication"),
		"spec": func(v yamldoc.Value) {
			var key, role, id yamldoc.Field[string]
			var duration yamldoc.Field[int]
			switch typ {
			case "ManualConfig":
				d.fields(v, keys{"accessKey": d.secretRef(&key), "secretKey": d.secretRef(&key)})
				d.need(v, "accessKey", "secretKey")
			case "AssumeSTSRole":
				d.fields(v, keys{
					"roleArn": func(v yamldoc.Value) { d.role(v, &role) }, "externalId": d.text(&id), "externalName": d.text(&id),
					"assumeStsRoleDuration": d.count(&duration),
				})
				d.need(v, "roleArn")
			}
		},
	})
	d.need(v, "type")
	if typ == "ManualConfig" || typ == "AssumeSTSRole" {
		d.need(v, "spec")
	}
}

// vaultAccess are the ways to log in to Vault, and the keys that each needs.
func vaultAccess(access string) []string {
	switch access {
	case "TOKEN":
		return []string{"authToken"}
	case "APP_ROLE":
		return []string{"appRoleId", "secretId"}
	case "VAULT_AGENT":
		return []string{"sinkPath"}
	case "K8s_AUTH":
		return []string{"vaultK8sAuthRole"}
	}
	return nil
}

// vaultManager decodes a connector to HashiCorp Vault.
func (d *decoder) vaultManager(v yamldoc.Value, common keys) {
	var text, secret yamldoc.Field[string]
	var number yamldoc.Field[int]
	flag := func(v yamldoc.Value) { d.Bool(v) }
	d.fields(v, merge(common, keys{
		"vaultUrl": d.text(&text), "namespace": d.text(&text), "secretEngineName": d.text(&text), "secretEngineVersion": d.count(&number),
		"accessType": d.supported(&text, "the access", []string{"TOKEN", "APP_ROLE", "VAULT_AGENT", "K8s_AUTH"}, "AWS_IAM", "JWT"),
		"authToken":  d.secretRef(&secret), "appRoleId": d.text(&text), "secretId": d.secretRef(&secret), "sinkPath": d.text(&text),
		"vaultK8sAuthRole": d.text(&text), "serviceAccountTokenPath": d.text(&text), "k8sAuthEndpoint": d.text(&text),
		"default": flag, "isDefault": flag, // which manager editors offer first
		// What is said once more by accessType.
		"useVaultAgent": flag, "useK8sAuth": flag, "useAwsIam": flag, "useJwtAuth": flag,
		// Of secrets that are written there, which nobody does, and of tokens that
		// are kept: a token is asked for with each secret.
		"basePath": d.text(&text), "readOnly": flag, "secretEngineManuallyConfigured": flag, "renewAppRoleToken": flag, "enableCache": flag,
		"renewalIntervalMinutes": d.count(&number),
	}))
	d.need(v, append([]string{"vaultUrl", "secretEngineName"}, vaultAccess(vaultAccessOf(v))...)...)
	if minutes := peek(v, "renewalIntervalMinutes"); vaultAccessOf(v) == "TOKEN" && minutes != "" && minutes != "0" {
		d.Warnf(child(v, "renewalIntervalMinutes"), "NO_EFFECT", "nobody renews the token: it must live as long as it is used")
	}
}

// vaultAccessOf is how one logs in: as it is written, else by a token.
func vaultAccessOf(v yamldoc.Value) string {
	if access := peek(v, "accessType"); access != "" {
		return access
	}
	return "TOKEN"
}

// namedInManager is a secret that an expression names by its manager and where
// it is kept there.
var namedInManager = regexp.MustCompile(`^((?:account|org)\.)?([a-z]+)://([^/]+)/(.+)$`)

// InManager takes apart such a name: the type of the manager, its reference and
// the secret's; false if the text is no such name. The type is empty for one
// that isn't supported.
func InManager(text string) (typ, manager, secret string, ok bool) {
	m := namedInManager.FindStringSubmatch(text)
	if m == nil {
		return "", "", "", false
	}
	switch m[2] {
	case "hashicorpvault":
		typ = VaultManager
	case "awssecretsmanager":
		typ = AWSSecretManager
	}
	return typ, m[1] + m[3], m[4], true
}

// referNamed adds the reference of an expression to a secret: to the secret, or
// to the manager that is named in its place.
func (d *decoder) referNamed(v yamldoc.Value, text string) {
	typ, manager, _, ok := InManager(text)
	switch {
	case !ok:
		d.refer(ref.Secret, v, text)
	case typ == "":
		d.Unsupported(v, "secrets that are named as %q aren't supported yet; want hashicorpvault:// or awssecretsmanager://", text)
	default:
		d.refer(ref.Connector, v, manager)
	}
}
