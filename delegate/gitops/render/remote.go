package render

import (
	"context"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
)

const (
	// askRemote has the parent bring another repository.
	askRemote = "remote"
	// remotes is the folder below which other repositories stand.
	remotes = ".slipway-remote"
	// remoteAge is how old the knowledge may be of what a name stands for in another
	// repository: nobody polls it.
	remoteAge = 10 * time.Minute
	// maxRemotes is how many other repositories an application may build on.
	maxRemotes = 50
)

// remote is a base in another repository.
type remote struct {
	repository, path, revision string
}

// isRemote says whether an entry of a kustomization is in another repository.
func isRemote(entry string) bool {
	if strings.Contains(entry, "\n") { // an object that is written out
		return false
	}
	for _, begins := range []string{"git@", "git::", "github.com/", "github.com:"} {
		if strings.HasPrefix(entry, begins) {
			return true
		}
	}
	return strings.Contains(entry, "://") || strings.Contains(entry, "?ref=")
}

// parseRemote reads an entry as Kustomize does: the path in the repository stands
// behind two slashes, or behind .git, or else behind the first two names; the
// revision is the parameter ref or version.
func parseRemote(entry string) (remote, error) {
	at, query, _ := strings.Cut(strings.TrimPrefix(entry, "git::"), "?")
	parameters, err := url.ParseQuery(query)
	if err != nil {
		return remote{}, fault.New(fault.Invalid, "found the base %s, whose parameters can't be read: %w", entry, err)
	}
	out := remote{revision: parameters.Get("version")}
	if ref := parameters.Get("ref"); ref != "" {
		out.revision = ref
	}
	scheme, rest, ok := strings.Cut(at, "://")
	switch {
	case ok:
		scheme += "://"
	case strings.HasPrefix(at, "git@"):
		scheme, rest = "", at
	default:
		scheme, rest = "https://", strings.Replace(at, "github.com:", "github.com/", 1)
	}
	if repository, below, ok := strings.Cut(rest, "//"); ok {
		out.repository, out.path = scheme+repository, below
		return out, nil
	}
	if repository, below, ok := strings.Cut(rest, ".git/"); ok {
		out.repository, out.path = scheme+repository+".git", below
		return out, nil
	}
	const names = 3 // the host, and two of the repository
	parts := strings.SplitN(rest, "/", names+1)
	if scheme == "" { // git@host:one/two/path
		parts = strings.SplitN(rest, "/", names)
	}
	if most := len(parts) - 1; scheme == "" && most == names-1 || scheme != "" && most == names {
		out.path = parts[most]
		parts = parts[:most]
	}
	out.repository = scheme + strings.Join(parts, "/")
	return out, nil
}

// bring gives the place at which a base in another repository stands.
func (j *job) bring(ctx context.Context, entry string) (string, error) {
	r, err := parseRemote(entry)
	if err != nil {
		return "", err
	}
	if ext := path.Ext(r.path); ext == ".yaml" || ext == ".yml" || ext == ".json" {
		return "", fault.New(fault.Unsupported, "the kustomization names %s, which is a file at a URL; such files can't be read yet", entry)
	}
	commit, err := j.remoteCommit(ctx, r.repository, r.revision)
	if err != nil {
		return "", err
	}
	if len(j.remotes) >= maxRemotes {
		return "", fault.New(fault.TooLarge, "the kustomization builds on more than %d other repositories", maxRemotes)
	}
	files, err := j.sources.Open(ctx, j.Project, &gitops.Source{RepoURL: r.repository}, j.Known, commit)
	if err != nil {
		return "", err
	}
	j.used[askRemote+" "+r.repository+" "+r.revision] = commit
	j.remotes = append(j.remotes, files)
	return path.Join(remotes, strconv.Itoa(len(j.remotes)-1), path.Join("/", r.path)), nil
}

// remoteCommit is what a name stands for in another repository.
func (j *job) remoteCommit(ctx context.Context, repository, revision string) (string, error) {
	since := time.Now().Add(-remoteAge)
	if j.Hard {
		since = time.Now()
	}
	got, err := j.sources.Resolve(ctx, source.Wanted{
		Project: j.Project, Known: j.Known, Since: since, Sources: []gitops.Source{{RepoURL: repository, TargetRevision: revision}},
	})
	if err != nil {
		return "", err
	}
	return got.Revisions[0], nil
}

// placed says in which files a path is: those of the source, or another repository's
// below its place.
func (j *job) placed(own *source.Files, at string) (files *source.Files, below, prefix string) {
	rest, ok := strings.CutPrefix(at, remotes+"/")
	if !ok {
		return own, at, ""
	}
	number, below, _ := strings.Cut(rest, "/")
	i, err := strconv.Atoi(number)
	if err != nil || i < 0 || i >= len(j.remotes) {
		return own, at, ""
	}
	return j.remotes[i], below, path.Join(remotes, number)
}
