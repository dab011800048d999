package gitfetch

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// maxLinks bounds how often links are followed to files that aren't there yet.
const maxLinks = 10

// sparse are paths without those below others; none mean the whole repository.
func sparse(paths []string) []string {
	var out []string
	for _, p := range paths {
		p = strings.Trim(path.Clean("/"+filepath.ToSlash(p)), "/")
		if p == "" {
			return nil
		}
		out = append(out, p)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return slices.DeleteFunc(slices.Clone(out), func(p string) bool {
		return slices.ContainsFunc(out, func(above string) bool { return strings.HasPrefix(p, above+"/") })
	})
}

// checkout writes files of a commit into a new folder: those at paths, those
// below them, and what they link to.
func (r repository) checkout(ctx context.Context, commit string, paths []string, dir string) error {
	scratch, err := os.MkdirTemp(r.dir, "checkout-")
	if err != nil {
		return fmt.Errorf("make the cache of repositories: %w", err)
	}
	defer os.RemoveAll(scratch)
	work := filepath.Join(scratch, "files")
	if err := os.Mkdir(work, 0o700); err != nil {
		return fmt.Errorf("make a folder for the checkout: %w", err)
	}
	at := r.in(r.objects(), "GIT_WORK_TREE="+work, "GIT_INDEX_FILE="+filepath.Join(scratch, "index"))
	for i, more := 0, paths; i == 0 || len(more) > 0 && i < maxLinks; i++ {
		links, err := at.linksOnTheWay(ctx, commit, more)
		if err != nil {
			return err
		}
		paths = append(paths, links...)
		if err := at.write(ctx, commit, paths); err != nil {
			return err
		}
		if more, err = deadLinks(work); err != nil {
			return fmt.Errorf("look for links in the checkout: %w", err)
		}
		if len(paths) == 0 {
			break // all is there: these links lead nowhere
		}
		more = slices.DeleteFunc(more, func(p string) bool { return slices.Contains(paths, p) })
		paths = append(paths, more...)
	}
	if err := os.Rename(work, dir); err != nil {
		return fmt.Errorf("move the checkout into place: %w", err)
	}
	return nil
}

// write makes the work tree have the files at paths, and all for none.
func (r repository) write(ctx context.Context, commit string, paths []string) error {
	var b strings.Builder
	for _, p := range paths {
		if strings.ContainsAny(p, "\r\n") {
			return fault.New(fault.Invalid, "the path %q has a line break", p)
		}
		b.WriteString("/" + literal.Replace(p) + "\n")
	}
	if len(paths) == 0 {
		b.WriteString("/*\n")
	}
	info := filepath.Join(r.objects(), "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return fmt.Errorf("say which files to check out: %w", err)
	}
	if err := os.WriteFile(filepath.Join(info, "sparse-checkout"), []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("say which files to check out: %w", err)
	}
	_, err := r.git(ctx, "read-tree", "-m", "-u", commit)
	return err
}

// literal makes patterns of paths that match nothing but themselves.
var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `)

// linksOnTheWay are the folders on the way to paths that are links in truth.
func (r repository) linksOnTheWay(ctx context.Context, commit string, paths []string) ([]string, error) {
	var above []string
	for _, p := range paths {
		for p = path.Dir(p); p != "."; p = path.Dir(p) {
			above = append(above, p)
		}
	}
	if len(above) == 0 {
		return nil, nil
	}
	slices.Sort(above)
	out, err := r.git(ctx, append([]string{"ls-tree", "-z", commit, "--"}, slices.Compact(above)...)...)
	if err != nil {
		return nil, err
	}
	var links []string
	for entry := range strings.SplitSeq(out, "\x00") {
		if mode, name, ok := strings.Cut(entry, "\t"); ok && strings.HasPrefix(mode, "120000") {
			links = append(links, name)
		}
	}
	return links, nil
}

// deadLinks are the paths in the repository that links in the work tree lead
// to, and that aren't there.
func deadLinks(work string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(work, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink == 0 {
			return err
		}
		if _, err := os.Stat(file); err == nil {
			return nil
		}
		target, err := os.Readlink(file)
		if err != nil {
			return err
		}
		to, err := filepath.Rel(work, filepath.Join(filepath.Dir(file), target))
		if err == nil && !filepath.IsAbs(target) && filepath.IsLocal(to) {
			out = append(out, filepath.ToSlash(to))
		}
		return nil
	})
	return out, err
}
