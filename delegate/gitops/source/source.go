// Package source finds out which revision the source of an application means, and
// gives the files of that revision (semantics/gitops §4).
//
// It renders nothing: what the files are to become is delegate/gitops/render's.
// How a Git repository is fetched is delegate/gitfetch's.
package source

import (
	"context"
	"net/url"
	"reflect"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/task"
)

// recent is how old an answer of a host may be unless somebody wants a newer one.
const recent = 30 * time.Second

// Sources reads the sources of applications. It is for many goroutines.
type Sources struct {
	fetcher   *gitfetch.Fetcher
	charts    *chart.Repos
	artifacts string // where those of registries are unpacked

	mu    sync.Mutex
	asked map[string]*answer // by repository and who asks
}

// New makes a Sources. Artifacts of registries are kept below a folder.
func New(git *gitfetch.Fetcher, charts *chart.Repos, dir string) *Sources {
	return &Sources{fetcher: git, charts: charts, artifacts: dir, asked: map[string]*answer{}}
}

// Wanted are sources whose revisions are wanted.
type Wanted struct {
	Project string // of the application
	Sources []gitops.Source
	Known   *access.Known
	// Since is which answers of hosts are new enough; zero: those of the last half
	// minute.
	Since time.Time
}

// Resolved are the revisions of sources, beside them, and what people should know.
type Resolved struct {
	Revisions  []string
	Conditions []gitops.Condition
}

// Resolve says which revisions sources mean now: commits, versions of charts,
// digests. However many ask for the sources of one repository, it is asked once.
func (s *Sources) Resolve(ctx context.Context, w Wanted) (Resolved, error) {
	if w.Since.IsZero() {
		w.Since = time.Now().Add(-recent)
	}
	var out Resolved
	for i := range w.Sources {
		src := &w.Sources[i]
		r, err := repositoryOf(w.Known, w.Project, src)
		if err != nil {
			return Resolved{}, err
		}
		revision, notice, err := s.resolve(ctx, src, r, w.Since)
		if err != nil {
			if other := w.Known.Elsewhere(w.Project, src); other != "" {
				err = fault.Wrap(err, "the repository %s is the project %s's alone, and the application is of another", r.URL, other)
			}
			return Resolved{}, err
		}
		out.Revisions = append(out.Revisions, revision)
		if notice != "" {
			out.Conditions = append(out.Conditions, gitops.Condition{Type: gitops.ConditionAmbiguousRevision, Message: notice})
		}
	}
	return out, nil
}

func (s *Sources) resolve(ctx context.Context, src *gitops.Source, r repository, since time.Time) (revision, notice string, err error) {
	switch r.kind {
	case access.Helm:
		revision, err = s.version(ctx, src, r, since)
	case access.OCI:
		revision, err = s.digest(ctx, src, r, since)
	case access.Git:
		return s.commit(ctx, src, r, since)
	default:
		err = fault.New(fault.Invalid, "repository %s is of type %q; want git, helm or oci", r.URL, r.kind)
	}
	return revision, "", err
}

// commit is what a source in Git means.
func (s *Sources) commit(ctx context.Context, src *gitops.Source, r repository, since time.Time) (revision, notice string, err error) {
	if isCommit(src.TargetRevision) {
		return src.TargetRevision, "", nil
	}
	refs, err := s.refs(ctx, r, since)
	if err != nil {
		return "", "", err
	}
	found, err := pick(refs, src.TargetRevision, src.TagPrefix)
	if err != nil && isShort(src.TargetRevision) {
		if found.Commit, err = s.complete(ctx, refs, r, src.TargetRevision); err == nil {
			return found.Commit, "", nil
		}
	}
	if err != nil {
		return "", "", fault.New(fault.CodeOf(err), "%w in %s", err, r.URL)
	}
	if found.Notice != "" {
		notice = found.Notice + " in " + r.URL
	}
	return found.Commit, notice, nil
}

// complete finds the commit that begins with some digits among those that were
// fetched.
func (s *Sources) complete(ctx context.Context, refs gitfetch.Refs, r repository, digits string) (string, error) {
	g, err := s.git(ctx, r)
	if err != nil {
		return "", err
	}
	g.Commit = refs["HEAD"]
	tree, err := s.fetcher.Tree(ctx, g)
	if err != nil {
		return "", err
	}
	return tree.Resolve(ctx, digits)
}

// answer is what a host answered, or is about to.
type answer struct {
	begun    time.Time
	done     chan struct{} // closed when it is there
	refs     gitfetch.Refs // of a Git repository
	revision string        // of others
	login    login         // of who asks for one
	err      error
}

// maxAsked bounds how many hosts' answers are remembered.
const maxAsked = 1000

// refs gives the names of a repository as of some time or later.
func (s *Sources) refs(ctx context.Context, r repository, since time.Time) (gitfetch.Refs, error) {
	a, err := s.ask(ctx, r.id, since, func(a *answer) {
		var g task.Git
		if g, a.err = s.git(ctx, r); a.err == nil {
			a.refs, a.err = s.fetcher.Refs(ctx, g)
		}
	})
	if err != nil {
		return nil, err
	}
	return a.refs, nil
}

// ask gives the answer to a question as of some time or later: one that is there,
// one that somebody else waits for already, or a new one.
func (s *Sources) ask(ctx context.Context, question string, since time.Time, do func(*answer)) (*answer, error) {
	s.mu.Lock()
	a := s.asked[question]
	mine := a == nil || a.begun.Before(since) || a.failed()
	if mine {
		if len(s.asked) >= maxAsked {
			clear(s.asked)
		}
		a = &answer{begun: time.Now(), done: make(chan struct{})}
		s.asked[question] = a
	}
	s.mu.Unlock()
	if mine {
		do(a)
		close(a.done)
	}
	select {
	case <-a.done:
		return a, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// failed says whether an answer is there and is an error: the next asks again.
func (a *answer) failed() bool {
	select {
	case <-a.done:
		return a.err != nil
	default:
		return false
	}
}

// Open gives the files of a source at a revision that Resolve gave.
func (s *Sources) Open(ctx context.Context, project string, src *gitops.Source, known *access.Known, revision string) (*Files, error) {
	r, err := repositoryOf(known, project, src)
	if err != nil {
		return nil, err
	}
	switch r.kind {
	case access.Helm:
		return s.openChart(ctx, src, r, revision)
	case access.OCI:
		return s.openArtifact(ctx, src, r, revision)
	case access.Git:
	}
	g, err := s.git(ctx, r)
	if err != nil {
		return nil, err
	}
	g.Commit = revision
	tree, err := s.fetcher.Tree(ctx, g)
	if err != nil {
		return nil, err
	}
	all, err := withModules(ctx, r.URL, tree.Root, tree, func(ctx context.Context, at, commit string) (objects, string, error) {
		return s.openModule(ctx, project, known, r, at, commit)
	})
	if err != nil {
		return nil, err
	}
	return &Files{URL: r.URL, Revision: revision, root: tree.Root, objects: all, seen: map[string]string{}}, nil
}

// openModule gives the files of a submodule: by what is saved for its repository, else, on
// the same host, by what opens the repository that it is in.
func (s *Sources) openModule(ctx context.Context, project string, known *access.Known, of repository, at, commit string) (objects, string, error) {
	r, err := repositoryOf(known, project, &gitops.Source{RepoURL: at, Path: "."})
	if err != nil {
		return nil, "", err
	}
	if alone, err := repositoryOf(nil, project, &gitops.Source{RepoURL: at, Path: "."}); err == nil && reflect.DeepEqual(r.Repository, alone.Repository) && sameHost(of.URL, at) {
		r = of
		r.URL = at
	}
	g, err := s.git(ctx, r)
	if err != nil {
		return nil, "", err
	}
	g.Commit = commit
	tree, err := s.fetcher.Tree(ctx, g)
	if err != nil {
		return nil, "", err
	}
	return tree, tree.Root, nil
}

// sameHost says whether two URLs are of one host, and reached alike.
func sameHost(a, b string) bool {
	one, errOne := url.Parse(a)
	other, errOther := url.Parse(b)
	return errOne == nil && errOther == nil && one.Host != "" && one.Host == other.Host && one.Scheme == other.Scheme
}
