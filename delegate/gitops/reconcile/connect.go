package reconcile

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	api "k8s.io/client-go/tools/clientcmd/api"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/clusteraccess"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Cluster is one that applications may go to.
type Cluster struct {
	Name, Server string
	Cluster      *applying.Cluster
	// Project is whose alone it is; empty: everybody's.
	Project string
	// Namespaces are the only ones that are looked into, and with Wide the objects of
	// the whole cluster beside them; none: all.
	Namespaces []string
	Wide       bool
	// Problem is why it can't be reached, whatever is tried.
	Problem error
}

// Connections keeps what speaks to clusters for as long as they are opened in the
// same way. It is for one goroutine.
type Connections struct {
	known map[string]*applying.Cluster // by all that opens them
}

// Clusters are those of documents.
func (c *Connections) Clusters(docs []access.Cluster) []Cluster {
	known := map[string]*applying.Cluster{}
	var out []Cluster
	for _, doc := range docs {
		one := Cluster{Name: cmp.Or(doc.Name, doc.Server), Server: doc.Server, Project: doc.Project, Namespaces: doc.Namespaces, Wide: doc.ClusterResources}
		if bare(doc) {
			out = append(out, one) // it is the agent's own
			continue
		}
		text, _ := json.Marshal(struct { //nolint:errchkjson // it has no form that JSON can't say, and is no file
			Server string
			Config access.ClusterConfig
		}{doc.Server, doc.Config})
		id := string(text)
		if one.Cluster = c.known[id]; one.Cluster == nil {
			one.Cluster, one.Problem = connect(doc)
		}
		if one.Problem == nil {
			known[id] = one.Cluster
		}
		out = append(out, one)
	}
	c.known = known
	return out
}

// bare says whether a document is of the agent's own cluster, which the agent knows
// how to open.
func bare(doc access.Cluster) bool {
	c := doc.Config
	return doc.Server == InClusterServer && c.BearerToken == "" && c.Username == "" && c.AWS == nil && c.Exec == nil && len(c.TLS.CertData) == 0
}

// connect prepares to speak to a cluster; nothing is sent yet.
func connect(doc access.Cluster) (*applying.Cluster, error) {
	cfg, err := restConfig(doc)
	if err != nil {
		return nil, fault.Wrap(err, "cluster %s", cmp.Or(doc.Name, doc.Server))
	}
	made, err := applying.Open(cfg)
	if err != nil {
		return nil, fault.Wrap(err, "cluster %s", cmp.Or(doc.Name, doc.Server))
	}
	return made, nil
}

// execAllowed are the commands that may give credentials.
func execAllowed() []string {
	return []string{"kubelogin", "gke-gcloud-auth-plugin", "aws-iam-authenticator"}
}

// argoAuth is the command of Argo CD that asks clouds. What it does is done here.
const argoAuth = "argocd-k8s-auth"

// restConfig is how the API of a cluster is opened (semantics/gitops §1).
func restConfig(doc access.Cluster) (*rest.Config, error) {
	c := doc.Config
	if at, err := url.Parse(doc.Server); err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" {
		return nil, fault.New(fault.Invalid, "found the server %q; want an address such as https://api.example.com:6443", doc.Server)
	}
	if c.Exec != nil && c.Exec.Command == argoAuth {
		var err error
		if c.AWS, err = authOf(c.Exec.Args); err != nil {
			return nil, err
		}
		c.Exec = nil
	}
	ways := 0
	for _, one := range []bool{c.BearerToken != "", c.Username != "" || c.Password != "", c.AWS != nil, c.Exec != nil} {
		if one {
			ways++
		}
	}
	switch {
	case ways > 1:
		return nil, fault.New(fault.Invalid, "its config has several sorts of credentials; want one of bearerToken, username with password, awsAuthConfig and execProviderConfig")
	case (len(c.TLS.CertData) == 0) != (len(c.TLS.KeyData) == 0):
		return nil, fault.New(fault.Invalid, "its tlsClientConfig has one of certData and keyData; want both")
	}
	cfg := &rest.Config{
		Host: doc.Server, BearerToken: c.BearerToken, Username: c.Username, Password: c.Password, DisableCompression: c.DisableCompression,
		TLSClientConfig: rest.TLSClientConfig{ServerName: c.TLS.ServerName, CertData: c.TLS.CertData, KeyData: c.TLS.KeyData, CAData: c.TLS.CAData, Insecure: c.TLS.Insecure},
	}
	if c.TLS.Insecure {
		cfg.CAData = nil // nobody is checked by it
	}
	if c.ProxyURL != "" {
		at, err := url.Parse(c.ProxyURL)
		if err != nil || at.Host == "" {
			return nil, fault.New(fault.Invalid, "its proxyUrl is no address; want one such as http://proxy.example.com:3128")
		}
		cfg.Proxy = http.ProxyURL(at)
	}
	if a := c.AWS; a != nil {
		if a.ClusterName == "" {
			return nil, fault.New(fault.Invalid, "its awsAuthConfig has no clusterName")
		}
		account := task.AWS{Auth: task.AWSInherit, Region: eksRegion(doc.Server), Role: a.RoleARN}
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return clusteraccess.AsEKS(account, a.ClusterName, a.Profile, next)
		})
	}
	if e := c.Exec; e != nil {
		if !slices.Contains(execAllowed(), e.Command) {
			return nil, fault.New(fault.Forbidden, "its execProviderConfig runs %q; want %s or %s", e.Command, argoAuth, strings.Join(execAllowed(), ", "))
		}
		cfg.ExecProvider = &api.ExecConfig{
			Command: e.Command, Args: e.Args, APIVersion: cmp.Or(e.APIVersion, "client.authentication.k8s.io/v1"), InstallHint: e.InstallHint, InteractiveMode: api.NeverExecInteractiveMode,
		}
		for name, value := range e.Env {
			cfg.ExecProvider.Env = append(cfg.ExecProvider.Env, api.ExecEnvVar{Name: name, Value: value})
		}
	}
	return cfg, nil
}

// authOf reads what Argo CD's command is called with.
func authOf(args []string) (*access.ClusterAWS, error) {
	if len(args) == 0 || args[0] != "aws" {
		return nil, fault.New(fault.Unsupported, "its execProviderConfig runs %s %s; of its clouds only aws is known", argoAuth, strings.Join(args, " "))
	}
	out := &access.ClusterAWS{}
	for rest := args[1:]; len(rest) > 0; {
		name, value, joined := strings.Cut(rest[0], "=")
		rest = rest[1:]
		if !joined && len(rest) > 0 {
			value, rest = rest[0], rest[1:]
		}
		switch name {
		case "--cluster-name":
			out.ClusterName = value
		case "--role-arn":
			out.RoleARN = value
		case "--profile":
			out.Profile = value
		default:
			return nil, fault.New(fault.Invalid, "its execProviderConfig runs %s with %s; want --cluster-name, --role-arn or --profile", argoAuth, name)
		}
	}
	return out, nil
}

// eksRegion is the region of an EKS cluster by its address; empty: it isn't told.
func eksRegion(server string) string {
	at, err := url.Parse(server)
	if err != nil {
		return ""
	}
	const names = 5 // id.hash.region.eks.amazonaws.com, at least
	parts := strings.Split(at.Hostname(), ".")
	if i := slices.Index(parts, "eks"); i > 0 && len(parts) >= names {
		return parts[i-1]
	}
	return ""
}
