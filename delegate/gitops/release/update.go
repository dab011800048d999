package release

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/githost"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
)

// maxFile bounds a file that is changed, in bytes.
const maxFile = 4 << 20

// trailer says in a commit which step has made it.
const trailer = "Slipway-Node: "

// update writes the values and makes the pull request.
func (j *job) update(ctx context.Context) (*errand.Outcome, error) {
	if len(j.spec.Update.Files) == 0 {
		return nil, fault.New(fault.Invalid, "the manifest names no files for the stage's clusters")
	}
	p, err := j.propose(ctx, j.pushed)
	if err != nil {
		return nil, err
	}
	if p == nil {
		j.say(unitPush, "No file changes, which is allowed: there is no pull request.")
		return &errand.Outcome{}, nil
	}
	return j.proposed(ctx, *p)
}

// propose makes the pull request of what a function has pushed, with the files that it
// changes; nil: it pushed no commit.
func (j *job) propose(ctx context.Context, push func(context.Context, *gitfetch.Work) (string, []string, error)) (*errand.PullRequest, error) {
	made, nodes, _, err := j.kept(ctx)
	if err != nil {
		return nil, err
	}
	for i, node := range nodes {
		if node == j.spec.Node && made[i].Number > 0 { // it was done before the delegate was lost
			j.say(unitCreate, "Pull request %d is there: %s", made[i].Number, made[i].URL)
			return &made[i], nil
		}
	}
	dir, err := j.env.Dir()
	if err != nil {
		return nil, err
	}
	var commit string
	var files []string
	err = j.cfg.Git.Change(ctx, j.spec.Git, filepath.Join(dir, "repository"), func(w *gitfetch.Work) error {
		if commit, files, err = j.again(ctx, w); err == nil && commit == "" {
			commit, files, err = push(ctx, w)
		}
		return err
	})
	if err != nil || commit == "" {
		return nil, err
	}
	pull, err := j.host.Open(ctx, githost.Proposal{
		Title: j.spec.Title, Text: "Made by Slipway.\n\n" + trailer + j.spec.Node, Branch: j.spec.Branch, Base: j.spec.Git.Branch,
	})
	if err != nil {
		return nil, fault.Wrap(err, "make a pull request")
	}
	j.say(unitCreate, "Pull request %d: %s", pull.Number, pull.URL)
	p := errand.PullRequest{Number: pull.Number, URL: pull.URL, Repository: j.spec.Git.URL, Branch: j.spec.Branch, Commit: commit, Files: files}
	return &p, j.keep(ctx, errand.Made(j.spec.Node), p)
}

// proposed is the outcome of a pull request, once somebody has merged it if that is
// waited for.
func (j *job) proposed(ctx context.Context, p errand.PullRequest) (*errand.Outcome, error) {
	out := &errand.Outcome{Commit: p.Commit, PullRequest: link(p), Branch: p.Branch, Files: p.Files}
	if j.spec.Update == nil || !j.spec.Update.Wait {
		return out, nil
	}
	j.say(unitMerge, "Waiting until pull request %d is merged", p.Number)
	for {
		pull, err := j.host.Get(ctx, p.Number)
		switch {
		case err != nil:
			return nil, err
		case pull.State == githost.Merged:
			j.say(unitMerge, "Pull request %d is merged as %s", p.Number, pull.Commit)
			p.Merged = pull.Commit
			return out, j.keep(ctx, errand.Merged(j.spec.Node), p)
		case pull.State == githost.Closed:
			return nil, fault.New(fault.Conflict, "pull request %d was closed, and not merged", p.Number)
		}
		if err := j.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// pushed brings the branch of the pull request about and gives its commit; empty:
// nothing changes.
func (j *job) pushed(ctx context.Context, w *gitfetch.Work) (string, []string, error) {
	base, err := w.Bring(ctx, j.spec.Git.Branch, "1")
	if err != nil {
		return "", nil, err
	}
	if _, err := w.Git(ctx, "checkout", "--quiet", "--force", "--detach", base); err != nil {
		return "", nil, err
	}
	j.say(unitFetch, "Branch %s is at commit %s", j.spec.Git.Branch, base)
	if len(j.spec.Update.Hidden) > 0 {
		j.say(unitEdit, "Secret variables aren't committed and are left out: %s", strings.Join(j.spec.Update.Hidden, ", "))
	}
	var changed []string
	for _, file := range j.spec.Update.Files {
		did, err := j.edit(w.Dir, file)
		if err != nil {
			return "", nil, err
		}
		if did {
			changed = append(changed, file)
		}
	}
	if len(changed) == 0 && !j.spec.Update.AllowEmptyCommit {
		if j.spec.Update.AllowNoChange {
			return "", nil, nil
		}
		return "", nil, fault.New(fault.Invalid, "No files were committed. Hence not creating a pull request")
	}
	commit, err := j.commit(ctx, w, j.spec.Title)
	if err != nil {
		return "", nil, err
	}
	return commit, changed, nil
}

// again finds the branch that an earlier try has pushed; empty: there is none.
func (j *job) again(ctx context.Context, w *gitfetch.Work) (commit string, files []string, err error) {
	there, err := w.Head(ctx, j.spec.Branch)
	if err != nil || there == "" {
		return "", nil, err
	}
	if there, err = w.Bring(ctx, j.spec.Branch, "2"); err != nil {
		return "", nil, err
	}
	said, err := w.Git(ctx, "log", "-1", "--format=%B", there)
	if err != nil {
		return "", nil, err
	}
	if !strings.Contains(said, trailer+j.spec.Node) {
		return "", nil, fault.New(fault.Conflict, "branch %s is there already, and isn't this step's", j.spec.Branch)
	}
	j.say(unitPush, "Branch %s was pushed before, with commit %s", j.spec.Branch, there)
	files, err = names(ctx, w, "diff-tree", "--no-commit-id", "--name-only", "-r", "-z", there)
	return there, files, err
}

// names are those that a command of Git lists, with a NUL behind each.
func names(ctx context.Context, w *gitfetch.Work, args ...string) ([]string, error) {
	out, err := w.Git(ctx, args...)
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 }), err
}

// commit commits all that has changed and pushes it.
func (j *job) commit(ctx context.Context, w *gitfetch.Work, title string) (string, error) {
	for _, args := range [][]string{
		{"add", "--all", "."},
		{"commit", "--quiet", "--allow-empty", "--no-verify", "-m", title, "-m", trailer + j.spec.Node},
	} {
		if _, err := w.Git(ctx, args...); err != nil {
			return "", err
		}
	}
	out, err := w.Git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	commit := strings.TrimSpace(out)
	if err := w.Push(ctx, commit, j.spec.Branch); err != nil {
		return "", err
	}
	j.say(unitPush, "Pushed commit %s to branch %s", commit, j.spec.Branch)
	return commit, nil
}

// edit sets the values in a file, and says whether that changes it.
func (j *job) edit(root, file string) (bool, error) {
	in, err := os.OpenRoot(root)
	if err != nil {
		return false, err
	}
	defer in.Close()
	name := strings.Trim(filepath.FromSlash(file), "/")
	if name == ".git" || strings.HasPrefix(name, ".git/") {
		return false, fault.New(fault.Invalid, "%s is no file of the repository", file)
	}
	before, err := in.ReadFile(name)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case missing && j.spec.Update.IgnoreFiles:
		j.say(unitEdit, "%s isn't there and is passed by", file)
		return false, nil
	case err != nil && !missing:
		return false, fault.New(fault.Invalid, "file %s of the repository: %w", file, err)
	case len(before) > maxFile:
		return false, fault.New(fault.TooLarge, "file %s has %d bytes; the limit is %d", file, len(before), maxFile)
	}
	after, err := edited(file, before, j.spec.Update.Values, j.spec.Update.IgnoreMissing)
	if err != nil || bytes.Equal(before, after) {
		return false, err
	}
	if err := in.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return false, fault.New(fault.Invalid, "file %s of the repository: %w", file, err)
	}
	if err := in.WriteFile(name, after, 0o644); err != nil {
		return false, fault.New(fault.Invalid, "file %s of the repository: %w", file, err)
	}
	verb := "changed"
	if missing {
		verb = "made"
	}
	j.say(unitEdit, "%s is %s", file, verb)
	return true, nil
}
