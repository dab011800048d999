package secretmanager

import (
	"cmp"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Vault is HashiCorp Vault. Fields that end in Ref name secrets.
type Vault struct {
	URL       yamldoc.Field[string]
	Namespace yamldoc.Field[string]
	Engine    yamldoc.Field[string]
	Version   yamldoc.Field[int]
	// Access is how one logs in: as accessType says, else as the flag says that is
	// on, else by a token. It says which of the rest is meant.
	Access    string
	TokenRef  yamldoc.Field[string]
	RoleID    yamldoc.Field[string]
	SecretRef yamldoc.Field[string]
	SinkPath  yamldoc.Field[string]
	Role      yamldoc.Field[string] // of a pod's account
	TokenPath yamldoc.Field[string]
	Endpoint  yamldoc.Field[string]
}

// The ways to log in to Vault.
const (
	byToken = "TOKEN"
	byRole  = "APP_ROLE"
	byAgent = "VAULT_AGENT"
	byPod   = "K8s_AUTH"
	byIAM   = "AWS_IAM"
	byJWT   = "JWT"
)

// needs are the keys that each way needs that can be gone.
func needs(access string) []string {
	switch access {
	case byToken:
		return []string{"authToken"}
	case byRole:
		return []string{"appRoleId", "secretId"}
	case byAgent:
		return []string{"sinkPath"}
	case byPod:
		return []string{"vaultK8sAuthRole"}
	}
	return nil
}

func decodeVault(d *connector.Decoder, v yamldoc.Value) *Vault {
	s := &Vault{Access: access(v)}
	d.Fields(v, document.Merge(d.Common, document.Keys{
		"vaultUrl": d.Text(&s.URL), "namespace": d.Text(&s.Namespace), "secretEngineName": d.Text(&s.Engine), "secretEngineVersion": d.Count(&s.Version),
		"accessType": d.Supported(new(yamldoc.Field[string]), "the access", []string{byToken, byRole, byAgent, byPod}, byIAM, byJWT),
		"authToken":  d.Secret(&s.TokenRef), "appRoleId": d.Text(&s.RoleID), "secretId": d.Secret(&s.SecretRef), "sinkPath": d.Text(&s.SinkPath),
		"vaultK8sAuthRole": d.Text(&s.Role), "serviceAccountTokenPath": d.Text(&s.TokenPath), "k8sAuthEndpoint": d.Text(&s.Endpoint),
		"default": d.Idle(everyManager, d.Flag(nil)), "isDefault": d.Idle(everyManager, d.Flag(nil)),
		"useVaultAgent": s.flag(d, v), "useK8sAuth": s.flag(d, v), "useAwsIam": s.flag(d, v), "useJwtAuth": s.flag(d, v),
		"basePath": d.Idle(neverWritten, d.Text(nil)), "readOnly": d.Idle(neverWritten, d.Flag(nil)),
		"secretEngineManuallyConfigured": d.Idle("the engine is the one that secretEngineName says", d.Flag(nil)),
		"renewAppRoleToken":              d.Idle(freshToken, d.Flag(nil)), "enableCache": d.Idle(freshToken, d.Flag(nil)),
		"renewalIntervalMinutes": s.renewal(d, v),
	}))
	d.Need(v, append([]string{"vaultUrl", "secretEngineName"}, needs(s.Access)...)...)
	return s
}

// renewal is how often a token is to be renewed, which nobody does.
func (s *Vault) renewal(d *connector.Decoder, spec yamldoc.Value) document.Rule {
	count := d.Count(new(yamldoc.Field[int]))
	switch {
	case document.Peek(spec, "renewalIntervalMinutes") == "0":
		return count
	case s.Access == byToken:
		return d.Idle("nobody renews the token: it must live as long as it is used", count)
	}
	return d.Idle(freshToken, count)
}

// access is how one logs in by the spec of a connector.
func access(spec yamldoc.Value) string {
	if access := document.Peek(spec, "accessType"); access != "" {
		return access
	}
	for _, flag := range []string{"useVaultAgent", "useK8sAuth", "useAwsIam", "useJwtAuth"} {
		if !document.Neutral(spec.Node.Get(flag)) {
			return meaning(flag)
		}
	}
	return byToken
}

// meaning is the access that a flag stands for.
func meaning(flag string) string {
	switch flag {
	case "useVaultAgent":
		return byAgent
	case "useK8sAuth":
		return byPod
	case "useAwsIam":
		return byIAM
	}
	return byJWT
}

// flag decodes a flag that says how one logs in, which accessType may say,
// too. It is refused with what it stands for, and so is another than is said.
func (s *Vault) flag(d *connector.Decoder, spec yamldoc.Value) document.Rule {
	return func(v yamldoc.Value) {
		f := d.Bool(v)
		d.Plain(v, f.Expr, "a fixed value")
		access := meaning(v.Key)
		switch {
		case !f.Value:
		case access != s.Access:
			d.Errorf(v, document.Ambiguous, "found %s beside the access %s; want one way to log in", v.Key, s.Access)
		case needs(access) == nil && document.Peek(spec, "accessType") == "":
			d.Unsupported(v, "the access %s (%s) isn't supported yet; want the accessType TOKEN, APP_ROLE, VAULT_AGENT or K8s_AUTH", access, v.Key)
		}
	}
}

// defaultTokenPath and defaultEndpoint are where a pod has the token
// of its account, and where Vault takes it, if the connector doesn't say.
const (
	defaultTokenPath = "/var/run/secrets/kubernetes.io/serviceaccount/token" //nolint:gosec // a path
	defaultEndpoint  = "auth/kubernetes/login"
)

// login is where Vault is and who asks it.
func (s *Vault) login(r connector.Reach) (*task.VaultSecret, error) {
	out := &task.VaultSecret{URL: s.URL.Value, Namespace: s.Namespace.Value, Engine: s.Engine.Value, Version: 2}
	if s.Version.Value == 1 {
		out.Version = 1
	}
	var err error
	switch s.Access {
	case byToken:
		out.Token, err = r.Secret(s.TokenRef)
	case byRole:
		out.RoleID = s.RoleID.Value
		out.SecretID, err = r.Secret(s.SecretRef)
	case byAgent:
		out.SinkPath = s.SinkPath.Value
	case byPod:
		out.Kubernetes = &task.VaultKubernetes{
			Role: s.Role.Value, TokenPath: cmp.Or(s.TokenPath.Value, defaultTokenPath), Endpoint: cmp.Or(s.Endpoint.Value, defaultEndpoint),
		}
	}
	return out, err
}

// Values is the value type of its secrets.
func (s *Vault) Values() string { return connector.ValueReference }

// Fetch is how a secret is fetched.
func (s *Vault) Fetch(r connector.Reach, of connector.Secret) (connector.Fetch, error) {
	name, key, err := named(of)
	if err != nil {
		return connector.Fetch{}, err
	}
	out, err := s.login(r)
	out.Path, out.Key = name, cmp.Or(key, "value")
	return connector.Fetch{Task: task.FetchedSecret{Vault: out}}, err
}

// Probe logs in.
func (s *Vault) Probe(r connector.Reach) (connector.Probe, error) {
	out, err := s.login(r)
	return connector.Probe{Task: probe.Spec{Vault: out}}, err
}
