// Package access is how a GitOps agent gets at what isn't its own: repositories and
// other clusters, and the certificates and keys by which it knows them
// (semantics/gitops §1).
//
// The names are those of Argo CD's Secrets and ConfigMaps. What is secret stands here
// as it is: values of these types are neither logged nor put into messages.
package access

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
)

// Kind is what a repository is.
type Kind string

// The kinds of repositories.
const (
	Git  Kind = "git"
	Helm Kind = "helm"
	OCI  Kind = "oci"
)

// Repository is how a repository is opened, or a template of that.
type Repository struct {
	URL     string `json:"url"`
	Type    Kind   `json:"type,omitempty"` // empty: git
	Name    string `json:"name,omitempty"`
	Project string `json:"project,omitempty"` // whose alone it is; empty: everybody's
	// Template says that it is for all repositories whose URLs begin with URL.
	Template bool `json:"credsOnly,omitempty"`

	Credentials

	EnableLFS bool `json:"enableLfs,omitempty"`
	EnableOCI bool `json:"enableOCI,omitempty"`
	// PlainHTTP has a registry asked without TLS.
	PlainHTTP bool `json:"insecureOCIForceHttp,omitempty"`
	// Insecure takes any certificate, and any key of an SSH host.
	Insecure bool   `json:"insecure,omitempty"`
	Proxy    string `json:"proxy,omitempty"`
	NoProxy  string `json:"noProxy,omitempty"` // of Proxy: hosts, separated by commas
	// Depth is how many commits are fetched. What is rendered needs one, so that any
	// will do.
	Depth int64 `json:"depth,omitempty"`
}

// Credentials are what opens a repository. All empty: nothing does but what is open
// to everybody.
type Credentials struct {
	Username      string `json:"username,omitempty"`
	Password      string `json:"password,omitempty"`
	BearerToken   string `json:"bearerToken,omitempty"`
	SSHPrivateKey string `json:"sshPrivateKey,omitempty"`
	// BasicAuth has the password sent before it is asked for.
	BasicAuth bool `json:"forceHttpBasicAuth,omitempty"`
	// ClientCert and ClientKey, PEM, are shown to the host beside all else.
	ClientCert string `json:"tlsClientCertData,omitempty"`
	ClientKey  string `json:"tlsClientCertKey,omitempty"`

	GitHubAppID           int64  `json:"githubAppID,omitempty"`
	GitHubAppInstallation int64  `json:"githubAppInstallationID,omitempty"` // 0: that of the repository
	GitHubAppKey          string `json:"githubAppPrivateKey,omitempty"`
	// GitHubAppURL is the address of the API; empty: GitHub's own.
	GitHubAppURL string `json:"githubAppEnterpriseBaseUrl,omitempty"`

	GCPKey string `json:"gcpServiceAccountKey,omitempty"` // JSON
	// AzureIdentity asks with the workload identity of the agent.
	AzureIdentity bool `json:"useAzureWorkloadIdentity,omitempty"`
	ECR           *ECR `json:"ecr,omitempty"`
}

// Known are all repositories that an agent knows, templates among them, and what
// their hosts and commits are known by.
type Known struct {
	Repositories []Repository
	Certificates []Certificate
	Keys         []Key
}

// ECR has a registry of AWS opened by a login that the agent asks for. Without keys
// it asks as who it runs as.
type ECR struct {
	Region       string `json:"region"`
	AccessKey    string `json:"accessKey,omitempty"`
	SecretKey    string `json:"secretKey,omitempty"`
	SessionToken string `json:"sessionToken,omitempty"`
}

// any says whether they open anything.
func (c *Credentials) any() bool { return *c != Credentials{} }

// Repository says how the repository of a source is opened (semantics/gitops §1): the
// repository with its URL, of the application's project before everybody's; what
// that lacks comes from the template with the longest beginning of the URL. Without
// either nothing opens it but what everybody may do. A repository of another project
// is none. A nil Known knows nothing.
func (k *Known) Repository(project string, src *gitops.Source) (Repository, error) {
	if k == nil {
		k = &Known{}
	}
	at, err := gitops.NormalURL(src.RepoURL)
	if err != nil {
		return Repository{}, err
	}
	var r Repository
	for _, one := range k.Repositories {
		u, err := gitops.NormalURL(one.URL)
		if err == nil && u == at && !one.Template && one.servesProject(project) && (r.URL == "" || r.Project == "") {
			r = one
		}
	}
	r = r.from(k.template(project, at)).at(src.RepoURL)
	return r, r.check()
}

// Elsewhere is the project whose repository has the URL of a source, where none of
// the application's own has; empty: there is none.
func (k *Known) Elsewhere(project string, src *gitops.Source) string {
	at, err := gitops.NormalURL(src.RepoURL)
	if err != nil || k == nil {
		return ""
	}
	other := ""
	for _, r := range k.Repositories {
		if u, err := gitops.NormalURL(r.URL); err == nil && u == at && !r.Template {
			if r.servesProject(project) {
				return ""
			}
			other = r.Project
		}
	}
	return other
}

func (r *Repository) servesProject(project string) bool {
	return r.Project == "" || r.Project == project
}

// at is the repository by the URL of a source. Who opens it by a name in that URL
// stands in messages no more, and counts where nothing else opens it.
func (r Repository) at(text string) Repository {
	r.URL = text
	u, err := url.Parse(text)
	if err != nil || u.User == nil || !strings.HasPrefix(u.Scheme, "http") {
		return r
	}
	if !r.any() {
		r.Username = u.User.Username()
		r.Password, _ = u.User.Password()
	}
	u.User = nil
	r.URL = u.String()
	return r
}

// template is the one with the longest beginning of a URL, of the project before
// everybody's.
func (k *Known) template(project, at string) Repository {
	var best Repository
	longest := -1
	for _, r := range k.Repositories {
		u, err := gitops.NormalURL(r.URL)
		fits := at == u || strings.HasPrefix(at, strings.TrimSuffix(u, "/")+"/")
		if err != nil || !r.Template || !r.servesProject(project) || !fits {
			continue
		}
		if len(u) > longest || len(u) == longest && best.Project == "" {
			best, longest = r, len(u)
		}
	}
	return best
}

// from fills in what a repository lacks. Credentials are taken as a whole: half of
// the one and half of the other would open nothing, or send a password to whom it
// isn't for.
func (r Repository) from(t Repository) Repository {
	own := r.Credentials
	own.Username = "" // it may stand beside the template's password
	if !own.any() {
		user := r.Username
		r.Credentials = t.Credentials
		r.Username = cmp.Or(user, t.Username)
	}
	r.Type = cmp.Or(r.Type, t.Type)
	r.EnableOCI, r.PlainHTTP, r.Insecure = r.EnableOCI || t.EnableOCI, r.PlainHTTP || t.PlainHTTP, r.Insecure || t.Insecure
	if r.Proxy == "" {
		r.Proxy, r.NoProxy = t.Proxy, t.NoProxy
	}
	return r
}

// check refuses what can't work.
func (r *Repository) check() error {
	ways := 0
	for _, one := range []bool{
		r.Password != "", r.BearerToken != "", r.SSHPrivateKey != "", r.GitHubAppID != 0 || r.GitHubAppKey != "", r.GCPKey != "", r.AzureIdentity, r.ECR != nil,
	} {
		if one {
			ways++
		}
	}
	proxied, _ := url.Parse(r.Proxy)
	switch {
	case ways > 1:
		return fault.New(fault.Invalid, "repository %s has several sorts of credentials; want one of password, bearerToken, sshPrivateKey, githubApp…, gcpServiceAccountKey, useAzureWorkloadIdentity and ecr", r.URL)
	case (r.ClientCert == "") != (r.ClientKey == ""):
		return fault.New(fault.Invalid, "repository %s has one of tlsClientCertData and tlsClientCertKey; want both", r.URL)
	case (r.GitHubAppID == 0) != (r.GitHubAppKey == ""):
		return fault.New(fault.Invalid, "repository %s has one of githubAppID and githubAppPrivateKey; want both", r.URL)
	case r.Proxy != "" && (proxied == nil || proxied.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, proxied.Scheme)):
		return fault.New(fault.Invalid, "repository %s has a proxy that is no address; want one such as http://proxy.example.com:3128", r.URL)
	}
	return nil
}

// KindOf is what the repository of a source is.
func (r *Repository) KindOf(src *gitops.Source) Kind {
	switch {
	case strings.HasPrefix(src.RepoURL, "oci://"):
		return OCI
	case src.Chart != "":
		return Helm
	}
	return cmp.Or(r.Type, Git)
}
