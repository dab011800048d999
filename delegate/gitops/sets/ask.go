package sets

import (
	"cmp"
	"context"
	"path"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/gitops/generate"
	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
)

const (
	// mostText bounds the files that generators read, together.
	mostText = 32 << 20
	// within bounds how long a set is made.
	within = 5 * time.Minute
	// gitEvery is how often repositories are looked at for which no set says it.
	gitEvery = 3 * time.Minute
)

// requeue is how often a set is made although nothing is known to have changed; 0:
// never.
func requeue(all []appset.Generator) time.Duration {
	least := time.Duration(0)
	for _, g := range all {
		every := time.Duration(0)
		switch {
		case g.Git != nil && g.Git.RequeueAfterSeconds == nil:
			every = gitEvery
		case g.Git != nil:
			every = time.Duration(*g.Git.RequeueAfterSeconds) * time.Second
		case g.Matrix != nil:
			every = requeue(g.Matrix.Generators)
		case g.Merge != nil:
			every = requeue(g.Merge.Generators)
		}
		if every > 0 && (least == 0 || every < least) {
			least = every
		}
	}
	return least
}

// made is what a set comes to, by what hosts have said since some time.
func (s *Sets) made(ctx context.Context, docs Documents, set appset.Set, since time.Time) (generate.Outcome, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fault.New(fault.Unavailable, "the set isn't made within %s", within))
	defer cancel()
	return generate.In(ctx, s.cfg.Sandbox, set, func(ctx context.Context, q generate.Question) (generate.Answer, error) {
		switch {
		case q.Clusters:
			var a generate.Answer
			for _, c := range docs.Clusters {
				a.Clusters = append(a.Clusters, generate.Cluster{
					Name: cmp.Or(c.Name, c.Server), Server: c.Server, Project: c.Project, Labels: c.Labels, Annotations: c.Annotations,
				})
			}
			return a, nil
		case q.Git != nil:
			return s.git(ctx, docs, set, *q.Git, since)
		}
		return generate.Answer{}, fault.New(fault.Unsupported, "this agent can't ask for what the generator wants")
	})
}

// git reads a repository, with what the project of the set's applications opens it by.
func (s *Sets) git(ctx context.Context, docs Documents, set appset.Set, q generate.GitQuestion, since time.Time) (generate.Answer, error) {
	project := set.Spec.Template.Spec.Project
	if strings.Contains(project, "{{") {
		project = "" // it is many
	}
	src := gitops.Source{RepoURL: q.RepoURL, TargetRevision: q.Revision, Path: "."}
	at, err := s.cfg.Sources.Resolve(ctx, source.Wanted{Project: project, Sources: []gitops.Source{src}, Known: &docs.Known, Since: since})
	if err != nil {
		return generate.Answer{}, err
	}
	files, err := s.cfg.Sources.Open(ctx, project, &src, &docs.Known, at.Revisions[0])
	if err != nil {
		return generate.Answer{}, err
	}
	all, err := files.Tree(ctx)
	if err != nil {
		return generate.Answer{}, err
	}
	var a generate.Answer
	var wanted []source.File
	for _, f := range all {
		switch {
		case f.Folder && len(q.Files) == 0 && !hidden(f.Path):
			a.Directories = append(a.Directories, f.Path)
		case !f.Folder && generate.Wanted(q.Files, f.Path):
			wanted = append(wanted, f)
		}
	}
	texts, err := files.Read(ctx, mostText, wanted...)
	if err != nil {
		return generate.Answer{}, err
	}
	for i, f := range wanted {
		a.Files = append(a.Files, generate.File{Path: f.Path, Text: string(texts[i])})
	}
	return a, nil
}

// hidden says whether a folder, or one that it is in, has a name that begins with a dot.
func hidden(at string) bool {
	for ; at != "."; at = path.Dir(at) {
		if strings.HasPrefix(path.Base(at), ".") {
			return true
		}
	}
	return false
}
