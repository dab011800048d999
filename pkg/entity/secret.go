package entity

import (
	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Secret is a secret's document (semantics/entities §10). The value of a
// SecretText isn't in it: a typed tree is printed too easily.
type Secret struct {
	Type yamldoc.Field[string]
	SSH  SSHKey // of an SSHKey
}

// SSHKey is a key for SSH. The key and its passphrase are other secrets.
type SSHKey struct {
	Port          yamldoc.Field[int]
	User          yamldoc.Field[string]
	KeyRef        yamldoc.Field[string]
	PassphraseRef yamldoc.Field[string]
}

const builtInManager = "harnessSecretManager"

func (d settings) secret(v yamldoc.Value, e *Entity) *Secret {
	s := &Secret{}
	typ := document.Peek(v, "type")
	d.Fields(v, document.Merge(d.meta(e), document.Keys{
		"type": d.Supported(&s.Type, "secret type", []string{"SecretText", "SecretFile", "SSHKey"}, "WinRmCredentials"),
		"spec": func(v yamldoc.Value) {
			switch typ {
			case "SecretText":
				d.secretText(v)
			case "SecretFile":
				d.Fields(v, document.Keys{"secretManagerIdentifier": d.ownManager})
				d.Need(v, "secretManagerIdentifier")
			case "SSHKey":
				d.sshKey(v, &s.SSH)
			}
		},
	}))
	d.Need(v, "identifier", "name", "type", "spec")
	return s
}

// ownManager checks that the secret is kept by Slipway itself.
func (d settings) ownManager(v yamldoc.Value) {
	f := d.String(v)
	if f.Value != "" && !builtIn(f.Value) {
		d.Unsupported(v, "files of secret managers besides %s aren't supported yet", builtInManager)
	}
}

func (d settings) secretText(v yamldoc.Value) {
	var valueType yamldoc.Field[string]
	typ := document.Peek(v, "valueType")
	d.Fields(v, document.Keys{
		"secretManagerIdentifier": func(v yamldoc.Value) { d.secretManager(v, typ) },
		"valueType":               d.Supported(&valueType, "the value type", []string{ValueInline, connector.ValueReference, connector.ValueCustom}),
		"value": func(v yamldoc.Value) {
			switch d.secretValue(v); {
			case typ == connector.ValueCustom:
				d.customValues(v)
			case typ == connector.ValueReference && v.Node.Value == "":
				d.Errorf(v, document.WrongValue, "found nothing; want what the manager calls the secret")
			}
		},
		"additionalMetadata": d.Never("metadata are of secrets that other secret managers keep"),
	})
	d.Need(v, "secretManagerIdentifier", "valueType")
	if typ == connector.ValueReference {
		d.Need(v, "value")
	}
}

// secretValue passes any text: what looks like an expression is part of the
// secret. Findings never show it. No value means that the old one stays.
func (d settings) secretValue(v yamldoc.Value) {
	d.Takes(v, yamldoc.UseString)
	if !v.Null() && !v.Is(yamldoc.Scalar) {
		d.Errorf(v, document.WrongType, "found a mapping or a list; want a text")
	}
}

func (d settings) sshKey(v yamldoc.Value, k *SSHKey) {
	d.Fields(v, document.Keys{
		"port": d.Number(&k.Port),
		"auth": func(v yamldoc.Value) {
			var typ yamldoc.Field[string]
			kind := document.Peek(v, "type")
			d.Fields(v, document.Keys{
				"type": d.Supported(&typ, "SSH authentication", []string{"SSH"}, "Kerberos"),
				"spec": func(v yamldoc.Value) {
					if kind == "SSH" {
						d.sshCredential(v, k)
					}
				},
			})
			d.Need(v, "type", "spec")
		},
	})
	d.Need(v, "auth")
}

func (d settings) sshCredential(v yamldoc.Value, k *SSHKey) {
	kind := document.Peek(v, "credentialType")
	var typ yamldoc.Field[string]
	d.Fields(v, document.Keys{
		"credentialType": d.Supported(&typ, "the SSH credential", []string{"KeyReference"}, "Password", "KeyPath"),
		"spec": func(v yamldoc.Value) {
			if kind != "KeyReference" {
				return
			}
			d.Fields(v, document.Keys{
				"userName":            d.Text(&k.User),
				"key":                 d.Reference(ref.Secret, &k.KeyRef),
				"encryptedPassphrase": d.Reference(ref.Secret, &k.PassphraseRef),
			})
			d.Need(v, "userName", "key")
		},
	})
	d.Need(v, "credentialType", "spec")
}
