// Package secretmanager has the connectors to what keeps secrets besides Slipway
// itself: AWS Secrets Manager, Vault, and others by a script in a template. What
// is fetched is fetched by a delegate.
package secretmanager

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Types are the connector types.
func Types() []connector.Type {
	return []connector.Type{
		{
			Name: "CustomSecretManager", Late: []string{"template"}, Template: func(d *connector.Decoder, v yamldoc.Value) any { return decodeTemplate(d, v) },
			New: func(d *connector.Decoder, v yamldoc.Value) connector.Spec { return decodeCustom(d, v) },
		},
		{Name: "AwsSecretManager", Scheme: "awssecretsmanager", New: func(d *connector.Decoder, v yamldoc.Value) connector.Spec { return decodeAWS(d, v) }},
		{Name: "Vault", Scheme: "hashicorpvault", New: func(d *connector.Decoder, v yamldoc.Value) connector.Spec { return decodeVault(d, v) }},
	}
}

// Why keys of secret managers have no effect.
const (
	neverWritten = "nothing writes secrets there"
	everyManager = "each secret names its manager"
	freshToken   = "a token is asked for with each secret, and none is kept"
)

// named are the name and the key of a secret that its manager knows by these.
func named(s connector.Secret) (name, key string, err error) {
	name, key, _ = strings.Cut(s.Value, "#")
	if name == "" {
		return "", "", fault.New(fault.Invalid, "its value is empty; want what the manager calls it")
	}
	return name, key, nil
}

// AWS is AWS Secrets Manager. Fields that end in Ref name secrets.
type AWS struct {
	Credential   yamldoc.Field[string] // ManualConfig, AssumeIAMRole or AssumeSTSRole
	AccessKeyRef yamldoc.Field[string]
	SecretKeyRef yamldoc.Field[string]
	Role         yamldoc.Field[string]
	ExternalID   yamldoc.Field[string]
	ExternalName yamldoc.Field[string] // as older connectors say it
	RoleSeconds  yamldoc.Field[int]
	Region       yamldoc.Field[string]
}

// The ways to log in to AWS.
const (
	manual = "ManualConfig"
	assume = "AssumeSTSRole"
)

func decodeAWS(d *connector.Decoder, v yamldoc.Value) *AWS {
	a := &AWS{}
	d.Fields(v, document.Merge(d.Common, document.Keys{
		"credential": func(v yamldoc.Value) { a.credential(d, v) },
		"region":     d.Text(&a.Region),
		"default":    d.Idle(everyManager, d.Flag(nil)),
		"isDefault":  d.Idle(everyManager, d.Flag(nil)),

		"secretNamePrefix":           d.Idle(neverWritten, d.Text(nil)),
		"usePutSecret":               d.Idle(neverWritten, d.Flag(nil)),
		"forceDeleteWithoutRecovery": d.Idle(neverWritten, d.Flag(nil)),
		"recoveryWindowInDays":       d.Idle(neverWritten, d.Number(nil)),
	}))
	d.Need(v, "credential", "region")
	return a
}

func (a *AWS) credential(d *connector.Decoder, v yamldoc.Value) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Supported(&a.Credential, "AWS authentication", []string{manual, "AssumeIAMRole", assume}, "OidcAuthentication"),
		"spec": func(v yamldoc.Value) {
			switch typ {
			case manual:
				d.Fields(v, document.Keys{"accessKey": d.Secret(&a.AccessKeyRef), "secretKey": d.Secret(&a.SecretKeyRef)})
				d.Need(v, "accessKey", "secretKey")
			case assume:
				d.Fields(v, document.Keys{
					"roleArn": d.Role(&a.Role), "externalId": d.Text(&a.ExternalID), "externalName": d.Text(&a.ExternalName),
					"assumeStsRoleDuration": d.Count(&a.RoleSeconds),
				})
				d.Need(v, "roleArn")
			}
		},
	})
	d.Need(v, "type")
	if typ == manual || typ == assume {
		d.Need(v, "spec")
	}
}

// access is who asks AWS.
func (a *AWS) access(r connector.Reach) (task.AWS, error) {
	out := task.AWS{Region: a.Region.Value, Auth: task.AWSInherit, Role: a.Role.Value, ExternalID: a.ExternalID.Value, RoleSeconds: a.RoleSeconds.Value}
	if out.ExternalID == "" {
		out.ExternalID = a.ExternalName.Value
	}
	if a.Credential.Value != manual {
		return out, nil
	}
	out.Auth = task.AWSKeys
	var err error
	if out.AccessKey, err = r.Secret(a.AccessKeyRef); err != nil {
		return task.AWS{}, err
	}
	out.SecretKey, err = r.Secret(a.SecretKeyRef)
	return out, err
}

// Values is the value type of its secrets.
func (a *AWS) Values() string { return connector.ValueReference }

// Fetch is how a secret is fetched.
func (a *AWS) Fetch(r connector.Reach, s connector.Secret) (connector.Fetch, error) {
	name, key, err := named(s)
	if err != nil {
		return connector.Fetch{}, err
	}
	access, err := a.access(r)
	return connector.Fetch{Task: task.FetchedSecret{AWS: &task.AWSSecret{AWS: access, Name: name, Key: key}}}, err
}

// Probe asks AWS who the connector is, and for the names of secrets.
func (a *AWS) Probe(r connector.Reach) (connector.Probe, error) {
	access, err := a.access(r)
	return connector.Probe{Task: probe.Spec{AWS: &probe.AWS{AWS: access, Secrets: true}}}, err
}
