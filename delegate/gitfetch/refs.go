package gitfetch

import (
	"context"
	"strings"

	"github.com/slipway-cd/slipway/pkg/task"
)

// Refs are the names of a repository and the commits that they stand for, by their
// full names: refs/heads/main, refs/tags/v1. A tag that is an object of its own
// counts by what it points to, and itself stands under its name with TagObject behind it.
// HEAD is among them unless the repository is empty.
type Refs map[string]string

// TagObject is behind the name of a tag that is an object of its own. No name has it.
const TagObject = "^{tag}"

// peeled ends the line of ls-remote on what a tag points to.
const peeled = "^{}"

// Refs asks a repository once for all of its names.
func (f *Fetcher) Refs(ctx context.Context, g task.Git) (Refs, error) {
	refs := Refs{}
	err := following(ctx, g, func(g task.Git) error {
		r, done, err := f.access(g)
		if err != nil {
			return err
		}
		defer done()
		out, err := r.git(ctx, "ls-remote", "--", g.URL)
		if err != nil {
			return err
		}
		for line := range strings.Lines(out) {
			if id, ref, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				if name, of := strings.CutSuffix(ref, peeled); of { // it comes second
					refs[name+TagObject], ref = refs[name], name
				}
				refs[ref] = id
			}
		}
		f.remember(g)
		return nil
	})
	return refs, err
}
