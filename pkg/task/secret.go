package task

import "time"

// LateSecret is a secret that only the delegate makes, before its task begins:
// of other secrets, or by asking whoever keeps it. One of Pull and Fetched is
// set.
type LateSecret struct {
	Pull    *PullSecret    `json:"pull,omitempty"`
	Fetched *FetchedSecret `json:"fetched,omitempty"`
	// Token names the identity whose token it is.
	Token string `json:"token,omitempty"`
	// Selectors are those of the connector: which delegates may make it.
	Selectors []string `json:"selectors,omitempty"`
}

// FetchedSecret is a secret that another manager than Slipway's keeps. Only the
// delegate fetches it, so that the control plane never has its value. The field
// that is set says from where.
type FetchedSecret struct {
	Name string `json:"name"` // of the secret, for people
	// Script sets the shell's variable "secret" to the value.
	Script *Shell       `json:"script,omitempty"`
	AWS    *AWSSecret   `json:"aws,omitempty"`
	Vault  *VaultSecret `json:"vault,omitempty"`
	// Timeout bounds the fetching; 0: the task's own does.
	Timeout time.Duration `json:"timeout,omitempty"`
}

// AWSSecret is a secret of AWS Secrets Manager.
type AWSSecret struct {
	AWS  AWS    `json:"aws"`
	Name string `json:"name"`          // or its ARN
	Key  string `json:"key,omitempty"` // of a secret that is JSON; empty: the whole of it
}

// VaultSecret is a secret in a key-value engine of HashiCorp Vault. Who asks is
// proved by the first that is set of Token, RoleID, SinkPath and Kubernetes.
type VaultSecret struct {
	URL       string `json:"url"`
	Namespace string `json:"namespace,omitempty"`
	Engine    string `json:"engine"`  // where it is mounted
	Version   int    `json:"version"` // of the engine: 1 or 2
	Path      string `json:"path"`    // within the engine
	Key       string `json:"key"`

	Token    string `json:"token,omitempty"`
	RoleID   string `json:"roleId,omitempty"` // of an AppRole, with SecretID
	SecretID string `json:"secretId,omitempty"`
	// SinkPath is the file on the delegate to which a Vault agent writes a token.
	SinkPath   string           `json:"sinkPath,omitempty"`
	Kubernetes *VaultKubernetes `json:"kubernetes,omitempty"`
}

// VaultKubernetes proves who asks by the delegate's own service account.
type VaultKubernetes struct {
	Role      string `json:"role"`
	TokenPath string `json:"tokenPath"` // the file with the account's token
	Endpoint  string `json:"endpoint"`  // where the method is mounted, e.g. "auth/kubernetes/login"
}
