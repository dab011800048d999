package rules

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

func read(t *testing.T, spec gitops.ProjectSpec) *Rules {
	t.Helper()
	r, err := Read(gitops.Project{Meta: gitops.Meta{Name: "shop"}, Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSource(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		patterns []string
		url      string
		want     string // a part of the error; empty: it may
	}{
		"any":                             {[]string{"*"}, "https://git.example.com/a/b/c", ""},
		"none":                            {nil, "https://git.example.com/a", "has no repository"},
		"itself":                          {[]string{"https://git.example.com/team/app"}, "https://git.example.com/team/app", ""},
		"itself, written otherwise":       {[]string{"git@git.example.com:team/app.git"}, "ssh://git@GIT.example.com/team/app", ""},
		"a star ends at a slash":          {[]string{"https://git.example.com/*"}, "https://git.example.com/team/app", "has no repository"},
		"two stars don't":                 {[]string{"https://git.example.com/**"}, "https://git.example.com/team/app.git", ""},
		"one that is taken away":          {[]string{"*", "!https://git.example.com/secret/*"}, "https://git.example.com/secret/app", "takes the repository"},
		"taken away, whatever the order":  {[]string{"!https://git.example.com/secret/*", "*"}, "https://git.example.com/secret/app", "takes the repository"},
		"another than what is taken away": {[]string{"!https://git.example.com/secret/*"}, "https://git.example.com/team/app", ""},
		"SSH is taken away":               {[]string{"!ssh://**", "*"}, "git@git.example.com:team/app", "takes the repository"},
		"a password stays out of it":      {[]string{"https://other"}, "https://me:opensesame@git.example.com/app", "has no repository https://git.example.com/app"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told(t, read(t, gitops.ProjectSpec{SourceRepos: tt.patterns}).Source(tt.url), tt.want)
		})
	}
}

func told(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("got %v; want nothing in the way", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want) || fault.CodeOf(err) != fault.Forbidden):
		t.Errorf("got %v; want %q", err, want)
	case err != nil && strings.Contains(err.Error(), "opensesame"):
		t.Errorf("the password is in %v", err)
	}
}

func TestDestination(t *testing.T) {
	t.Parallel()
	documented := []gitops.Destination{{Namespace: "!kube-system", Server: "*"}, {Namespace: "*", Server: "!https://team1-*"}, {Namespace: "*", Server: "*"}}
	for name, tt := range map[string]struct {
		rows      []gitops.Destination
		cluster   Cluster
		namespace string
		only      bool // its own clusters
		want      string
	}{
		"anywhere":                      {[]gitops.Destination{{Server: "*", Namespace: "*"}}, Cluster{Server: "https://eu"}, "shop", false, ""},
		"nowhere":                       {nil, Cluster{Server: "https://eu"}, "shop", false, "has no namespace"},
		"by the address":                {[]gitops.Destination{{Server: "https://eu", Namespace: "shop"}}, Cluster{Server: "https://eu", Name: "eu"}, "shop", false, ""},
		"by the name":                   {[]gitops.Destination{{Name: "e?", Namespace: "shop-*"}}, Cluster{Server: "https://eu", Name: "eu"}, "shop-web", false, ""},
		"another cluster":               {[]gitops.Destination{{Name: "eu", Namespace: "*"}}, Cluster{Server: "https://us", Name: "us"}, "shop", false, "has no namespace \"shop\" of the cluster us"},
		"another namespace":             {[]gitops.Destination{{Name: "eu", Namespace: "shop"}}, Cluster{Name: "eu"}, "bank", false, "has no namespace"},
		"no namespace is said":          {[]gitops.Destination{{Name: "eu"}}, Cluster{Name: "eu"}, "shop", false, "has no namespace"},
		"a namespace that is taken":     {documented, Cluster{Server: "https://eu"}, "kube-system", false, "takes the namespace"},
		"a cluster that is taken":       {documented, Cluster{Server: "https://team1-eu"}, "shop", false, "takes the namespace"},
		"what is left":                  {documented, Cluster{Server: "https://team2-eu"}, "shop", false, ""},
		"all but one, and nothing else": {[]gitops.Destination{{Server: "*", Namespace: "!kube-system"}}, Cluster{Server: "https://eu"}, "shop", false, ""},
		"taken by the name":             {[]gitops.Destination{{Name: "!prod", Namespace: "*"}, {Server: "*", Namespace: "*"}}, Cluster{Server: "https://eu", Name: "prod"}, "shop", false, "takes the namespace"},
		"its own cluster":               {[]gitops.Destination{{Server: "*", Namespace: "*"}}, Cluster{Server: "https://eu", Own: true}, "shop", true, ""},
		"not its own":                   {[]gitops.Destination{{Server: "*", Namespace: "*"}}, Cluster{Server: "https://eu"}, "shop", true, "only go to clusters of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := read(t, gitops.ProjectSpec{Destinations: tt.rows, PermitOnlyProjectScopedClusters: tt.only})
			told(t, r.Destination(tt.cluster, tt.namespace), tt.want)
		})
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	anywhere := []gitops.Destination{{Server: "*", Namespace: "shop*"}}
	for name, tt := range map[string]struct {
		spec gitops.ProjectSpec
		key  object.Key
		want string
	}{
		"of a namespace":                          {gitops.ProjectSpec{}, object.Key{Kind: "ConfigMap", Namespace: "shop", Name: "a"}, ""},
		"of a namespace elsewhere":                {gitops.ProjectSpec{}, object.Key{Kind: "ConfigMap", Namespace: "bank", Name: "a"}, "/ConfigMap:bank/a: the project \"shop\" has no namespace"},
		"of the cluster":                          {gitops.ProjectSpec{}, object.Key{Kind: "Namespace", Name: "a"}, "may not have /Namespace:/a"},
		"of the cluster, listed":                  {gitops.ProjectSpec{ClusterResourceWhitelist: []gitops.KindPattern{{Group: "*", Kind: "*"}}}, object.Key{Kind: "Namespace", Name: "a"}, ""},
		"of the cluster, listed by name":          {gitops.ProjectSpec{ClusterResourceWhitelist: []gitops.KindPattern{{Kind: "Namespace", Name: "team1-*"}}}, object.Key{Kind: "Namespace", Name: "team1-a"}, ""},
		"of the cluster, another name":            {gitops.ProjectSpec{ClusterResourceWhitelist: []gitops.KindPattern{{Kind: "Namespace", Name: "team1-*"}}}, object.Key{Kind: "Namespace", Name: "team2-a"}, "may not have"},
		"of the cluster, taken away":              {gitops.ProjectSpec{ClusterResourceWhitelist: []gitops.KindPattern{{Group: "*", Kind: "*"}}, ClusterResourceBlacklist: []gitops.KindPattern{{Group: "rbac.*", Kind: "ClusterRole"}}}, object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "a"}, "may not have"},
		"of a namespace, taken away":              {gitops.ProjectSpec{NamespaceResourceBlacklist: []gitops.KindPattern{{Kind: "ResourceQuota"}}}, object.Key{Kind: "ResourceQuota", Namespace: "shop", Name: "a"}, "may not have"},
		"of a namespace, listed":                  {gitops.ProjectSpec{NamespaceResourceWhitelist: []gitops.KindPattern{{Group: "apps", Kind: "*"}}}, object.Key{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "a"}, ""},
		"of a namespace, not listed":              {gitops.ProjectSpec{NamespaceResourceWhitelist: []gitops.KindPattern{{Group: "apps", Kind: "*"}}}, object.Key{Kind: "Secret", Namespace: "shop", Name: "a"}, "may not have"},
		"of a namespace, where nothing is listed": {gitops.ProjectSpec{NamespaceResourceWhitelist: []gitops.KindPattern{}}, object.Key{Kind: "Secret", Namespace: "shop", Name: "a"}, "may not have"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.spec.Destinations = anywhere
			told(t, read(t, tt.spec).Object(tt.key, Cluster{Server: "https://eu"}), tt.want)
		})
	}
}

func TestLives(t *testing.T) {
	t.Parallel()
	r := read(t, gitops.ProjectSpec{SourceNamespaces: []string{"team-*", "/^x[0-9]+$/"}})
	for namespace, want := range map[string]bool{"team-a": true, "x12": true, "x": false, "team": false, "": false} {
		if got := r.Lives(namespace); got != want {
			t.Errorf("%q: %v; want %v", namespace, got, want)
		}
	}
}

func TestWrongRules(t *testing.T) {
	t.Parallel()
	for want, spec := range map[string]gitops.ProjectSpec{
		"sourceRepos[1]: found !*":                            {SourceRepos: []string{"*", "!*"}},
		`sourceRepos[0]: "[a" isn't a pattern`:                {SourceRepos: []string{"[a"}},
		"destinations[0].namespace: found !*":                 {Destinations: []gitops.Destination{{Namespace: "!*"}}},
		`destinations[1].server: "![" isn't a pattern`:        {Destinations: []gitops.Destination{{}, {Server: "!["}}},
		`clusterResourceWhitelist[0]: "[" isn't a pattern`:    {ClusterResourceWhitelist: []gitops.KindPattern{{Kind: "["}}},
		`namespaceResourceBlacklist[0]: "a[" isn't a pattern`: {NamespaceResourceBlacklist: []gitops.KindPattern{{Group: "a["}}},
		`sourceNamespaces[0]: "/(/" isn't a pattern`:          {SourceNamespaces: []string{"/(/"}},
	} {
		if _, err := Read(gitops.Project{Spec: spec}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v; want %s", err, want)
		}
	}
}

// Objects that belong to nobody are left out by patterns, of which an empty kind or name is
// any.
func TestIgnored(t *testing.T) {
	t.Parallel()
	spec := gitops.ProjectSpec{OrphanedResources: &gitops.OrphanedResources{Ignore: []gitops.KindPattern{
		{Kind: "Secret", Name: "sh.helm.*"}, {Group: "cert-manager.io"}, {Group: "apps", Kind: "*Set"},
	}}}
	r, err := Read(gitops.Project{Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range map[object.Key]bool{
		{Kind: "Secret", Name: "sh.helm.v1"}: true, {Kind: "Secret", Name: "token"}: false, {Group: "cert-manager.io", Kind: "Order", Name: "a"}: true,
		{Group: "apps", Kind: "ReplicaSet", Name: "a"}: true, {Group: "apps", Kind: "Deployment", Name: "a"}: false,
	} {
		if got := r.Ignored(k); got != want {
			t.Errorf("%s is ignored: %t; want %t", k, got, want)
		}
	}
	if r, err := Read(gitops.Project{}); err != nil || r.Ignored(object.Key{Kind: "Secret"}) {
		t.Errorf("without any: %v", err)
	}
	spec.OrphanedResources.Ignore[0].Name = "["
	if _, err := Read(gitops.Project{Spec: spec}); err == nil {
		t.Error("a pattern that is none is taken")
	}
}

func TestSigners(t *testing.T) {
	t.Parallel()
	policy := func(mode, key string, urls ...string) gitops.GitPolicy {
		p := gitops.GitPolicy{GPG: gitops.GPGPolicy{Mode: mode, Keys: []string{key}}}
		for _, u := range urls {
			p.Repos = append(p.Repos, gitops.RepoPattern{URL: u})
		}
		return p
	}
	old := []gitops.SignatureKey{{KeyID: "A"}, {KeyID: "B"}}
	rules := &gitops.SourceIntegrity{Git: &gitops.GitIntegrity{Policies: []gitops.GitPolicy{
		policy(gitops.SignedHead, "C", "https://git.example.com/team/*", "!https://git.example.com/team/open.git"),
		policy(gitops.SignedNone, "D", "https://git.example.com/**/open"),
		policy(gitops.SignedHead, "E", "ssh://*"),
	}}}
	for name, tt := range map[string]struct {
		spec      gitops.ProjectSpec
		url, want string
	}{
		"nobody":              {gitops.ProjectSpec{}, "https://git.example.com/a", ""},
		"any repository":      {gitops.ProjectSpec{SignatureKeys: old}, "https://git.example.com/team/app.git", "A B"},
		"an empty rule":       {gitops.ProjectSpec{SignatureKeys: old, SourceIntegrity: &gitops.SourceIntegrity{}}, "https://git.example.com/a", "A B"},
		"a policy":            {gitops.ProjectSpec{SourceIntegrity: rules, SignatureKeys: old}, "https://GIT.example.com/team/deep/app.git", "C"},
		"taken away":          {gitops.ProjectSpec{SourceIntegrity: rules}, "https://git.example.com/team/open", ""},
		"a later one":         {gitops.ProjectSpec{SourceIntegrity: rules}, "git@git.example.com:team/app.git", "E"},
		"no policy takes it":  {gitops.ProjectSpec{SourceIntegrity: rules, SignatureKeys: old}, "https://other.example.com/app", ""},
		"everything, by name": {gitops.ProjectSpec{SourceIntegrity: &gitops.SourceIntegrity{Git: &gitops.GitIntegrity{Policies: []gitops.GitPolicy{policy(gitops.SignedHead, "F", "*")}}}}, "https://h/a/b", "F"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(t, tt.spec).Signers(tt.url)
			if err != nil || strings.Join(got, " ") != tt.want {
				t.Errorf("it has to be signed by %v, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestAccounts(t *testing.T) {
	t.Parallel()
	r := read(t, gitops.ProjectSpec{DestinationServiceAccounts: []gitops.DestinationAccount{
		{Server: "https://a", Namespace: "web-*", Account: "deployer"},
		{Server: "https://*", Namespace: "*", Account: "ops:anybody"},
	}})
	for _, tt := range [][4]string{
		{"https://a", "web-1", "web-1", "deployer"}, {"https://a", "shop", "ops", "anybody"}, {"https://b", "", "ops", "anybody"}, {"http://b", "web-1", "", ""},
	} {
		if in, name := r.Account(tt[0], tt[1]); in != tt[2] || name != tt[3] {
			t.Errorf("at %s %s it is %s:%s; want %s:%s", tt[0], tt[1], in, name, tt[2], tt[3])
		}
	}
}
