package source

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Kind is what a repository is.
type Kind string

// The kinds of repositories.
const (
	Git  Kind = "git"
	Helm Kind = "helm"
	OCI  Kind = "oci"
)

// Repository is how a repository is opened, or a template of that: the names are
// those of Argo CD's Secrets.
type Repository struct {
	URL     string `json:"url"`
	Type    Kind   `json:"type,omitempty"` // empty: git
	Name    string `json:"name,omitempty"`
	Project string `json:"project,omitempty"` // whose alone it is; empty: everybody's
	// Template says that it is for all repositories whose URLs begin with URL.
	Template bool `json:"credsOnly,omitempty"`

	Username      string `json:"username,omitempty"`
	Password      string `json:"password,omitempty"`
	SSHPrivateKey string `json:"sshPrivateKey,omitempty"`
	EnableOCI     bool   `json:"enableOCI,omitempty"`
	// PlainHTTP has a registry asked without TLS.
	PlainHTTP bool `json:"insecureOCIForceHttp,omitempty"`
}

// Choose says how the repository of a source is opened (semantics/gitops §1): the
// repository with its URL, of the application's project before everybody's; what
// that lacks comes from the template with the longest beginning of the URL. Without
// either nothing opens it but what everybody may do.
func Choose(project string, src *gitops.Source, known []Repository) (Repository, error) {
	at, err := gitops.NormalURL(src.RepoURL)
	if err != nil {
		return Repository{}, err
	}
	out := Repository{}
	for _, own := range []string{project, ""} {
		for _, r := range known {
			if u, err := gitops.NormalURL(r.URL); !r.Template && r.Project == own && err == nil && u == at {
				return r.from(template(project, at, known)).at(src.RepoURL), nil
			}
		}
	}
	return out.from(template(project, at, known)).at(src.RepoURL), nil
}

// at is the repository by the URL of a source. Who opens it by a name in that URL
// stands in messages no more, and counts where nothing else opens it.
func (r Repository) at(text string) Repository {
	r.URL = text
	u, err := url.Parse(text)
	if err != nil || u.User == nil || !strings.HasPrefix(u.Scheme, "http") {
		return r
	}
	if r.Username == "" && r.Password == "" {
		r.Username = u.User.Username()
		r.Password, _ = u.User.Password()
	}
	u.User = nil
	r.URL = u.String()
	return r
}

// template is the one with the longest beginning of a URL.
func template(project, at string, known []Repository) Repository {
	var best Repository
	longest := -1
	for _, r := range known {
		u, err := gitops.NormalURL(r.URL)
		fits := at == u || strings.HasPrefix(at, strings.TrimSuffix(u, "/")+"/")
		if err == nil && r.Template && (r.Project == "" || r.Project == project) && fits && len(u) > longest {
			best, longest = r, len(u)
		}
	}
	return best
}

// from fills in what a repository lacks.
func (r Repository) from(t Repository) Repository {
	if r.Username == "" && r.Password == "" && r.SSHPrivateKey == "" {
		r.Username, r.Password, r.SSHPrivateKey = t.Username, t.Password, t.SSHPrivateKey
	}
	r.Type = cmp.Or(r.Type, t.Type)
	r.EnableOCI, r.PlainHTTP = r.EnableOCI || t.EnableOCI, r.PlainHTTP || t.PlainHTTP
	return r
}

// kind is what the repository of a source is.
func (r Repository) kind(src *gitops.Source) Kind {
	switch {
	case strings.HasPrefix(src.RepoURL, "oci://"):
		return OCI
	case src.Chart != "":
		return Helm
	}
	return cmp.Or(r.Type, Git)
}

// git is a Git repository as it is fetched.
func (r Repository) git() task.Git {
	return task.Git{URL: r.URL, Username: r.Username, Password: r.Password, SSHKey: r.SSHPrivateKey}
}

// identity names a repository with what opens it.
func (r Repository) identity() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{string(r.Type), r.URL, r.Username, r.Password, r.SSHPrivateKey}, "\n")))
	return hex.EncodeToString(sum[:])
}
