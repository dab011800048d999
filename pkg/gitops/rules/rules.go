// Package rules says what a project lets its applications do: what they may read,
// where they may go, and which objects they may have there (semantics/gitops §14).
//
// It asks no cluster: of which scope a kind is, and which clusters are a project's
// own, is the caller's to know.
package rules

import (
	"path"
	"regexp"
	"strings"

	"github.com/gobwas/glob"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// Rules are those of one project, read.
type Rules struct {
	project      string
	spec         gitops.ProjectSpec
	sources      []pattern
	destinations []destination
	namespaces   []func(string) bool
	signed       []signed
	accounts     []destination // as spec.DestinationServiceAccounts
}

// signed is a policy of who has to sign what is deployed from some repositories.
type signed struct {
	repos []pattern
	keys  []string // none: nobody
}

// pattern is a glob; one with ! takes away what it matches.
type pattern struct {
	*glob.Pattern
	deny bool
}

// destination is a row of a project's destinations. What it doesn't say is "".
type destination struct{ server, name, namespace pattern }

// Read reads the rules of a project. An error says which of its fields is wrong.
func Read(p gitops.Project) (*Rules, error) {
	r := &Rules{project: p.Meta.Name, spec: p.Spec}
	for i, text := range p.Spec.SourceRepos {
		if text == "!*" {
			return nil, fault.New(fault.Invalid, "sourceRepos[%d]: found !*, which takes everything away", i)
		}
		bare, deny := strings.CutPrefix(text, "!")
		if url, err := gitops.NormalURL(bare); err == nil && !strings.ContainsAny(bare, "{}[]?\\") {
			bare = url
		}
		if bare == "*" { // any, whatever its slashes
			bare = "**"
		}
		g, err := glob.Compile(bare, '/')
		if err != nil {
			return nil, fault.New(fault.Invalid, "sourceRepos[%d]: %q isn't a pattern: %w", i, text, err)
		}
		r.sources = append(r.sources, pattern{g, deny})
	}
	for i, d := range p.Spec.Destinations {
		var row destination
		for _, part := range []struct {
			name, text string
			into       *pattern
		}{{"server", d.Server, &row.server}, {"name", d.Name, &row.name}, {"namespace", d.Namespace, &row.namespace}} {
			if part.text == "!*" {
				return nil, fault.New(fault.Invalid, "destinations[%d].%s: found !*, which takes everything away", i, part.name)
			}
			bare, deny := strings.CutPrefix(part.text, "!")
			g, err := glob.Compile(bare)
			if err != nil {
				return nil, fault.New(fault.Invalid, "destinations[%d].%s: %q isn't a pattern: %w", i, part.name, part.text, err)
			}
			*part.into = pattern{g, deny}
		}
		r.destinations = append(r.destinations, row)
	}
	if err := kinds(p.Spec); err != nil {
		return nil, err
	}
	if err := r.readSigned(); err != nil {
		return nil, err
	}
	for i, a := range p.Spec.DestinationServiceAccounts {
		var row destination
		for _, part := range []struct {
			name, text string
			into       *pattern
		}{{"server", a.Server, &row.server}, {"namespace", a.Namespace, &row.namespace}} {
			g, err := glob.Compile(part.text)
			if err != nil {
				return nil, fault.New(fault.Invalid, "destinationServiceAccounts[%d].%s: %q isn't a pattern: %w", i, part.name, part.text, err)
			}
			*part.into = pattern{Pattern: g}
		}
		r.accounts = append(r.accounts, row)
	}
	for i, text := range p.Spec.SourceNamespaces {
		match, err := namespaced(text)
		if err != nil {
			return nil, fault.New(fault.Invalid, "sourceNamespaces[%d]: %q isn't a pattern: %w", i, text, err)
		}
		r.namespaces = append(r.namespaces, match)
	}
	return r, nil
}

// readSigned reads who has to sign what is deployed.
func (r *Rules) readSigned() error {
	if i := r.spec.SourceIntegrity; i == nil || i.Git == nil {
		var keys []string
		for _, k := range r.spec.SignatureKeys {
			keys = append(keys, k.KeyID)
		}
		if len(keys) > 0 {
			r.signed = []signed{{repos: []pattern{{Pattern: glob.MustCompile("*")}}, keys: keys}}
		}
		return nil
	}
	for i, p := range r.spec.SourceIntegrity.Git.Policies {
		one := signed{keys: p.GPG.Keys}
		if p.GPG.Mode == gitops.SignedNone {
			one.keys = nil
		}
		for j, repo := range p.Repos {
			bare, deny := strings.CutPrefix(repo.URL, "!")
			if url, err := gitops.NormalURL(bare); err == nil && !strings.ContainsAny(bare, "{}[]?\\") {
				bare = url
			}
			g, err := glob.Compile(bare) // a * goes over slashes, as Argo CD has it
			if err != nil {
				return fault.New(fault.Invalid, "sourceIntegrity.git.policies[%d].repos[%d].url: %q isn't a pattern: %w", i, j, repo.URL, err)
			}
			one.repos = append(one.repos, pattern{g, deny})
		}
		r.signed = append(r.signed, one)
	}
	return nil
}

// Signers are the keys of which one has to have signed what is deployed from a
// repository; none: nobody has to. The first policy that takes the repository counts.
func (r *Rules) Signers(repoURL string) ([]string, error) {
	if len(r.signed) == 0 {
		return nil, nil
	}
	url, err := gitops.NormalURL(repoURL)
	if err != nil {
		return nil, err
	}
	for _, p := range r.signed {
		taken := false
		for _, repo := range p.repos {
			if !repo.Match(url) {
				continue
			}
			if taken = !repo.deny; repo.deny {
				break
			}
		}
		if taken {
			return p.keys, nil
		}
	}
	return nil, nil
}

// Account is as which service account objects are applied at a destination: the first row
// that takes it says so. Without a namespace of its own the account is in the
// destination's. Both are empty where no row does.
func (r *Rules) Account(server, namespace string) (in, name string) {
	for i, row := range r.accounts {
		if !row.server.Match(server) || !row.namespace.Match(namespace) {
			continue
		}
		account := r.spec.DestinationServiceAccounts[i].Account
		if in, name, ok := strings.Cut(account, ":"); ok {
			return in, name
		}
		return namespace, account
	}
	return "", ""
}

// kinds checks the patterns of kinds.
func kinds(spec gitops.ProjectSpec) error {
	var ignored []gitops.KindPattern
	if o := spec.OrphanedResources; o != nil {
		ignored = o.Ignore
	}
	for _, list := range []struct {
		name string
		of   []gitops.KindPattern
	}{
		{"orphanedResources.ignore", ignored},
		{"clusterResourceWhitelist", spec.ClusterResourceWhitelist}, {"clusterResourceBlacklist", spec.ClusterResourceBlacklist},
		{"namespaceResourceWhitelist", spec.NamespaceResourceWhitelist}, {"namespaceResourceBlacklist", spec.NamespaceResourceBlacklist},
	} {
		for i, k := range list.of {
			for _, text := range []string{k.Group, k.Kind, k.Name} {
				if _, err := path.Match(text, ""); err != nil {
					return fault.New(fault.Invalid, "%s[%d]: %q isn't a pattern: %w", list.name, i, text, err)
				}
			}
		}
	}
	return nil
}

// namespaced reads a pattern of namespaces: a glob or, between slashes, a regular
// expression.
func namespaced(text string) (func(string) bool, error) {
	if len(text) > 1 && strings.HasPrefix(text, "/") && strings.HasSuffix(text, "/") {
		e, err := regexp.Compile(text[1 : len(text)-1])
		if err != nil {
			return nil, err
		}
		return e.MatchString, nil
	}
	g, err := glob.Compile(text)
	if err != nil {
		return nil, err
	}
	return g.Match, nil
}

// Source says why an application may not be rendered from a repository; nil: it may.
// A pattern with ! takes all repositories but those that it names, and these away
// from the others.
func (r *Rules) Source(repoURL string) error {
	url, err := gitops.NormalURL(repoURL)
	if err != nil {
		return err
	}
	taken := false
	for _, p := range r.sources {
		switch {
		case p.takes(url):
			taken = true
		case p.deny:
			return fault.New(fault.Forbidden, "the project %q takes the repository %s away", r.project, url)
		}
	}
	if !taken {
		return fault.New(fault.Forbidden, "the project %q has no repository %s among its sourceRepos", r.project, url)
	}
	return nil
}

// takes says whether a pattern is about a text: with ! about all that it doesn't
// match.
func (p pattern) takes(text string) bool { return p.Match(text) != p.deny }

// Cluster is a destination and whether it is one of the project's own.
type Cluster struct {
	Server, Name string
	Own          bool
}

// Destination says why applications may not go to a namespace of a cluster; nil: they
// may. A row has to take the cluster, by its address or its name, and the namespace;
// one with ! takes what it names away from the others.
func (r *Rules) Destination(c Cluster, namespace string) error {
	taken := false
	for _, d := range r.destinations {
		server, name, ns := c.Server != "" && d.server.takes(c.Server), c.Name != "" && d.name.takes(c.Name), d.namespace.takes(namespace)
		switch {
		case (server || name) && ns:
			taken = true
		case d.name.deny && !name && ns, d.server.deny && !server && ns, d.namespace.deny && !ns && (server || name):
			return fault.New(fault.Forbidden, "the project %q takes the namespace %q of the cluster %s away", r.project, namespace, c)
		}
	}
	switch {
	case !taken:
		return fault.New(fault.Forbidden, "the project %q has no namespace %q of the cluster %s among its destinations", r.project, namespace, c)
	case r.spec.PermitOnlyProjectScopedClusters && !c.Own:
		return fault.New(fault.Forbidden, "the project %q may only go to clusters of its own, of which %s is none", r.project, c)
	}
	return nil
}

// String is the cluster in messages.
func (c Cluster) String() string {
	if c.Name != "" {
		return c.Name
	}
	return c.Server
}

// Object says why an application may not have an object in a cluster; nil: it may.
func (r *Rules) Object(k object.Key, c Cluster) error {
	if !r.kind(k) {
		return fault.New(fault.Forbidden, "the project %q may not have %s", r.project, k)
	}
	if k.Namespace == "" {
		return nil
	}
	if err := r.Destination(c, k.Namespace); err != nil {
		return fault.New(fault.Forbidden, "%s: %w", k, err)
	}
	return nil
}

// kind says whether a project may have objects such as one: of the whole cluster
// what is listed, of namespaces all, or what is listed, but what is taken away.
func (r *Rules) kind(k object.Key) bool {
	if k.Namespace != "" {
		return (r.spec.NamespaceResourceWhitelist == nil || listed(r.spec.NamespaceResourceWhitelist, k)) && !listed(r.spec.NamespaceResourceBlacklist, k)
	}
	return listed(r.spec.ClusterResourceWhitelist, k) && !listed(r.spec.ClusterResourceBlacklist, k)
}

// Ignored says whether a project leaves an object out of those that belong to nobody.
func (r *Rules) Ignored(k object.Key) bool {
	if r.spec.OrphanedResources == nil {
		return false
	}
	for _, p := range r.spec.OrphanedResources.Ignore {
		if (p.Kind == "" || match(p.Kind, k.Kind)) && match(p.Group, k.Group) && (p.Name == "" || match(p.Name, k.Name)) {
			return true
		}
	}
	return false
}

func listed(patterns []gitops.KindPattern, k object.Key) bool {
	for _, p := range patterns {
		if match(p.Kind, k.Kind) && match(p.Group, k.Group) && (p.Name == "" || match(p.Name, k.Name)) {
			return true
		}
	}
	return false
}

// match is a glob in which a * may stand for nothing.
func match(pattern, text string) bool {
	ok, err := path.Match(pattern, text)
	return err == nil && ok
}

// Lives says whether applications of a project may be kept in a namespace beside the
// agent's own.
func (r *Rules) Lives(namespace string) bool {
	for _, matches := range r.namespaces {
		if matches(namespace) {
			return true
		}
	}
	return false
}
