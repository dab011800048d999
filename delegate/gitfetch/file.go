package gitfetch

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// File reads the one file that g names; fault.TooLarge if it has more than
// most bytes. It never follows a link out of the repository.
func (f *Fetcher) File(ctx context.Context, g task.Git, stage string, most int64) ([]byte, error) {
	if len(g.Paths) != 1 {
		return nil, fault.New(fault.Invalid, "%s: found %d paths; want that of one file", g.URL, len(g.Paths))
	}
	got, err := f.Fetch(ctx, g, stage)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(got.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the commit: %w", err)
	}
	defer func() { _ = root.Close() }() // it was only read
	path := g.Paths[0]
	file, err := root.Open(filepath.FromSlash(strings.TrimPrefix(path, "/")))
	if err != nil {
		return nil, fault.New(fault.NotFound, "%s at commit %s has no file %s", g.URL, got.Commit, path)
	}
	defer func() { _ = file.Close() }() // likewise
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	switch {
	case err != nil:
		return nil, fault.New(fault.Invalid, "%s at commit %s: %s can't be read as a file", g.URL, got.Commit, path)
	case int64(len(content)) > most:
		return nil, fault.New(fault.TooLarge, "%s at commit %s: file %s has more than %d bytes", g.URL, got.Commit, path, most)
	}
	return content, nil
}
