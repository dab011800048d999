package githost

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// github speaks GitHub's REST API (docs.github.com/rest/pulls).
type github struct{ client }

type githubPull struct {
	Number int    `json:"number"`
	URL    string `json:"html_url"`
	State  string `json:"state"` // open or closed
	Merged bool   `json:"merged"`
	At     string `json:"merged_at"`
	Commit string `json:"merge_commit_sha"` // before the merge that of a trial
	Able   *bool  `json:"mergeable"`        // nil: it isn't known yet
	How    string `json:"mergeable_state"`
	Head   struct {
		SHA string `json:"sha"`
	} `json:"head"`
}

func (p githubPull) pull() Pull {
	out := Pull{Number: p.Number, URL: p.URL, State: Open, Head: p.Head.SHA}
	switch {
	case p.Merged || p.At != "":
		out.State, out.Commit = Merged, p.Commit
	case p.State == "closed":
		out.State = Closed
	case p.Able == nil:
		out.Why = "GitHub hasn't found out yet whether it can be merged"
	case !*p.Able:
		out.Conflict, out.Why = true, "it has conflicts with its target"
	case p.How == "clean" || p.How == "unstable" || p.How == "has_hooks" || p.How == "":
		out.Ready = true
	default:
		out.Why = "GitHub says " + p.How + ": a check, a review or a rule is missing"
	}
	return out
}

func (g github) path(more string) string { return "/repos/" + g.repository + "/pulls" + more }

func (g github) find(ctx context.Context, branch, base string) (*Pull, error) {
	owner, _, _ := strings.Cut(g.repository, "/")
	var found []githubPull
	query := url.Values{"state": {"all"}, "head": {owner + ":" + branch}, "base": {base}}
	if err := g.Get(ctx, g.path(""), query, &found); err != nil {
		return nil, err
	}
	return newest(found, githubPull.pull), nil
}

// newest is the first of a list, which is the newest, that isn't closed.
func newest[P any](list []P, pull func(P) Pull) *Pull {
	for _, one := range list {
		if p := pull(one); p.State != Closed {
			return &p
		}
	}
	return nil
}

func (g github) create(ctx context.Context, p Proposal) (Pull, error) {
	var made githubPull
	err := g.send(ctx, http.MethodPost, g.path(""), map[string]string{"title": p.Title, "body": p.Text, "head": p.Branch, "base": p.Base}, &made)
	return made.pull(), err
}

func (g github) get(ctx context.Context, number int) (Pull, error) {
	var found githubPull
	err := g.Get(ctx, g.path("/"+strconv.Itoa(number)), nil, &found)
	return found.pull(), err
}

func (g github) merge(ctx context.Context, number int, how Way) error {
	method := "merge"
	if how.Squash {
		method = "squash"
	}
	return g.send(ctx, http.MethodPut, g.path("/"+strconv.Itoa(number)+"/merge"), map[string]string{"merge_method": method, "sha": how.Head}, nil)
}

func (g github) remove(ctx context.Context, branch string) error {
	return g.send(ctx, http.MethodDelete, "/repos/"+g.repository+"/git/refs/heads/"+branch, nil, nil)
}
