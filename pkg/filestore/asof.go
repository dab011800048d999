package filestore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// asOf reads files as they were at a moment. A reference that meant nothing
// then means what it means now: files that a stage itself saves can be used in
// it.
type asOf struct {
	store.Files
	at func() time.Time
}

// AsOf gives the files as they were at a moment, so that all who ask for that
// moment see the same; with the zero Time, as they are. The moment is asked for
// only if files are.
func AsOf(files store.Files, at func() time.Time) store.Files { return asOf{files, at} }

// File is what was known of one.
func (a asOf) File(ctx context.Context, key ref.File) (store.File, error) {
	at := a.at()
	now, err := a.Files.File(ctx, key)
	if at.IsZero() || err == nil && !now.UpdatedAt.After(at) || err != nil && !fault.Is(err, fault.NotFound) {
		return now, err
	}
	past, failed := a.PastFiles(ctx, key, at)
	if failed != nil {
		return store.File{}, failed
	}
	for _, f := range past {
		if f.Key == key {
			return f, nil
		}
	}
	return now, err
}

// FileContent is one as it was, with its content then.
func (a asOf) FileContent(ctx context.Context, key ref.File) (store.File, []byte, error) {
	f, err := a.File(ctx, key)
	if err != nil {
		return store.File{}, nil, err
	}
	if f.Until.IsZero() {
		now, content, err := a.Files.FileContent(ctx, key)
		if err != nil && !fault.Is(err, fault.NotFound) || err == nil && now.Version == f.Version && now.UpdatedAt.Equal(f.UpdatedAt) {
			return now, content, err
		}
		if f, err = a.File(ctx, key); err != nil || f.Until.IsZero() { // it was changed since it was looked for
			return now, content, err
		}
	}
	content, err := a.PastContent(ctx, f)
	return f, content, err
}

// ListFiles lists the files that were in a folder, all on one page.
func (a asOf) ListFiles(ctx context.Context, folder ref.File, page store.Page) ([]store.File, string, error) {
	at := a.at()
	if at.IsZero() {
		return a.Files.ListFiles(ctx, folder, page)
	}
	var now, then []store.File
	for page = (store.Page{Limit: 500}); len(now) <= 2*MaxFolder; {
		part, next, err := a.Files.ListFiles(ctx, folder, page)
		if err != nil {
			return nil, "", err
		}
		now = append(now, part...)
		if page.Token = next; next == "" {
			break
		}
	}
	past, err := a.PastFiles(ctx, folder, at)
	if err != nil {
		return nil, "", err
	}
	for _, f := range past {
		if f.Key != folder {
			then = append(then, f)
		}
	}
	for _, f := range now {
		if !f.UpdatedAt.After(at) {
			then = append(then, f)
		}
	}
	if len(then) == 0 {
		return now, "", nil
	}
	slices.SortFunc(then, func(x, y store.File) int { return strings.Compare(x.Key.Path, y.Key.Path) })
	return slices.CompactFunc(then, func(x, y store.File) bool { return x.Key == y.Key }), "", nil
}
