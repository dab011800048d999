package session

import (
	"context"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// DefaultLimit is how much a workspace may hold, in bytes, where nobody says.
const DefaultLimit = 2 << 30

// limited is a context that ends when a workspace holds more than it may.
func (s *Sessions) limited(ctx context.Context, id string) (limited context.Context, stop func()) {
	limited, end := context.WithCancelCause(ctx)
	go func() {
		look := time.NewTicker(s.Look)
		defer look.Stop()
		for {
			select {
			case <-limited.Done():
				return
			case <-look.C:
				if err := s.fits(id); err != nil {
					end(err)
				}
			}
		}
	}()
	return limited, func() { end(nil) }
}

// fits says whether a workspace holds no more than it may. What goes while it is
// looked at doesn't count.
func (s *Sessions) fits(id string) error {
	var held int64
	_ = filepath.WalkDir(s.Workspace(id), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // see above
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			held += info.Size()
		}
		return nil
	})
	if held <= s.Limit {
		return nil
	}
	return fault.New(fault.TooLarge, "the workspace holds %d MiB; this delegate allows %d by --workspace-limit", mebibytes(held), mebibytes(s.Limit)).Causing(fault.ResourceLimitsFailure)
}

// mebibytes rounds up, so that what is too much isn't told as what is allowed.
func mebibytes(n int64) int64 { return (n + 1<<20 - 1) >> 20 }
