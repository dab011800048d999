package githost

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// bitbucket speaks the REST API of Bitbucket Cloud (developer.atlassian.com/cloud/bitbucket/rest).
type bitbucket struct{ client }

type bitbucketPull struct {
	Number int    `json:"id"`
	State  string `json:"state"` // OPEN, MERGED, DECLINED, SUPERSEDED
	Links  struct {
		HTML struct {
			URL string `json:"href"`
		} `json:"html"`
	} `json:"links"`
	Source struct {
		Commit struct {
			Hash string `json:"hash"`
		} `json:"commit"`
	} `json:"source"`
	Commit *struct {
		Hash string `json:"hash"`
	} `json:"merge_commit"`
}

// pull is the same for all hosts. Bitbucket doesn't say whether one can be merged: it
// is tried.
func (p bitbucketPull) pull() Pull {
	out := Pull{Number: p.Number, URL: p.Links.HTML.URL, Head: p.Source.Commit.Hash, State: Closed}
	switch p.State {
	case "OPEN":
		out.State, out.Ready = Open, true
	case "MERGED":
		if out.State = Merged; p.Commit != nil {
			out.Commit = p.Commit.Hash
		}
	}
	return out
}

func (b bitbucket) path(more string) string {
	return "/repositories/" + b.repository + "/pullrequests" + more
}

func (b bitbucket) find(ctx context.Context, branch, base string) (*Pull, error) {
	var found struct {
		Values []bitbucketPull `json:"values"`
	}
	query := url.Values{
		"q": {"source.branch.name = " + strconv.Quote(branch) + " AND destination.branch.name = " + strconv.Quote(base)}, "state": {"OPEN", "MERGED"},
		"sort": {"-created_on"},
	}
	if err := b.Get(ctx, b.path(""), query, &found); err != nil {
		return nil, err
	}
	return newest(found.Values, bitbucketPull.pull), nil
}

func (b bitbucket) create(ctx context.Context, p Proposal) (Pull, error) {
	type branch struct {
		Name string `json:"name"`
	}
	type end struct {
		Branch branch `json:"branch"`
	}
	var made bitbucketPull
	body := struct {
		Title       string `json:"title"`
		Description string `json:"description"`
		Source      end    `json:"source"`
		Destination end    `json:"destination"`
	}{p.Title, p.Text, end{branch{p.Branch}}, end{branch{p.Base}}}
	err := b.send(ctx, http.MethodPost, b.path(""), body, &made)
	return made.pull(), err
}

func (b bitbucket) get(ctx context.Context, number int) (Pull, error) {
	var found bitbucketPull
	err := b.Get(ctx, b.path("/"+strconv.Itoa(number)), nil, &found)
	return found.pull(), err
}

func (b bitbucket) merge(ctx context.Context, number int, how Way) error {
	strategy := "merge_commit"
	if how.Squash {
		strategy = "squash"
	}
	return b.send(ctx, http.MethodPost, b.path("/"+strconv.Itoa(number)+"/merge"), map[string]any{"merge_strategy": strategy, "close_source_branch": how.Delete}, nil)
}

func (b bitbucket) remove(ctx context.Context, branch string) error {
	return b.send(ctx, http.MethodDelete, "/repositories/"+b.repository+"/refs/branches/"+url.PathEscape(branch), nil, nil)
}
