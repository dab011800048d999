package resolve

import (
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// inManager is the reference of a secret that an expression names by its
// manager, and what its document would say; nil for any other name.
func inManager(text string, from ref.Scope) (ref.Ref, *yamldoc.Node, error) {
	typ, manager, name, ok := entity.InManager(text)
	switch {
	case !ok:
		return ref.Ref{}, nil, nil
	case typ == "":
		return ref.Ref{}, nil, fault.New(fault.Unsupported, "secrets of such managers can't be used yet; want hashicorpvault:// or awssecretsmanager://")
	}
	spec := yamldoc.FromAny(map[string]any{"secretManagerIdentifier": manager, "valueType": entity.ValueReference, "value": name}, 0, 0)
	return ref.Ref{Scope: from, ID: text}, spec, nil
}

// reference reads a secret that a manager knows by a name, and perhaps a key.
func (f *fetching) reference(typ string) error {
	name, key, _ := strings.Cut(text(f.spec.Get("value")), "#")
	if name == "" {
		return fault.New(fault.Invalid, "its value is empty; want what the manager calls it")
	}
	if typ == entity.AWSSecretManager {
		f.out.AWS = &task.AWSSecret{Name: name, Key: key}
		return f.aws(&f.out.AWS.AWS)
	}
	if key == "" {
		key = "value"
	}
	f.out.Vault = &task.VaultSecret{Path: name, Key: key}
	return f.vault(f.out.Vault)
}

// aws fills in who asks AWS.
func (f *fetching) aws(a *task.AWS) error {
	spec, err := f.tree(f.connector, "spec")
	if err != nil {
		return err
	}
	a.Region, a.Auth = text(spec.Get("region")), task.AWSInherit
	inner := spec.At("credential", "spec")
	switch typ := text(spec.At("credential", "type")); typ {
	case "ManualConfig":
		a.Auth = task.AWSKeys
		if a.AccessKey, err = f.secretFrom(inner.Get("accessKey"), f.manager.Scope); err == nil {
			a.SecretKey, err = f.secretFrom(inner.Get("secretKey"), f.manager.Scope)
		}
	case "AssumeIAMRole":
	case "AssumeSTSRole":
		a.Role = text(inner.Get("roleArn"))
		if a.ExternalID = text(inner.Get("externalId")); a.ExternalID == "" {
			a.ExternalID = text(inner.Get("externalName"))
		}
		if seconds := text(inner.Get("assumeStsRoleDuration")); seconds != "" {
			a.RoleSeconds, err = strconv.Atoi(seconds)
		}
	default:
		err = fault.New(fault.Unsupported, "its authentication %s can't be used yet", typ)
	}
	return err
}

// defaultKubernetesToken and defaultKubernetesLogin are where a pod has the token
// of its account, and where Vault takes it, if the connector doesn't say.
const (
	defaultKubernetesToken = "/var/run/secrets/kubernetes.io/serviceaccount/token" //nolint:gosec // a path
	defaultKubernetesLogin = "auth/kubernetes/login"
)

// vault fills in where Vault is and who asks it.
func (f *fetching) vault(v *task.VaultSecret) error {
	spec, err := f.tree(f.connector, "spec")
	if err != nil {
		return err
	}
	v.URL, v.Namespace, v.Engine = text(spec.Get("vaultUrl")), text(spec.Get("namespace")), text(spec.Get("secretEngineName"))
	v.Version = 2
	if text(spec.Get("secretEngineVersion")) == "1" {
		v.Version = 1
	}
	switch access := entity.VaultAccess(spec); access {
	case "TOKEN":
		v.Token, err = f.secretFrom(spec.Get("authToken"), f.manager.Scope)
	case "APP_ROLE":
		v.RoleID = text(spec.Get("appRoleId"))
		v.SecretID, err = f.secretFrom(spec.Get("secretId"), f.manager.Scope)
	case "VAULT_AGENT":
		v.SinkPath = text(spec.Get("sinkPath"))
	case "K8s_AUTH":
		v.Kubernetes = &task.VaultKubernetes{Role: text(spec.Get("vaultK8sAuthRole")), TokenPath: defaultKubernetesToken, Endpoint: defaultKubernetesLogin}
		if path := text(spec.Get("serviceAccountTokenPath")); path != "" {
			v.Kubernetes.TokenPath = path
		}
		if endpoint := text(spec.Get("k8sAuthEndpoint")); endpoint != "" {
			v.Kubernetes.Endpoint = endpoint
		}
	default:
		err = fault.New(fault.Unsupported, "its access %s can't be used yet", access)
	}
	return err
}
