package access

// Cluster is one that applications may go to.
type Cluster struct {
	Server string `json:"server"`
	Name   string `json:"name,omitempty"` // empty: Server
	// Project is whose alone it is; empty: everybody's.
	Project string `json:"project,omitempty"`
	// Namespaces are the only ones that the agent looks into; none: all.
	Namespaces []string `json:"namespaces,omitempty"`
	// ClusterResources has the objects of the whole cluster looked at beside
	// Namespaces.
	ClusterResources bool `json:"clusterResources,omitempty"`
	// Shard is the process that is to have it, of several.
	Shard       *int64            `json:"shard,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Config      ClusterConfig     `json:"config"`
}

// ClusterConfig is how the API of a cluster is opened.
type ClusterConfig struct {
	Username           string       `json:"username,omitempty"`
	Password           string       `json:"password,omitempty"`
	BearerToken        string       `json:"bearerToken,omitempty"`
	TLS                ClusterTLS   `json:"tlsClientConfig,omitzero"`
	AWS                *ClusterAWS  `json:"awsAuthConfig,omitempty"`
	Exec               *ClusterExec `json:"execProviderConfig,omitempty"`
	DisableCompression bool         `json:"disableCompression,omitempty"`
	ProxyURL           string       `json:"proxyUrl,omitempty"`
}

// ClusterTLS is how the two sides know each other. The data are PEM.
type ClusterTLS struct {
	Insecure   bool   `json:"insecure,omitempty"`
	ServerName string `json:"serverName,omitempty"` // in the certificate; empty: that of the address
	CertData   []byte `json:"certData,omitempty"`
	KeyData    []byte `json:"keyData,omitempty"`
	CAData     []byte `json:"caData,omitempty"`
}

// ClusterAWS opens a cluster of EKS as who the agent runs as.
type ClusterAWS struct {
	ClusterName string `json:"clusterName"`
	RoleARN     string `json:"roleARN,omitempty"` // is assumed first
	Profile     string `json:"profile,omitempty"` // of the agent's configuration of AWS
}

// ClusterExec is a command that gives credentials.
type ClusterExec struct {
	Command     string            `json:"command"`
	Args        []string          `json:"args,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	APIVersion  string            `json:"apiVersion,omitempty"`
	InstallHint string            `json:"installHint,omitempty"`
}
