package forge

import (
	"cmp"
	"context"
	"net/url"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/delegate/gitops/generate"
	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
)

// organization is the repositories of one, on one host.
type organization interface {
	// repositories lists them, without what they have of a branch, each with the name of
	// its usual one.
	repositories(ctx context.Context) ([]repository, error)
	// branches are a repository's: all, or the usual one; none: it is empty.
	branches(ctx context.Context, r repository, all bool) ([]branch, error)
	// has says whether a branch has a file or a folder.
	has(ctx context.Context, r repository, branch, path string) (bool, error)
}

type repository struct {
	organization, name, id string
	https, ssh             string // URLs
	usual                  string // branch
	labels                 []string
}

type branch struct{ name, sha string }

// reposAtOnce bounds how many repositories are asked about side by side.
const reposAtOnce = 8

// Repositories are the branches of the repositories of an organization that a filter
// takes.
func (f Forge) Repositories(ctx context.Context, of appset.SCMProvider) (generate.Answer, error) {
	var a generate.Answer
	o, every, err := f.organization(ctx, of)
	if err != nil {
		return a, err
	}
	repos, err := o.repositories(ctx)
	if err != nil {
		return a, err
	}
	found := make([][]generate.Repository, len(repos))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(reposAtOnce)
	for i, r := range repos {
		g.Go(func() error {
			var err error
			found[i], err = taken(ctx, o, of, r, every)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return a, err
	}
	for _, some := range found {
		a.Repositories = append(a.Repositories, some...)
	}
	return a, nil
}

// organization is where a set's repositories are, and whether all branches are meant.
func (f Forge) organization(ctx context.Context, of appset.SCMProvider) (organization, bool, error) {
	switch {
	case of.GitHub != nil:
		c, err := f.gitHub(ctx, of.GitHub.API, of.GitHub.TokenRef, of.GitHub.AppSecretName, "orgs", of.GitHub.Organization)
		return hub{c, "", of.GitHub.Organization, !of.GitHub.ExcludeArchivedRepos, "per_page", pageSize}, of.GitHub.AllBranches, err
	case of.GitLab != nil:
		c, err := f.to(ctx, access{host: cmp.Or(of.GitLab.API, gitLabHost), token: of.GitLab.TokenRef, insecure: of.GitLab.Insecure, ca: of.GitLab.CARef})
		return gitLab{c, *of.GitLab}, of.GitLab.AllBranches, err
	case of.Gitea != nil:
		c, err := f.to(ctx, access{host: of.Gitea.API, token: of.Gitea.TokenRef, insecure: of.Gitea.Insecure})
		return hub{c, "/api/v1", of.Gitea.Owner, !of.Gitea.ExcludeArchivedRepos, "limit", giteaPage}, of.Gitea.AllBranches, err
	case of.Bitbucket != nil:
		c, err := f.to(ctx, access{host: cmp.Or(f.Bitbucket, bitbucketAPI), user: of.Bitbucket.User, password: of.Bitbucket.AppPasswordRef})
		return bitbucket{c, *of.Bitbucket}, of.Bitbucket.AllBranches, err
	case of.BitbucketServer != nil:
		a := basic(bitbucketServer(of.BitbucketServer.API), of.BitbucketServer.BasicAuth, of.BitbucketServer.BearerToken)
		a.insecure, a.ca = of.BitbucketServer.Insecure, of.BitbucketServer.CARef
		c, err := f.to(ctx, a)
		return stash{c, *of.BitbucketServer}, of.BitbucketServer.AllBranches, err
	case of.AzureDevOps != nil:
		c, err := f.to(ctx, personal(of.AzureDevOps.API, of.AzureDevOps.AccessTokenRef))
		return azure{c, *of.AzureDevOps}, of.AzureDevOps.AllBranches, err
	}
	return nil, false, fault.New(fault.Invalid, "the generator names no host of repositories")
}

// taken are the branches of a repository that some filter takes.
func taken(ctx context.Context, o organization, of appset.SCMProvider, r repository, every bool) ([]generate.Repository, error) {
	var filters []appset.RepositoryFilter
	for _, f := range of.Filters {
		ok, err := all(
			func() (bool, error) { return matches(f.RepositoryMatch, r.name) },
			func() (bool, error) { return anyMatches(f.LabelMatch, r.labels) },
		)
		if err != nil {
			return nil, err
		}
		if ok {
			filters = append(filters, f)
		}
	}
	if len(of.Filters) > 0 && len(filters) == 0 {
		return nil, nil
	}
	branches, err := o.branches(ctx, r, every)
	if isNot(err) {
		return nil, nil // it has none yet
	}
	if err != nil {
		return nil, err
	}
	var out []generate.Repository
	for _, b := range branches {
		ok := len(filters) == 0
		for i := 0; i < len(filters) && !ok; i++ {
			f := filters[i]
			ok, err = all(
				func() (bool, error) { return matches(f.BranchMatch, b.name) },
				func() (bool, error) { return paths(ctx, o, r, b, f.PathsExist, true) },
				func() (bool, error) { return paths(ctx, o, r, b, f.PathsDoNotExist, false) },
			)
			if err != nil {
				return nil, err
			}
		}
		if !ok {
			continue
		}
		at := r.ssh
		if of.CloneProtocol == "https" {
			at = r.https
		}
		out = append(out, generate.Repository{
			Organization: r.organization, Repository: r.name, ID: r.id, URL: at, Branch: b.name, SHA: b.sha, Labels: r.labels,
		})
	}
	return out, nil
}

// anyMatches says whether one of some texts fits an expression, if there is one.
func anyMatches(expression *string, texts []string) (bool, error) {
	if expression == nil {
		return true, nil
	}
	for _, text := range texts {
		if ok, err := matches(expression, text); err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}

// paths says whether a branch has all of some paths, or none.
func paths(ctx context.Context, o organization, r repository, b branch, wanted []string, there bool) (bool, error) {
	for _, p := range wanted {
		has, err := o.has(ctx, r, b.name, p)
		if isNot(err) {
			has, err = false, nil
		}
		if err != nil || has != there {
			return false, err
		}
	}
	return true, nil
}

// found is that something was got.
func found(err error) (bool, error) { return err == nil, err }

// hub is an organization of GitHub (docs.github.com/rest), or of Gitea, which answers
// alike.
type hub struct {
	*restapi.Client

	api      string // where in the host
	owner    string
	archived bool   // repositories that are archived count, too
	size     string // the parameter for how many come at once, and most how many
	most     int
}

type hubRepository struct {
	ID       int64    `json:"id"`
	Name     string   `json:"name"`
	HTTPS    string   `json:"clone_url"`
	SSH      string   `json:"ssh_url"`
	Usual    string   `json:"default_branch"`
	Archived bool     `json:"archived"`
	Topics   []string `json:"topics"`
}

func (r hubRepository) repository(owner string) repository {
	return repository{organization: owner, name: r.Name, id: strconv.FormatInt(r.ID, 10), https: r.HTTPS, ssh: r.SSH, usual: r.Usual, labels: r.Topics}
}

// hubBranch is a branch of GitHub, of GitLab and of Gitea, which name a commit
// differently.
type hubBranch struct {
	Name   string `json:"name"`
	Commit struct {
		SHA string `json:"sha"`
		ID  string `json:"id"`
	} `json:"commit"`
}

// hubBranches are those at a path.
func hubBranches(ctx context.Context, c *restapi.Client, at, usual, size string, most int, every bool) ([]branch, error) {
	var list []hubBranch
	var err error
	switch {
	case every:
		list, err = numbered[hubBranch](ctx, c, at, url.Values{}, size, most)
	case usual == "":
	default:
		list = make([]hubBranch, 1)
		err = c.Get(ctx, below(at, usual), nil, &list[0])
	}
	var out []branch
	for _, b := range list {
		out = append(out, branch{b.Name, cmp.Or(b.Commit.SHA, b.Commit.ID)})
	}
	return out, err
}

func (h hub) repositories(ctx context.Context) ([]repository, error) {
	list, err := numbered[hubRepository](ctx, h.Client, below(h.api+"/orgs", h.owner, "repos"), url.Values{}, h.size, h.most)
	var out []repository
	for _, r := range list {
		if !r.Archived || h.archived {
			out = append(out, r.repository(h.owner))
		}
	}
	return out, err
}

func (h hub) branches(ctx context.Context, r repository, every bool) ([]branch, error) {
	return hubBranches(ctx, h.Client, below(h.api+"/repos", h.owner, r.name, "branches"), r.usual, h.size, h.most, every)
}

func (h hub) has(ctx context.Context, r repository, branch, at string) (bool, error) {
	return found(h.Get(ctx, below(h.api+"/repos", h.owner, r.name, "contents")+"/"+file(at), url.Values{"ref": {branch}}, nil))
}

// gitLab is a group of GitLab (docs.gitlab.com/api).
type gitLab struct {
	*restapi.Client

	of appset.OrganizationGitLab
}

func (g gitLab) repositories(ctx context.Context) ([]repository, error) {
	query := url.Values{
		"include_subgroups": {strconv.FormatBool(g.of.IncludeSubgroups)},
		"with_shared":       {strconv.FormatBool(g.of.IncludeSharedProjects == nil || *g.of.IncludeSharedProjects)},
	}
	if !g.of.IncludeArchivedRepos {
		query.Set("archived", "false")
	}
	if g.of.Topic != "" {
		query.Set("topic", g.of.Topic)
	}
	list, err := numbered[struct {
		ID        int64    `json:"id"`
		Path      string   `json:"path"`
		HTTPS     string   `json:"http_url_to_repo"`
		SSH       string   `json:"ssh_url_to_repo"`
		Usual     string   `json:"default_branch"`
		Topics    []string `json:"topics"`
		Namespace struct {
			Path string `json:"full_path"`
		} `json:"namespace"`
	}](ctx, g.Client, below("/api/v4/groups", g.of.Group, "projects"), query, "per_page", pageSize)
	var out []repository
	for _, r := range list {
		out = append(out, repository{
			organization: r.Namespace.Path, name: r.Path, id: strconv.FormatInt(r.ID, 10), https: r.HTTPS, ssh: r.SSH, usual: r.Usual, labels: r.Topics,
		})
	}
	return out, err
}

func (g gitLab) branches(ctx context.Context, r repository, every bool) ([]branch, error) {
	return hubBranches(ctx, g.Client, below("/api/v4/projects", r.id, "repository", "branches"), r.usual, "per_page", pageSize, every)
}

// has looks into the folder: GitLab has no question that takes files and folders.
func (g gitLab) has(ctx context.Context, r repository, branch, at string) (bool, error) {
	at = strings.Trim(path.Clean(at), "/")
	query := url.Values{"ref": {branch}}
	if dir := path.Dir(at); dir != "." {
		query.Set("path", dir)
	}
	list, err := numbered[struct {
		Path string `json:"path"`
	}](ctx, g.Client, below("/api/v4/projects", r.id, "repository", "tree"), query, "per_page", pageSize)
	for _, one := range list {
		if one.Path == at {
			return true, nil
		}
	}
	return false, err
}

// clones are the addresses of a repository of Bitbucket.
type clones struct {
	Clone []struct {
		Name string `json:"name"`
		At   string `json:"href"`
	} `json:"clone"`
}

func (c clones) at(names ...string) string {
	for _, one := range c.Clone {
		for _, name := range names {
			if one.Name == name {
				return one.At
			}
		}
	}
	return ""
}

// bitbucket is a workspace of Bitbucket Cloud.
type bitbucket struct {
	*restapi.Client

	of appset.OrganizationBitbucket
}

func (b bitbucket) repositories(ctx context.Context) ([]repository, error) {
	list, err := chained[struct {
		ID     string `json:"uuid"`
		Slug   string `json:"slug"`
		Links  clones `json:"links"`
		Branch struct {
			Name string `json:"name"`
		} `json:"mainbranch"`
	}](ctx, b.Client, below("/repositories", b.of.Owner)+"?pagelen=100")
	var out []repository
	for _, r := range list {
		out = append(out, repository{organization: b.of.Owner, name: r.Slug, id: r.ID, https: r.Links.at("https"), ssh: r.Links.at("ssh"), usual: r.Branch.Name})
	}
	return out, err
}

func (b bitbucket) branches(ctx context.Context, r repository, every bool) ([]branch, error) {
	type one struct {
		Name   string `json:"name"`
		Target struct {
			Hash string `json:"hash"`
		} `json:"target"`
	}
	at := below("/repositories", b.of.Owner, r.name, "refs", "branches")
	var list []one
	var err error
	switch {
	case every:
		list, err = chained[one](ctx, b.Client, at+"?pagelen=100")
	case r.usual != "":
		list = make([]one, 1)
		err = b.Get(ctx, below(at, r.usual), nil, &list[0])
	}
	var out []branch
	for _, l := range list {
		out = append(out, branch{l.Name, l.Target.Hash})
	}
	return out, err
}

func (b bitbucket) has(ctx context.Context, r repository, branch, at string) (bool, error) {
	return found(b.Get(ctx, below("/repositories", b.of.Owner, r.name, "src", branch)+"/"+file(at), url.Values{"format": {"meta"}}, nil))
}

// stash is a project of a Bitbucket server.
type stash struct {
	*restapi.Client

	of appset.OrganizationBitbucketServer
}

func (s stash) path(r repository, more ...string) string {
	return below("/projects", append([]string{s.of.Project, "repos", r.name}, more...)...)
}

func (s stash) repositories(ctx context.Context) ([]repository, error) {
	list, err := started[struct {
		ID    int64  `json:"id"`
		Slug  string `json:"slug"`
		Links clones `json:"links"`
	}](ctx, s.Client, below("/projects", s.of.Project, "repos"), url.Values{})
	var out []repository
	for _, r := range list {
		one := repository{organization: s.of.Project, name: r.Slug, id: strconv.FormatInt(r.ID, 10), https: r.Links.at("http", "https"), ssh: r.Links.at("ssh")}
		labels, err := started[struct {
			Name string `json:"name"`
		}](ctx, s.Client, s.path(one, "labels"), url.Values{})
		if err != nil && !isNot(err) {
			return nil, err
		}
		one.labels = names(nil).texts()
		for _, l := range labels {
			one.labels = append(one.labels, l.Name)
		}
		out = append(out, one)
	}
	return out, err
}

func (s stash) branches(ctx context.Context, r repository, every bool) ([]branch, error) {
	type one struct {
		Name   string `json:"displayId"`
		Commit string `json:"latestCommit"`
	}
	var list []one
	var err error
	if every {
		list, err = started[one](ctx, s.Client, s.path(r, "branches"), url.Values{})
	} else {
		list = make([]one, 1)
		err = s.Get(ctx, s.path(r, "branches", "default"), nil, &list[0])
	}
	var out []branch
	for _, l := range list {
		out = append(out, branch{l.Name, l.Commit})
	}
	return out, err
}

func (s stash) has(ctx context.Context, r repository, branch, at string) (bool, error) {
	return found(s.Get(ctx, s.path(r, "browse")+"/"+file(at), url.Values{"at": {branch}, "type": {"true"}}, nil))
}

// azure is a team project of Azure DevOps.
type azure struct {
	*restapi.Client

	of appset.OrganizationAzureDevOps
}

func (a azure) path(more ...string) string {
	return below("", append([]string{a.of.Organization, a.of.TeamProject, "_apis", "git", "repositories"}, more...)...)
}

func (a azure) repositories(ctx context.Context) ([]repository, error) {
	var list struct {
		Value []struct {
			ID       string `json:"id"`
			Name     string `json:"name"`
			HTTPS    string `json:"remoteUrl"`
			SSH      string `json:"sshUrl"`
			Usual    string `json:"defaultBranch"`
			Disabled bool   `json:"isDisabled"`
		} `json:"value"`
	}
	err := a.Get(ctx, a.path(), url.Values{"api-version": {"7.0"}}, &list)
	var out []repository
	for _, r := range list.Value {
		if !r.Disabled {
			out = append(out, repository{
				organization: a.of.Organization, name: r.Name, id: r.ID, https: r.HTTPS, ssh: r.SSH, usual: strings.TrimPrefix(r.Usual, "refs/heads/"),
			})
		}
	}
	return out, err
}

func (a azure) branches(ctx context.Context, r repository, every bool) ([]branch, error) {
	if r.usual == "" {
		return nil, nil // there is no commit
	}
	var list struct {
		Value []struct {
			Name   string `json:"name"`
			Commit struct {
				ID string `json:"commitId"`
			} `json:"commit"`
		} `json:"value"`
	}
	err := a.Get(ctx, a.path(r.id, "stats", "branches"), url.Values{"api-version": {"7.0"}}, &list)
	var out []branch
	for _, b := range list.Value {
		if every || b.Name == r.usual {
			out = append(out, branch{b.Name, b.Commit.ID})
		}
	}
	return out, err
}

func (a azure) has(ctx context.Context, r repository, branch, at string) (bool, error) {
	return found(a.Get(ctx, a.path(r.id, "items"), url.Values{
		"api-version": {"7.0"}, "path": {"/" + strings.Trim(at, "/")}, "versionDescriptor.versionType": {"branch"}, "versionDescriptor.version": {branch},
	}, nil))
}
