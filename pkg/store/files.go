package store

import (
	"path"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// File is what is known of a file of the file store besides its content
// (semantics/entities §10.1). Folders aren't kept: one is there while files
// are in it.
type File struct {
	Key       ref.File
	Version   int64  // 1 for the first save
	Size      int64  // in bytes
	Hash      string // of the content: SHA-256, in hexadecimal digits
	UpdatedBy string
	CreatedAt time.Time
	UpdatedAt time.Time
	Until     time.Time // of a past version: when another took its place, or it was deleted; else zero
}

// PastFilesKept is how long past versions of files are kept: that is how long
// a stage sees the files as they were when its first step began.
const PastFilesKept = 30 * 24 * time.Hour

// FileKind is the kind of Entity.Refs that stand for files and folders of the
// file store, whose ID is the path. There are no entities of it.
const FileKind ref.Kind = "file"

// FileTarget is how a document that names a file or a folder refers to it.
func FileTarget(f ref.File) EntityKey { return EntityKey{Scope: f.Scope, Kind: FileKind, ID: f.Path} }

// FileTargets are all names by which a document may mean a file: its own, and
// those of the folders that it is in.
func FileTargets(f ref.File) []EntityKey {
	out := []EntityKey{FileTarget(f)}
	for f.Path != "/" {
		f.Path = path.Dir(f.Path)
		out = append(out, FileTarget(f))
	}
	return out
}

// Named is the detail of fault.Referenced that says who names a target.
func Named(who string, target EntityKey) fault.Detail {
	what := "it"
	if target.Kind == FileKind {
		what = target.ID // the file's, or a folder's around it
	}
	return fault.Detail{Severity: "error", Message: who + " names " + what}
}
