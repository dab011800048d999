package githost

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// azure speaks the REST API of Azure Repos (learn.microsoft.com/rest/api/azure/devops/git).
type azure struct {
	client

	base string // of the repository
	web  string // of its pull requests, for people
}

// newAzure makes one for organization/project/repository.
func newAzure(c client) (*Host, error) {
	parts := strings.Split(c.repository, "/")
	if len(parts) != 3 {
		return nil, fault.New(fault.Invalid, "the repository is %q; want organization/project/repository", c.repository)
	}
	project := "/" + url.PathEscape(unescaped(parts[0])) + "/" + url.PathEscape(unescaped(parts[1]))
	name := url.PathEscape(unescaped(parts[2]))
	return &Host{azure{c, project + "/_apis/git/repositories/" + name, c.URL() + project + "/_git/" + name + "/pullrequest/"}}, nil
}

func unescaped(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

type azurePull struct {
	Number int    `json:"pullRequestId"`
	Status string `json:"status"` // active, completed, abandoned
	Merge  string `json:"mergeStatus"`
	Source struct {
		ID string `json:"commitId"`
	} `json:"lastMergeSourceCommit"`
	Commit struct {
		ID string `json:"commitId"`
	} `json:"lastMergeCommit"`
	Failure string `json:"mergeFailureMessage"`
}

func (a azure) pull(p azurePull) Pull {
	out := Pull{Number: p.Number, URL: a.web + strconv.Itoa(p.Number), State: Open, Head: p.Source.ID}
	switch {
	case p.Status == "completed":
		out.State, out.Commit = Merged, p.Commit.ID
	case p.Status == "abandoned":
		out.State = Closed
	case p.Merge == "conflicts":
		out.Conflict, out.Why = true, "it has conflicts with its target"
	case p.Merge == "succeeded":
		out.Ready = true
	default:
		out.Why = "Azure Repos says " + p.Merge + " " + p.Failure
	}
	return out
}

// version is that of the API.
const version = "api-version=7.1"

func (a azure) find(ctx context.Context, branch, base string) (*Pull, error) {
	var found struct {
		Value []azurePull `json:"value"`
	}
	query := url.Values{
		"searchCriteria.sourceRefName": {"refs/heads/" + branch}, "searchCriteria.targetRefName": {"refs/heads/" + base}, "searchCriteria.status": {"all"},
		"api-version": {"7.1"},
	}
	if err := a.Get(ctx, a.base+"/pullrequests", query, &found); err != nil {
		return nil, err
	}
	return newest(found.Value, a.pull), nil
}

func (a azure) create(ctx context.Context, p Proposal) (Pull, error) {
	var made azurePull
	body := map[string]string{"title": p.Title, "description": p.Text, "sourceRefName": "refs/heads/" + p.Branch, "targetRefName": "refs/heads/" + p.Base}
	err := a.send(ctx, http.MethodPost, a.base+"/pullrequests?"+version, body, &made)
	return a.pull(made), err
}

func (a azure) get(ctx context.Context, number int) (Pull, error) {
	var found azurePull
	err := a.Get(ctx, a.base+"/pullrequests/"+strconv.Itoa(number), url.Values{"api-version": {"7.1"}}, &found)
	return a.pull(found), err
}

func (a azure) merge(ctx context.Context, number int, how Way) error {
	strategy := "noFastForward"
	if how.Squash {
		strategy = "squash"
	}
	body := map[string]any{
		"status": "completed", "lastMergeSourceCommit": map[string]string{"commitId": how.Head},
		"completionOptions": map[string]any{"mergeStrategy": strategy, "deleteSourceBranch": how.Delete},
	}
	return a.send(ctx, http.MethodPatch, a.base+"/pullrequests/"+strconv.Itoa(number)+"?"+version, body, nil)
}

// remove does nothing: completing a pull request deletes its branch.
func (a azure) remove(context.Context, string) error { return nil }
