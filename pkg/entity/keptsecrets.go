package entity

import (
	"regexp"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The types of connectors to secret managers whose secrets are named by a
// reference.
const (
	AWSSecretManager = "AwsSecretManager"
	VaultManager     = "Vault"
)

// Why keys of secret managers have no effect.
const (
	neverWritten = "nothing writes secrets there"
	everyManager = "each secret names its manager"
	freshToken   = "a token is asked for with each secret, and none is kept"
)

// awsSecretManager decodes a connector to AWS Secrets Manager.
func (d *decoder) awsSecretManager(v yamldoc.Value, common document.Keys) {
	var region, prefix yamldoc.Field[string]
	var isDefault yamldoc.Field[bool]
	known := document.Keys{
		"credential": d.awsManagerCredential,
		"region":     d.Text(&region),
		"default":    d.Idle(everyManager, d.Flag(&isDefault)),
		"isDefault":  d.Idle(everyManager, d.Flag(&isDefault)),

		"secretNamePrefix":           d.Idle(neverWritten, d.Text(&prefix)),
		"usePutSecret":               d.Idle(neverWritten, func(v yamldoc.Value) { d.Bool(v) }),
		"forceDeleteWithoutRecovery": d.Idle(neverWritten, func(v yamldoc.Value) { d.Bool(v) }),
		"recoveryWindowInDays":       d.Idle(neverWritten, func(v yamldoc.Value) { d.Int(v) }),
	}
	d.Fields(v, document.Merge(common, known))
	d.Need(v, "credential", "region")
}

func (d *decoder) awsManagerCredential(v yamldoc.Value) {
	typ := document.Peek(v, "type")
	var kind yamldoc.Field[string]
	d.Fields(v, document.Keys{
		"type": d.Supported(&kind, "AWS authentication", []string{"ManualConfig", "AssumeIAMRole", "AssumeSTSRole"}, "OidcAuthentication"),
		"spec": func(v yamldoc.Value) {
			var key, role, id yamldoc.Field[string]
			var duration yamldoc.Field[int]
			switch typ {
			case "ManualConfig":
				d.Fields(v, document.Keys{"accessKey": d.secretRef(&key), "secretKey": d.secretRef(&key)})
				d.Need(v, "accessKey", "secretKey")
			case "AssumeSTSRole":
				d.Fields(v, document.Keys{
					"roleArn": func(v yamldoc.Value) { d.role(v, &role) }, "externalId": d.Text(&id), "externalName": d.Text(&id),
					"assumeStsRoleDuration": d.Count(&duration),
				})
				d.Need(v, "roleArn")
			}
		},
	})
	d.Need(v, "type")
	if typ == "ManualConfig" || typ == "AssumeSTSRole" {
		d.Need(v, "spec")
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
func (d *decoder) vaultManager(v yamldoc.Value, common document.Keys) {
	var text, secret yamldoc.Field[string]
	var number yamldoc.Field[int]
	flag := func(v yamldoc.Value) { d.Bool(v) }
	d.Fields(v, document.Merge(common, document.Keys{
		"vaultUrl": d.Text(&text), "namespace": d.Text(&text), "secretEngineName": d.Text(&text), "secretEngineVersion": d.Count(&number),
		"accessType": d.Supported(&text, "the access", []string{"TOKEN", "APP_ROLE", "VAULT_AGENT", "K8s_AUTH"}, "AWS_IAM", "JWT"),
		"authToken":  d.secretRef(&secret), "appRoleId": d.Text(&text), "secretId": d.secretRef(&secret), "sinkPath": d.Text(&text),
		"vaultK8sAuthRole": d.Text(&text), "serviceAccountTokenPath": d.Text(&text), "k8sAuthEndpoint": d.Text(&text),
		"default": d.Idle(everyManager, flag), "isDefault": d.Idle(everyManager, flag),
		"useVaultAgent": d.vaultFlag(v), "useK8sAuth": d.vaultFlag(v), "useAwsIam": d.vaultFlag(v), "useJwtAuth": d.vaultFlag(v),
		"basePath": d.Idle(neverWritten, d.Text(&text)), "readOnly": d.Idle(neverWritten, flag),
		"secretEngineManuallyConfigured": d.Idle("the engine is the one that secretEngineName says", flag),
		"renewAppRoleToken":              d.Idle(freshToken, flag), "enableCache": d.Idle(freshToken, flag),
		"renewalIntervalMinutes": d.renewal(v, &number),
	}))
	d.Need(v, append([]string{"vaultUrl", "secretEngineName"}, vaultAccess(VaultAccess(v.Node))...)...)
}

// renewal is how often a token is to be renewed, which nobody does.
func (d *decoder) renewal(spec yamldoc.Value, number *yamldoc.Field[int]) func(yamldoc.Value) {
	switch {
	case document.Peek(spec, "renewalIntervalMinutes") == "0":
		return d.Count(number)
	case VaultAccess(spec.Node) == "TOKEN":
		return d.Idle("nobody renews the token: it must live as long as it is used", d.Count(number))
	}
	return d.Idle(freshToken, d.Count(number))
}

// VaultAccess is how one logs in to Vault by the spec of its connector: as
// accessType says, else as the flag says that is on, else by a token.
func VaultAccess(spec *yamldoc.Node) string {
	if access := spec.Get("accessType"); access != nil && access.Value != "" {
		return access.Value
	}
	for _, flag := range []string{"useVaultAgent", "useK8sAuth", "useAwsIam", "useJwtAuth"} {
		if !document.Neutral(spec.Get(flag)) {
			return flagAccess(flag)
		}
	}
	return "TOKEN"
}

// flagAccess is the access that a flag stands for.
func flagAccess(flag string) string {
	switch flag {
	case "useVaultAgent":
		return "VAULT_AGENT"
	case "useK8sAuth":
		return "K8s_AUTH"
	case "useAwsIam":
		return "AWS_IAM"
	}
	return "JWT"
}

// vaultFlag decodes a flag that says how one logs in, which accessType may say,
// too. It is refused with what it stands for, and so is another than is said.
func (d *decoder) vaultFlag(spec yamldoc.Value) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		f := d.Bool(v)
		d.Plain(v, f.Expr, "a fixed value")
		access, said := flagAccess(v.Key), VaultAccess(spec.Node)
		switch {
		case !f.Value:
		case access != said:
			d.Errorf(v, document.Ambiguous, "found %s beside the access %s; want one way to log in", v.Key, said)
		case vaultAccess(access) == nil && document.Peek(spec, "accessType") == "":
			d.Unsupported(v, "the access %s (%s) isn't supported yet; want the accessType TOKEN, APP_ROLE, VAULT_AGENT or K8s_AUTH", access, v.Key)
		}
	}
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
