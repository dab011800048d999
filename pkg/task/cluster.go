package task

// Cluster is how to reach a Kubernetes API. Fields ending in PEM, Token and
// Password hold secret placeholders.
type Cluster struct {
	// Inherit uses the delegate's own access: its service account in a cluster,
	// else its kubeconfig.
	Inherit bool `json:"inherit,omitempty"`
	// Cloud asks a cloud for all that follows.
	Cloud         *CloudCluster `json:"cloud,omitempty"`
	URL           string        `json:"url,omitempty"`
	Token         string        `json:"token,omitempty"`
	CAPEM         string        `json:"caPEM,omitempty"` // empty: the server's certificate isn't checked only if Insecure
	ClientCertPEM string        `json:"clientCertPEM,omitempty"`
	ClientKeyPEM  string        `json:"clientKeyPEM,omitempty"`
	Username      string        `json:"username,omitempty"`
	Password      string        `json:"password,omitempty"`
}

// Unchecked says whether the certificate of the API's server isn't checked:
// nothing that is secret is sent to it.
func (c Cluster) Unchecked() bool {
	return c.CAPEM == "" && c.ClientCertPEM == "" && c.Token == "" && c.Password == ""
}

// CloudCluster is a cluster that is reached through its cloud: the cloud tells
// its address, and makes credentials of short life. Exactly one field is set.
type CloudCluster struct {
	EKS     *EKS     `json:"eks,omitempty"`
	GKE     *GKE     `json:"gke,omitempty"`
	AKS     *AKS     `json:"aks,omitempty"`
	Rancher *Rancher `json:"rancher,omitempty"`
}

// EKS is a cluster of Amazon's; its account names the region.
type EKS struct {
	AWS  AWS    `json:"aws"`
	Name string `json:"name"`
}

// GKE is a cluster of Google's, in the project of the account.
type GKE struct {
	Google   Google `json:"google"`
	Location string `json:"location"` // a zone or a region
	Name     string `json:"name"`
}

// AKS is a cluster of Azure's.
type AKS struct {
	Azure         Azure  `json:"azure"`
	Subscription  string `json:"subscription"`
	ResourceGroup string `json:"resourceGroup"`
	Name          string `json:"name"`
	Admin         bool   `json:"admin,omitempty"` // with the cluster's own administrator
}

// Rancher is a cluster that Rancher manages; the server's token is a bearer's.
type Rancher struct {
	Server Server `json:"server"`
	Name   string `json:"name"`
}

// String names the cluster for people.
func (c CloudCluster) String() string {
	switch {
	case c.EKS != nil:
		return "EKS cluster " + c.EKS.AWS.Region + "/" + c.EKS.Name
	case c.GKE != nil:
		return "GKE cluster " + c.GKE.Location + "/" + c.GKE.Name
	case c.AKS != nil:
		return "AKS cluster " + c.AKS.ResourceGroup + "/" + c.AKS.Name
	case c.Rancher != nil:
		return "cluster " + c.Rancher.Name + " of Rancher"
	}
	return "no cluster"
}
