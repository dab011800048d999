package sets

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/gitops/generate"
	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
	"github.com/slipway-cd/slipway/pkg/gitops/rules"
)

const (
	// mostText bounds the files that generators read, together.
	mostText = 32 << 20
	// within bounds how long a set is made.
	within = 5 * time.Minute
	// gitEvery and askEvery are how often repositories are looked at, and hosts and plugins
	// asked, for which no set says it; decidedEvery is for objects of the cluster.
	gitEvery, askEvery, decidedEvery = 3 * time.Minute, 30 * time.Minute, 3 * time.Minute
)

// requeue is how often a set is made although nothing is known to have changed; 0:
// never.
func requeue(all []appset.Generator) time.Duration {
	least := time.Duration(0)
	for _, g := range all {
		every := time.Duration(0)
		said := func(seconds *int64, usual time.Duration) {
			if every = usual; seconds != nil {
				every = time.Duration(*seconds) * time.Second
			}
		}
		switch {
		case g.Git != nil:
			said(g.Git.RequeueAfterSeconds, gitEvery)
		case g.SCMProvider != nil:
			said(g.SCMProvider.RequeueAfterSeconds, askEvery)
		case g.PullRequests != nil:
			said(g.PullRequests.RequeueAfterSeconds, askEvery)
		case g.Plugin != nil:
			said(g.Plugin.RequeueAfterSeconds, askEvery)
		case g.Decisions != nil:
			said(g.Decisions.RequeueAfterSeconds, decidedEvery)
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

// doubtful says whether what generators find is what hosts tell, which may tell nothing
// for a while.
func doubtful(all []appset.Generator) bool {
	return slices.ContainsFunc(all, func(g appset.Generator) bool {
		return g.SCMProvider != nil || g.PullRequests != nil || g.Plugin != nil || g.Matrix != nil && doubtful(g.Matrix.Generators) || g.Merge != nil && doubtful(g.Merge.Generators)
	})
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
				a.Clusters = append(a.Clusters, clusterOf(c))
			}
			return a, nil
		case q.Git != nil:
			return s.git(ctx, docs, set, *q.Git, since)
		case q.PullRequests != nil:
			return s.cfg.Forge.PullRequests(ctx, *q.PullRequests)
		case q.Repositories != nil:
			return s.cfg.Forge.Repositories(ctx, *q.Repositories)
		case q.Plugin != nil:
			return s.cfg.Forge.Plugin(ctx, set.Meta.Name, *q.Plugin)
		case q.Decisions != nil:
			return s.decisions(ctx, docs, *q.Decisions)
		}
		return generate.Answer{}, fault.New(fault.Unsupported, "this agent can't ask for what the generator wants")
	})
}

func clusterOf(c access.Cluster) generate.Cluster {
	return generate.Cluster{Name: cmp.Or(c.Name, c.Server), Server: c.Server, Project: c.Project, Labels: c.Labels, Annotations: c.Annotations}
}

// Listing chooses objects of the agent's own namespace: one by its name, or those that a
// selector takes.
type Listing struct {
	APIVersion, Kind, Name string
	Selector               appset.Selector
}

// decisions are the clusters that objects of the agent's namespace name in their status.
func (s *Sets) decisions(ctx context.Context, docs Documents, q appset.Decisions) (generate.Answer, error) {
	var a generate.Answer
	config, err := s.cfg.Forge.Values.ConfigMap(ctx, q.ConfigMapRef)
	if err != nil {
		return a, err
	}
	for _, key := range []string{"apiVersion", "kind", "statusListKey", "matchKey"} {
		if config[key] == "" {
			return a, fault.New(fault.Invalid, "ConfigMap %s has no %s", q.ConfigMapRef, key)
		}
	}
	objects, err := s.cfg.List(ctx, Listing{APIVersion: config["apiVersion"], Kind: config["kind"], Name: q.Name, Selector: q.LabelSelector})
	if err != nil {
		return a, err
	}
	for _, o := range objects {
		status, _ := o["status"].(map[string]any)
		list, _ := status[config["statusListKey"]].([]any)
		for _, item := range list {
			says, _ := item.(map[string]any)
			name, _ := says[config["matchKey"]].(string)
			for _, c := range docs.Clusters {
				if one := clusterOf(c); name != "" && one.Name == name {
					a.Decisions = append(a.Decisions, generate.Decision{Cluster: one, Says: says})
				}
			}
		}
	}
	return a, nil
}

// git reads a repository, with what the project of the set's applications opens it by.
func (s *Sets) git(ctx context.Context, docs Documents, set appset.Set, q generate.GitQuestion, since time.Time) (generate.Answer, error) {
	project := set.Spec.Template.Spec.Project
	many := strings.Contains(project, "{{")
	if many {
		project = ""
	}
	src := gitops.Source{RepoURL: q.RepoURL, TargetRevision: q.Revision, Path: "."}
	at, err := s.cfg.Sources.Resolve(ctx, source.Wanted{Project: project, Sources: []gitops.Source{src}, Known: &docs.Known, Since: since})
	if err != nil {
		return generate.Answer{}, err
	}
	if !many { // else each application is looked at
		if err := docs.signed(ctx, s.cfg.Sources, project, &src, at.Revisions[0]); err != nil {
			return generate.Answer{}, err
		}
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

// signed says why a set may not be made of a repository at a revision, as the project of
// its applications has somebody sign that; nil: it may.
func (d *Documents) signed(ctx context.Context, sources *source.Sources, project string, src *gitops.Source, revision string) error {
	for _, p := range d.Projects {
		if p.Meta.Name != cmp.Or(project, "default") {
			continue
		}
		r, err := rules.Read(p)
		if err != nil {
			return fault.Wrap(err, "project %s", p.Meta.Name)
		}
		by, err := r.Signers(src.RepoURL)
		if err != nil || len(by) == 0 {
			return err
		}
		return sources.Signed(ctx, project, src, &d.Known, revision, by)
	}
	return nil
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
