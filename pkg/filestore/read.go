package filestore

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// Text is the content of a file, for an expression or a script;
// fault.TooLarge if it has more than most bytes.
func Text(ctx context.Context, files store.Files, key ref.File, most int64) (string, error) {
	known, content, err := files.FileContent(ctx, key)
	switch {
	case fault.Is(err, fault.NotFound):
		return "", fault.New(fault.NotFound, "the file store has no file %s", key)
	case err != nil:
		return "", err
	case known.Size > most:
		return "", fault.New(fault.TooLarge, "file %s has %d bytes; the limit here is %d", key, known.Size, most)
	}
	return string(content), nil
}

// Exists says whether a reference means anything: a file, or a folder.
func Exists(ctx context.Context, files store.Files, of ref.File) (bool, error) {
	if of.Path != "/" {
		_, err := files.File(ctx, of)
		if err == nil || !fault.Is(err, fault.NotFound) {
			return err == nil, err
		}
	}
	within, _, err := files.ListFiles(ctx, of, store.Page{Limit: 1})
	return len(within) > 0, err
}

// Under lists what a reference means: the file itself, or all files of the
// folder and of those in it, by path.
func Under(ctx context.Context, files store.Files, of ref.File) ([]store.File, error) {
	if of.Path != "/" {
		one, err := files.File(ctx, of)
		if err == nil {
			return []store.File{one}, nil
		}
		if !fault.Is(err, fault.NotFound) {
			return nil, err
		}
	}
	var all []store.File
	for page := (store.Page{Limit: 500}); ; {
		part, next, err := files.ListFiles(ctx, of, page)
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
		if len(all) > MaxFolder {
			return nil, fault.New(fault.TooLarge, "folder %s has more than %d files; name one further in", of, MaxFolder)
		}
		if page.Token = next; next == "" {
			break
		}
	}
	if len(all) == 0 {
		return nil, fault.New(fault.NotFound, "the file store has no file or folder %s", of)
	}
	return all, nil
}

// What one answer carries at most, besides its first file.
const (
	partFiles = 100
	partBytes = MaxFile
)

// Part gives the contents of what a reference means, from the file behind the
// path after on, as many as one answer may carry.
func Part(ctx context.Context, files store.Files, of ref.File, after string) (protocol.FilesRead, error) {
	all, err := Under(ctx, files, of)
	if err != nil {
		return protocol.FilesRead{}, err
	}
	var out protocol.FilesRead
	var size int64
	for _, f := range all {
		if f.Key.Path <= after {
			continue
		}
		if n := len(out.Files); n == partFiles || n > 0 && size+f.Size > partBytes {
			out.Next = out.Files[n-1].Path
			break
		}
		known, content, err := files.FileContent(ctx, f.Key)
		if fault.Is(err, fault.NotFound) {
			continue // deleted since it was listed
		}
		if err != nil {
			return protocol.FilesRead{}, err
		}
		size += known.Size
		out.Files = append(out.Files, task.StoredFile{Path: f.Key.Path, Name: of.Of(f.Key.Path), Content: content})
	}
	return out, nil
}
