package entity

import (
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Secret is a secret's document (entities spec §10). The value of a
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

func (d *decoder) secret(v yamldoc.Value, e *Entity) *Secret {
	s := &Secret{}
	typ := peek(v, "type")
	d.fields(v, merge(d.meta(e), keys{
		"type": d.supported(&s.Type, "secret type", []string{"SecretText", "SecretFile", "SSHKey"}, "WinRmCredentials"),
		"spec": func(v yamldoc.Value) {
			switch typ {
			case "SecretText":
				d.secretText(v)
			case "SecretFile":
				d.fields(v, keys{"secretManagerIdentifier": d.ownManager})
				d.need(v, "secretManagerIdentifier")
			case "SSHKey":
				d.sshKey(v, &s.SSH)
			}
		},
	}))
	d.need(v, "identifier", "name", "type", "spec")
	return s
}

// ownManager checks that the secret is kept by Slipway itself.
func (d *decoder) ownManager(v yamldoc.Value) {
	f := d.String(v)
	if f.Value != "" && !builtIn(f.Value) {
		d.Unsupported(v, "files of secret managers besides %s aren't supported yet", builtInManager)
	}
}

func (d *decoder) secretText(v yamldoc.Value) {
	var valueType yamldoc.Field[string]
	typ := peek(v, "valueType")
	d.fields(v, keys{
		"secretManagerIdentifier": func(v yamldoc.Value) { d.secretManager(v, typ) },
		"valueType":               d.supported(&valueType, "the value type", []string{ValueInline, ValueReference, ValueCustom}),
		"value": func(v yamldoc.Value) {
			switch d.secretValue(v); {
			case typ == ValueCustom:
				d.customValues(v)
			case typ == ValueReference && v.Node.Value == "":
				d.Errorf(v, wrongValue, "found nothing; want what the manager calls the secret")
			}
		},
		"additionalMetadata": d.never("metadata are of secrets that other secret managers keep"),
	})
	d.need(v, "secretManagerIdentifier", "valueType")
	if typ == ValueReference {
		d.need(v, "value")
	}
}

// secretValue passes any text: what looks like an expression is part of the
// secret. Findings never show it. No value means that the old one stays.
func (d *decoder) secretValue(v yamldoc.Value) {
	d.Takes(v, yamldoc.UseString)
	if !v.Null() && !v.Is(yamldoc.Scalar) {
		d.Errorf(v, wrongType, "found a mapping or a list; want a text")
	}
}

func (d *decoder) sshKey(v yamldoc.Value, k *SSHKey) {
	kind := peek(v, "auth", "type")
	d.fields(v, keys{
		"port": func(v yamldoc.Value) { k.Port = d.Int(v) },
		"auth": func(v yamldoc.Value) {
			var typ yamldoc.Field[string]
			d.fields(v, keys{
				"type": d.supported(&typ, "SSH authentication", []string{"SSH"}, "Kerberos"),
				"spec": func(v yamldoc.Value) {
					if kind == "SSH" {
						d.sshCredential(v, k)
					}
				},
			})
			d.need(v, "type", "spec")
		},
	})
	d.need(v, "auth")
}

func (d *decoder) sshCredential(v yamldoc.Value, k *SSHKey) {
	kind := peek(v, "credentialType")
	var typ yamldoc.Field[string]
	d.fields(v, keys{
		"credentialType": d.supported(&typ, "the SSH credential", []string{"KeyReference"}, "Password", "KeyPath"),
		"spec": func(v yamldoc.Value) {
			if kind != "KeyReference" {
				return
			}
			d.fields(v, keys{
				"userName":            d.text(&k.User),
				"key":                 d.secretRef(&k.KeyRef),
				"encryptedPassphrase": d.secretRef(&k.PassphraseRef),
			})
			d.need(v, "userName", "key")
		},
	})
	d.need(v, "credentialType", "spec")
}
