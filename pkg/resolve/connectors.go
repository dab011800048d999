package resolve

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// text is a resolved scalar's text; empty for none.
func text(n *yamldoc.Node) string {
	if n == nil {
		return ""
	}
	return n.Value
}

func words(list *yamldoc.Node) []string {
	if list == nil {
		return nil
	}
	var out []string
	for _, item := range list.Items {
		out = append(out, item.Value)
	}
	return out
}

// connector reads a connector that a resolved document names.
func (s *Scope) connector(name *yamldoc.Node, from ref.Scope) (*yamldoc.Node, error) {
	v, err := s.scalar(name)
	if err != nil {
		return nil, err
	}
	if name == nil || v.Text() == "" {
		return nil, fault.New(fault.Invalid, "a connectorRef is missing")
	}
	r, err := ref.Parse(v.Text(), from)
	if err != nil {
		return nil, fault.New(fault.Invalid, "connector %q: %w", v.Text(), err)
	}
	e, err := s.Entities.Entity(s.Context, store.EntityKey{Scope: r.Scope, Kind: ref.Connector, ID: r.ID})
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.NotFound, "connector %q isn't in %s", r.ID, r.Scope)
	}
	if err != nil {
		return nil, err
	}
	docs, report := yamldoc.Parse(r.ID, e.YAML)
	if err := report.Err(); err != nil {
		return nil, err
	}
	entity.Qualify(docs[0], r.Scope, nil)
	return s.tree(docs[0].Get("connector"), "connector "+r.ID)
}

// connectorNamed is connector by a name that has been resolved.
func (s *Scope) connectorNamed(name string) (*yamldoc.Node, error) {
	return s.connector(&yamldoc.Node{Kind: yamldoc.Scalar, Value: name}, s.Execution.Scope)
}

// cluster is how a K8sCluster connector reaches its API
// (semantics/entities §9).
func (s *Scope) cluster(doc *yamldoc.Node) (task.Cluster, error) {
	if typ := text(doc.Get("type")); typ != "K8sCluster" {
		return task.Cluster{}, fault.New(fault.Invalid, "connector %s is a %s; want a K8sCluster", text(doc.Get("identifier")), typ)
	}
	credential := doc.At("spec", "credential")
	if text(credential.Get("type")) == "InheritFromDelegate" {
		return task.Cluster{Inherit: true}, nil
	}
	auth := credential.At("spec", "auth")
	c := task.Cluster{URL: text(credential.At("spec", "masterUrl"))}
	spec := auth.Get("spec")
	var err error
	set := func(to *string, key string) {
		if err == nil {
			*to, err = s.secretAt(spec.Get(key))
		}
	}
	switch typ := text(auth.Get("type")); typ {
	case "UsernamePassword":
		set(&c.Username, "usernameRef")
		if c.Username == "" {
			c.Username = text(spec.Get("username"))
		}
		set(&c.Password, "passwordRef")
	case "ServiceAccount":
		set(&c.Token, "serviceAccountTokenRef")
		set(&c.CAPEM, "caCertRef")
	case "ClientKeyCert":
		set(&c.CAPEM, "caCertRef")
		set(&c.ClientCertPEM, "clientCertRef")
		set(&c.ClientKeyPEM, "clientKeyRef")
	default:
		return task.Cluster{}, fault.New(fault.Unsupported, "the authentication %s of connector %s can't be used yet", typ, text(doc.Get("identifier")))
	}
	return c, err
}

// secretAt is the placeholder of the secret that a *Ref key names; empty if
// the key is absent.
func (s *Scope) secretAt(n *yamldoc.Node) (string, error) {
	return s.secretFrom(n, s.Execution.Scope)
}

// git is how a place in a Git repository is reached.
func (s *Scope) git(at filesource.Repository) (*task.Git, error) {
	doc, err := s.connectorNamed(at.ConnectorRef.Value)
	if err != nil {
		return nil, err
	}
	g := &task.Git{URL: repository(doc, at.RepoName.Value), Paths: slices.Clone(at.Paths.Value)}
	if at.FolderPath.Value != "" {
		g.Paths = append(g.Paths, at.FolderPath.Value)
	}
	if at.FetchType.Value == "Commit" {
		g.Commit = at.Commit.Value
	} else {
		g.Branch = at.Branch.Value
	}
	return g, s.gitAccess(doc, g)
}

// repository is the URL of a Git connector's repository: for an account or a
// project, the repository's name is appended.
func repository(doc *yamldoc.Node, name string) string {
	url := strings.TrimSuffix(text(doc.At("spec", "url")), "/")
	level := text(doc.At("spec", "connectionType"))
	if level == "" {
		level = text(doc.At("spec", "type"))
	}
	switch {
	case level != "Account" && level != "Project" || name == "":
		return url
	case text(doc.Get("type")) == "AzureRepo" && strings.HasPrefix(url, "http"):
		return url + "/_git/" + name
	}
	return url + "/" + name
}

// gitAccess fills in how the repository is reached (semantics/entities §9).
func (s *Scope) gitAccess(doc *yamldoc.Node, g *task.Git) error {
	kind, auth := text(doc.At("spec", "authentication", "type")), doc.At("spec", "authentication", "spec")
	if text(doc.Get("type")) == "Git" { // the generic connector says it elsewhere
		kind, auth = text(doc.At("spec", "type")), doc.Get("spec")
		if inner := auth.Get("spec"); inner != nil {
			auth = inner
		}
	}
	if kind == "Ssh" {
		return s.sshAccess(auth, g)
	}
	if inner := auth.Get("spec"); inner != nil {
		auth = inner
	}
	var err error
	if g.Username, err = s.secretAt(auth.Get("usernameRef")); err != nil {
		return err
	}
	if g.Username == "" {
		g.Username = text(auth.Get("username"))
	}
	for _, key := range []string{"tokenRef", "passwordRef"} {
		if g.Password == "" && err == nil {
			g.Password, err = s.secretAt(auth.Get(key))
		}
	}
	return err
}

// sshAccess reads the SSHKey secret that a connector names.
func (s *Scope) sshAccess(auth *yamldoc.Node, g *task.Git) error {
	r, err := ref.Parse(text(auth.Get("sshKeyRef")), s.Execution.Scope)
	if err != nil {
		return fault.New(fault.Invalid, "sshKeyRef: %w", err)
	}
	doc, err := s.secretDocument(r)
	if err != nil {
		return err
	}
	g.SSHUser, g.SSHKey, g.SSHPassphrase, err = s.login(doc, r.Scope)
	if g.SSHKey == "" && err == nil {
		return fault.New(fault.Unsupported, "secret %s: only SSH keys by reference can be used yet", r.ID)
	}
	return err
}
