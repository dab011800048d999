package forge

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/delegate/gitops/generate"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
)

// PullRequests are those of a repository that are open, or as the set says, and that a
// filter takes.
func (f Forge) PullRequests(ctx context.Context, of appset.PullRequests) (generate.Answer, error) {
	var found []generate.PullRequest
	var err error
	switch {
	case of.GitHub != nil:
		found, err = f.pullsOfGitHub(ctx, *of.GitHub)
	case of.GitLab != nil:
		found, err = f.pullsOfGitLab(ctx, *of.GitLab)
	case of.Gitea != nil:
		found, err = f.pullsOfGitea(ctx, *of.Gitea)
	case of.Bitbucket != nil:
		found, err = f.pullsOfBitbucket(ctx, *of.Bitbucket)
	case of.BitbucketServer != nil:
		found, err = f.pullsOfBitbucketServer(ctx, *of.BitbucketServer)
	case of.AzureDevOps != nil:
		found, err = f.pullsOfAzure(ctx, *of.AzureDevOps)
	default:
		err = fault.New(fault.Invalid, "the generator names no host of pull requests")
	}
	if isNot(err) {
		return generate.Answer{NotFound: true}, nil
	}
	var a generate.Answer
	for _, one := range found {
		ok, failed := pullTaken(of.Filters, one)
		if failed != nil {
			return a, failed
		}
		if ok {
			a.PullRequests = append(a.PullRequests, one)
		}
	}
	return a, err
}

func pullTaken(filters []appset.PullRequestFilter, p generate.PullRequest) (bool, error) {
	for _, f := range filters {
		ok, err := all(
			func() (bool, error) { return matches(f.BranchMatch, p.Branch) },
			func() (bool, error) { return matches(f.TargetBranchMatch, p.TargetBranch) },
			func() (bool, error) { return matches(f.TitleMatch, p.Title) },
		)
		if err != nil || ok {
			return ok, err
		}
	}
	return len(filters) == 0, nil
}

// labelled says whether something has all labels that are wanted.
func labelled(wanted, has []string) bool {
	return !slices.ContainsFunc(wanted, func(l string) bool { return !slices.Contains(has, l) })
}

// hubPull is a pull request of GitHub, and of Gitea.
type hubPull struct {
	Number int64  `json:"number"`
	Title  string `json:"title"`
	Head   struct {
		Ref string `json:"ref"`
		SHA string `json:"sha"`
	} `json:"head"`
	Base struct {
		Ref string `json:"ref"`
	} `json:"base"`
	User struct {
		Login string `json:"login"`
	} `json:"user"`
	Labels names `json:"labels"`
}

func hubPulls(found []hubPull, labels []string) []generate.PullRequest {
	var out []generate.PullRequest
	for _, p := range found {
		if has := p.Labels.texts(); labelled(labels, has) {
			out = append(out, generate.PullRequest{
				Number: p.Number, Title: p.Title, Branch: p.Head.Ref, TargetBranch: p.Base.Ref, HeadSHA: p.Head.SHA, Labels: has, Author: p.User.Login,
			})
		}
	}
	return out
}

func (f Forge) pullsOfGitHub(ctx context.Context, r appset.RepositoryGitHub) ([]generate.PullRequest, error) {
	c, err := f.gitHub(ctx, r.API, r.TokenRef, r.AppSecretName, "repos", r.Owner, r.Repo)
	if err != nil {
		return nil, err
	}
	found, err := numbered[hubPull](ctx, c, below("/repos", r.Owner, r.Repo, "pulls"), url.Values{"state": {"open"}}, "per_page", pageSize)
	return hubPulls(found, r.Labels), err
}

func (f Forge) pullsOfGitea(ctx context.Context, r appset.RepositoryGitea) ([]generate.PullRequest, error) {
	c, err := f.to(ctx, access{host: r.API, token: r.TokenRef, insecure: r.Insecure})
	if err != nil {
		return nil, err
	}
	found, err := numbered[hubPull](ctx, c, below("/api/v1/repos", r.Owner, r.Repo, "pulls"), url.Values{"state": {"open"}}, "limit", giteaPage)
	return hubPulls(found, r.Labels), err
}

// giteaPage is as much as Gitea gives at once where nobody has said more.
const giteaPage = 50

func (f Forge) pullsOfGitLab(ctx context.Context, r appset.RepositoryGitLab) ([]generate.PullRequest, error) {
	c, err := f.to(ctx, access{host: cmp.Or(r.API, gitLabHost), token: r.TokenRef, insecure: r.Insecure, ca: r.CARef})
	if err != nil {
		return nil, err
	}
	type request struct {
		Number int64    `json:"iid"`
		Title  string   `json:"title"`
		Branch string   `json:"source_branch"`
		Target string   `json:"target_branch"`
		SHA    string   `json:"sha"`
		Labels []string `json:"labels"`
		Author struct {
			Username string `json:"username"`
		} `json:"author"`
	}
	query := url.Values{}
	if r.PullRequestState != "" {
		query.Set("state", r.PullRequestState)
	}
	if len(r.Labels) > 0 {
		query.Set("labels", strings.Join(r.Labels, ","))
	}
	found, err := numbered[request](ctx, c, below("/api/v4/projects", r.Project, "merge_requests"), query, "per_page", pageSize)
	var out []generate.PullRequest
	for _, p := range found {
		out = append(out, generate.PullRequest{
			Number: p.Number, Title: p.Title, Branch: p.Branch, TargetBranch: p.Target, HeadSHA: p.SHA, Labels: p.Labels, Author: p.Author.Username,
		})
	}
	return out, err
}

func (f Forge) pullsOfBitbucket(ctx context.Context, r appset.RepositoryBitbucket) ([]generate.PullRequest, error) {
	c, err := f.to(ctx, basic(cmp.Or(r.API, f.Bitbucket, bitbucketAPI), r.BasicAuth, r.BearerToken))
	if err != nil {
		return nil, err
	}
	type side struct {
		Branch struct {
			Name string `json:"name"`
		} `json:"branch"`
		Commit struct {
			Hash string `json:"hash"`
		} `json:"commit"`
	}
	found, err := chained[struct {
		ID          int64  `json:"id"`
		Title       string `json:"title"`
		Source      side   `json:"source"`
		Destination side   `json:"destination"`
		Author      struct {
			Nickname string `json:"nickname"`
		} `json:"author"`
	}](ctx, c, below("/repositories", r.Owner, r.Repo, "pullrequests")+"?pagelen=50&state=OPEN")
	var out []generate.PullRequest
	for _, p := range found {
		out = append(out, generate.PullRequest{
			Number: p.ID, Title: p.Title, Branch: p.Source.Branch.Name, TargetBranch: p.Destination.Branch.Name, HeadSHA: p.Source.Commit.Hash, Author: p.Author.Nickname,
		})
	}
	return out, err
}

func (f Forge) pullsOfBitbucketServer(ctx context.Context, r appset.RepositoryBitbucketServer) ([]generate.PullRequest, error) {
	a := basic(bitbucketServer(r.API), r.BasicAuth, r.BearerToken)
	a.insecure, a.ca = r.Insecure, r.CARef
	c, err := f.to(ctx, a)
	if err != nil {
		return nil, err
	}
	type side struct {
		Name   string `json:"displayId"`
		Commit string `json:"latestCommit"`
	}
	found, err := started[struct {
		ID     int64  `json:"id"`
		Title  string `json:"title"`
		From   side   `json:"fromRef"`
		To     side   `json:"toRef"`
		Author struct {
			User struct {
				Name string `json:"name"`
			} `json:"user"`
		} `json:"author"`
	}](ctx, c, below("/projects", r.Project, "repos", r.Repo, "pull-requests"), url.Values{"state": {"OPEN"}})
	var out []generate.PullRequest
	for _, p := range found {
		out = append(out, generate.PullRequest{
			Number: p.ID, Title: p.Title, Branch: p.From.Name, TargetBranch: p.To.Name, HeadSHA: p.From.Commit, Author: p.Author.User.Name,
		})
	}
	return out, err
}

func (f Forge) pullsOfAzure(ctx context.Context, r appset.RepositoryAzureDevOps) ([]generate.PullRequest, error) {
	c, err := f.to(ctx, personal(r.API, r.TokenRef))
	if err != nil {
		return nil, err
	}
	found, err := skipped[struct {
		ID     int64  `json:"pullRequestId"`
		Title  string `json:"title"`
		Source string `json:"sourceRefName"`
		Target string `json:"targetRefName"`
		Commit struct {
			ID string `json:"commitId"`
		} `json:"lastMergeSourceCommit"`
		Author struct {
			Name string `json:"uniqueName"`
		} `json:"createdBy"`
		Labels names `json:"labels"`
	}](ctx, c, below("", r.Organization, r.Project, "_apis", "git", "repositories", r.Repo, "pullrequests"), url.Values{"searchCriteria.status": {"active"}})
	var out []generate.PullRequest
	for _, p := range found {
		has := p.Labels.texts()
		if !labelled(r.Labels, has) {
			continue
		}
		author, _, _ := strings.Cut(p.Author.Name, "@")
		out = append(out, generate.PullRequest{
			Number: p.ID, Title: p.Title, Branch: strings.TrimPrefix(p.Source, "refs/heads/"), TargetBranch: strings.TrimPrefix(p.Target, "refs/heads/"),
			HeadSHA: p.Commit.ID, Labels: has, Author: author,
		})
	}
	return out, err
}
