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
	// Kept is where another manager has a SecretText.
	Kept struct {
		Manager yamldoc.Field[string]
		Type    string // connector.ValueReference or connector.ValueCustom; empty: Slipway keeps it itself
		Value   string // what the manager calls it, or is given for it
	}
	// SSH is an SSHKey. The key and its passphrase are other secrets.
	SSH struct {
		Port          yamldoc.Field[int]
		User          yamldoc.Field[string]
		KeyRef        yamldoc.Field[string]
		PassphraseRef yamldoc.Field[string]
	}
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
				d.secretText(v, s)
			case "SecretFile":
				d.Fields(v, document.Keys{"secretManagerIdentifier": d.ownManager})
				d.Need(v, "secretManagerIdentifier")
			case "SSHKey":
				d.sshKey(v, s)
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

func (d settings) secretText(v yamldoc.Value, s *Secret) {
	var valueType yamldoc.Field[string]
	typ := document.Peek(v, "valueType")
	if typ == connector.ValueReference || typ == connector.ValueCustom {
		s.Kept.Type = typ
	}
	d.Fields(v, document.Keys{
		"secretManagerIdentifier": func(v yamldoc.Value) { s.Kept.Manager = d.secretManager(v, typ) },
		"valueType":               d.Supported(&valueType, "the value type", []string{valueInline, connector.ValueReference, connector.ValueCustom}),
		"value": func(v yamldoc.Value) {
			if d.secretValue(v); s.Kept.Type != "" && v.Node != nil {
				s.Kept.Value = v.Node.Value
			}
			switch {
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

func (d settings) sshKey(v yamldoc.Value, s *Secret) {
	d.Fields(v, document.Keys{
		"port": d.Number(&s.SSH.Port),
		"auth": func(v yamldoc.Value) {
			var typ yamldoc.Field[string]
			kind := document.Peek(v, "type")
			d.Fields(v, document.Keys{
				"type": d.Supported(&typ, "SSH authentication", []string{"SSH"}, "Kerberos"),
				"spec": func(v yamldoc.Value) {
					if kind == "SSH" {
						d.sshCredential(v, s)
					}
				},
			})
			d.Need(v, "type", "spec")
		},
	})
	d.Need(v, "auth")
}

func (d settings) sshCredential(v yamldoc.Value, s *Secret) {
	kind := document.Peek(v, "credentialType")
	var typ yamldoc.Field[string]
	d.Fields(v, document.Keys{
		"credentialType": d.Supported(&typ, "the SSH credential", []string{"KeyReference"}, "Password", "KeyPath"),
		"spec": func(v yamldoc.Value) {
			if kind != "KeyReference" {
				return
			}
			d.Fields(v, document.Keys{
				"userName":            d.Text(&s.SSH.User),
				"key":                 d.Reference(ref.Secret, &s.SSH.KeyRef),
				"encryptedPassphrase": d.Reference(ref.Secret, &s.SSH.PassphraseRef),
			})
			d.Need(v, "userName", "key")
		},
	})
	d.Need(v, "credentialType", "spec")
}
