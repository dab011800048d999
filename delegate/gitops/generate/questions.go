package generate

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
)

// Ask answers a question. One that can't be answered is an error: then nothing of
// the set changes.
type Ask func(context.Context, Question) (Answer, error)

// Question is what a generator wants to know. One of the fields is given.
type Question struct {
	Clusters     bool                 `json:"clusters,omitempty"` // all that the agent knows
	Git          *GitQuestion         `json:"git,omitempty"`
	Repositories *appset.SCMProvider  `json:"repositories,omitempty"`
	PullRequests *appset.PullRequests `json:"pullRequests,omitempty"`
	Decisions    *appset.Decisions    `json:"decisions,omitempty"`
	Plugin       *appset.Plugin       `json:"plugin,omitempty"`
}

// GitQuestion asks for the folders of a repository or, if patterns are given, for
// the files that Wanted takes.
type GitQuestion struct {
	RepoURL  string              `json:"repoURL"`
	Revision string              `json:"revision,omitempty"`
	Files    []appset.GitPattern `json:"files,omitempty"`
}

// Answer is what a question has.
type Answer struct {
	Clusters     []Cluster        `json:"clusters,omitempty"`
	Directories  []string         `json:"directories,omitempty"` // slash-separated, without the root
	Files        []File           `json:"files,omitempty"`
	Repositories []Repository     `json:"repositories,omitempty"`
	PullRequests []PullRequest    `json:"pullRequests,omitempty"`
	NotFound     bool             `json:"notFound,omitempty"`  // the repository of pull requests
	Decisions    []Decision       `json:"decisions,omitempty"` // of clusters that the agent knows
	Parameters   []map[string]any `json:"parameters,omitempty"`
}

// Cluster is a cluster that an agent knows.
type Cluster struct {
	Name        string            `json:"name"`
	Server      string            `json:"server"`
	Project     string            `json:"project,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// File is a file of a repository.
type File struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// Repository is a branch of a repository of an organization.
type Repository struct {
	Organization string   `json:"organization"`
	Repository   string   `json:"repository"`
	ID           string   `json:"id,omitempty"`
	URL          string   `json:"url"`
	Branch       string   `json:"branch"`
	SHA          string   `json:"sha"`
	Labels       []string `json:"labels,omitempty"`
}

// PullRequest is a pull request of a repository.
type PullRequest struct {
	Number       int64    `json:"number"`
	Title        string   `json:"title"`
	Branch       string   `json:"branch"`
	TargetBranch string   `json:"targetBranch"`
	HeadSHA      string   `json:"headSHA"`
	Labels       []string `json:"labels,omitempty"`
	Author       string   `json:"author"`
}

// Decision is a cluster that an object decided on, and what it says of it.
type Decision struct {
	Cluster Cluster        `json:"cluster"`
	Says    map[string]any `json:"says,omitempty"`
}

// Wanted says whether patterns of files take a path: one takes it in, and none
// leaves it out.
func Wanted(patterns []appset.GitPattern, path string) bool {
	in := false
	for _, p := range patterns {
		// What isn't a pattern takes nothing; it is refused when the set is saved.
		if ok, err := doublestar.Match(strings.TrimPrefix(p.Path, "/"), path); err != nil || !ok {
			continue
		}
		if p.Exclude {
			return false
		}
		in = true
	}
	return in
}

// answer has a question answered, the same one only once.
func (g *generator) answer(q Question) (Answer, error) {
	key, err := json.Marshal(q)
	if err != nil {
		return Answer{}, fault.New(fault.Internal, "encode a question: %w", err)
	}
	if a, ok := g.answers[string(key)]; ok {
		return a, nil
	}
	a, err := g.ask(g.ctx, q)
	if err != nil {
		return Answer{}, err
	}
	slices.SortFunc(a.Files, func(x, y File) int { return strings.Compare(x.Path, y.Path) })
	slices.SortFunc(a.Clusters, func(x, y Cluster) int { return strings.Compare(x.Name, y.Name) })
	g.answers[string(key)] = a
	return a, nil
}
