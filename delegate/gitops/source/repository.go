package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/slipway-cd/slipway/delegate/transport"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/task"
)

// repository is how the repository of a source is opened and reached.
type repository struct {
	access.Repository

	kind  access.Kind
	over  *task.Over // nil: as all hosts
	hosts string     // lines by which SSH hosts are known
	id    string     // names it with what opens it
}

// repositoryOf finds the one of a source.
func repositoryOf(known *access.Known, project string, src *gitops.Source) (repository, error) {
	found, err := known.Repository(project, src)
	if err != nil {
		return repository{}, err
	}
	r := repository{Repository: found, kind: found.KindOf(src)}
	if err := r.fits(); err != nil {
		return repository{}, err
	}
	over := task.Over{ClientCertPEM: r.ClientCert, ClientKeyPEM: r.ClientKey, Insecure: r.Insecure, Proxy: r.Proxy, NoProxy: r.NoProxy}
	if known != nil {
		over.CAPEM, r.hosts = trusted(known.Certificates, r.URL)
	}
	if over != (task.Over{}) {
		r.over = &over
	}
	doc, _ := json.Marshal(struct { //nolint:errchkjson // it has no form that JSON can't say
		R     access.Repository
		Over  task.Over
		Hosts string
	}{r.Repository, over, r.hosts})
	sum := sha256.Sum256(doc)
	r.id = hex.EncodeToString(sum[:])
	return r, nil
}

// fits refuses what can't open a repository of its kind: it would be passed over.
func (r *repository) fits() error {
	wrong := ""
	switch git := r.kind == access.Git; {
	case r.SSHPrivateKey != "" && !git:
		wrong = "sshPrivateKey"
	case r.BearerToken != "" && r.kind == access.Helm:
		wrong = "bearerToken"
	case r.GitHubAppID != 0 && !git:
		wrong = "githubAppID"
	case r.ECR != nil && git:
		wrong = "ecr"
	case r.AzureIdentity:
		return fault.New(fault.Unsupported, "repository %s has useAzureWorkloadIdentity, with which the agent can't log in yet", r.URL)
	case r.EnableLFS && git:
		return fault.New(fault.Unsupported, "repository %s has enableLfs; files that Git LFS keeps can't be fetched yet", r.URL)
	}
	if wrong != "" {
		return fault.New(fault.Invalid, "repository %s is opened by %s, which opens none of type %s", r.URL, wrong, r.kind)
	}
	return nil
}

// trusted is what the host of a URL is known by: certificates beside the system's,
// and all keys of SSH hosts, of which ssh finds the host's.
func trusted(all []access.Certificate, text string) (pem, hosts string) {
	var b, lines strings.Builder
	if !strings.Contains(text, "://") {
		text = "https://" + text // a registry's
	}
	at, err := url.Parse(strings.Replace(text, "oci://", "https://", 1))
	for _, c := range all {
		switch {
		case c.Type == access.CertificateSSH:
			lines.WriteString(c.Server + " " + c.SubType + " " + c.Data + "\n")
		case err == nil && (strings.EqualFold(c.Server, at.Hostname()) || strings.EqualFold(c.Server, at.Host)):
			b.WriteString(strings.TrimSpace(c.Data) + "\n")
		}
	}
	return b.String(), lines.String()
}

// via reaches the repository's host; nil: as all hosts.
func (r *repository) via() (http.RoundTripper, error) {
	if r.over == nil {
		return nil, nil //nolint:nilnil // libraries take it so
	}
	return transport.New(r.over)
}

// git is a Git repository as it is fetched.
func (s *Sources) git(ctx context.Context, r repository) (task.Git, error) {
	who, err := s.login(ctx, r)
	if err != nil {
		return task.Git{}, err
	}
	return task.Git{URL: r.URL, Username: who.user, Password: who.password, Token: who.token, SSHKey: r.SSHPrivateKey, KnownHosts: r.hosts, Over: r.over}, nil
}
