package githost

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// gitlab speaks GitLab's REST API (docs.gitlab.com/api/merge_requests).
type gitlab struct{ client }

type gitlabRequest struct {
	Number   int    `json:"iid"`
	URL      string `json:"web_url"`
	State    string `json:"state"` // opened, merged, closed, locked
	Head     string `json:"sha"`
	Merge    string `json:"merge_commit_sha"`
	Squash   string `json:"squash_commit_sha"`
	Status   string `json:"detailed_merge_status"`
	Conflict bool   `json:"has_conflicts"`
}

func (p gitlabRequest) pull() Pull {
	out := Pull{Number: p.Number, URL: p.URL, State: Open, Head: p.Head}
	switch {
	case p.State == "merged": // a fast-forward has no commit of its own
		out.State, out.Commit = Merged, cmp.Or(p.Merge, p.Squash, p.Head)
	case p.State == "closed":
		out.State = Closed
	case p.Conflict || p.Status == "conflict":
		out.Conflict, out.Why = true, "it has conflicts with its target"
	case p.Status == "mergeable":
		out.Ready = true
	default:
		out.Why = "GitLab says " + cmp.Or(p.Status, "nothing yet")
	}
	return out
}

func (g gitlab) project() string { return "/projects/" + url.PathEscape(g.repository) }

func (g gitlab) path(more string) string { return g.project() + "/merge_requests" + more }

func (g gitlab) find(ctx context.Context, branch, base string) (*Pull, error) {
	var found []gitlabRequest
	query := url.Values{"state": {"all"}, "source_branch": {branch}, "target_branch": {base}}
	if err := g.Get(ctx, g.path(""), query, &found); err != nil {
		return nil, err
	}
	return newest(found, gitlabRequest.pull), nil
}

func (g gitlab) create(ctx context.Context, p Proposal) (Pull, error) {
	var made gitlabRequest
	body := map[string]string{"title": p.Title, "description": p.Text, "source_branch": p.Branch, "target_branch": p.Base}
	err := g.send(ctx, http.MethodPost, g.path(""), body, &made)
	return made.pull(), err
}

func (g gitlab) get(ctx context.Context, number int) (Pull, error) {
	var found gitlabRequest
	err := g.Get(ctx, g.path("/"+strconv.Itoa(number)), nil, &found)
	return found.pull(), err
}

func (g gitlab) merge(ctx context.Context, number int, how Way) error {
	body := map[string]any{"squash": how.Squash, "should_remove_source_branch": how.Delete, "sha": how.Head}
	return g.send(ctx, http.MethodPut, g.path("/"+strconv.Itoa(number)+"/merge"), body, nil)
}

func (g gitlab) remove(ctx context.Context, branch string) error {
	return g.send(ctx, http.MethodDelete, g.project()+"/repository/branches/"+url.PathEscape(branch), nil, nil)
}
