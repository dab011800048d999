package source

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/gitops/signature"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
)

// verifiedFor is for how long somebody's signature is good once it was checked: keys go,
// and expire.
const verifiedFor = 10 * time.Minute

// Signed says why what a source has at a revision isn't signed by one of some keys; nil:
// it is. A tag that is an object of its own is to be signed itself, and else the commit
// (semantics/gitops §14).
func (s *Sources) Signed(ctx context.Context, project string, src *gitops.Source, known *access.Known, revision string, by []string) error {
	r, err := repositoryOf(known, project, src)
	if err != nil {
		return err
	}
	if r.kind != access.Git {
		return fault.New(fault.Forbidden, "%s has to be signed, which only what is in Git can be", r.URL)
	}
	var keys []access.Key
	if known != nil {
		keys = known.Keys
	}
	question := []string{"signed", r.id, src.TargetRevision, src.TagPrefix, revision, strings.Join(by, " ")}
	for _, k := range keys {
		question = append(question, k.ID, k.Data)
	}
	_, err = s.ask(ctx, strings.Join(question, "\n"), time.Now().Add(-verifiedFor), func(a *answer) {
		a.err = s.verify(ctx, src, r, revision, keys, by)
	})
	return err
}

func (s *Sources) verify(ctx context.Context, src *gitops.Source, r repository, revision string, keys []access.Key, by []string) error {
	id, name := revision, "commit "+revision
	if !isCommit(src.TargetRevision) {
		refs, err := s.refs(ctx, r, time.Now().Add(-recent))
		if err != nil {
			return err
		}
		found, err := pick(refs, src.TargetRevision, src.TagPrefix)
		if object := refs[found.Tag+gitfetch.TagObject]; err == nil && found.Commit == revision && object != "" {
			id, name = object, strings.TrimPrefix(found.Tag, "refs/tags/")
		}
	}
	object, err := s.object(ctx, r, revision, id)
	if err != nil {
		return err
	}
	if id != revision && object.Target != revision {
		return fault.New(fault.Forbidden, "the tag %s of %s points to %s and not to the commit %s", name, r.URL, object.Target, revision)
	}
	if err := object.Check(keys, by, time.Now()); err != nil {
		return fault.Wrap(err, "%s of %s has to be signed by %s", name, r.URL, strings.Join(slices.Sorted(slices.Values(by)), " or "))
	}
	return nil
}

// object reads a commit, or a tag that points to it.
func (s *Sources) object(ctx context.Context, r repository, commit, id string) (signature.Object, error) {
	g, err := s.git(ctx, r)
	if err != nil {
		return signature.Object{}, err
	}
	g.Commit = commit
	tree, err := s.fetcher.Tree(ctx, g)
	if err != nil {
		return signature.Object{}, err
	}
	all, err := tree.Blobs(ctx, []string{id}, signature.MaxObject)
	if err != nil {
		return signature.Object{}, err
	}
	return signature.Read(all[id]), nil
}
