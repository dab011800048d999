// Package diskcache keeps folders that were fetched until nobody has used them
// for a week, so that a delegate's disk doesn't fill up.
//
// It doesn't fetch, and doesn't know what is in the folders. A folder's time
// of change says when it was used last, so that a delegate that starts again
// goes on where it was.
package diskcache

import (
	"os"
	"path/filepath"
	"time"
)

// Unused is after how much time a folder goes that nobody has used. It is far
// more than a step takes, so that none goes while somebody reads it.
const Unused = 7 * 24 * time.Hour

// Use says whether a folder is there, and that it is used now.
func Use(dir string) bool {
	now := time.Now()
	return os.Chtimes(dir, now, now) == nil
}

// Prune removes what is below a folder and wasn't used since Unused before
// now. What can't be removed takes space and harms nobody, so it is no error.
func Prune(dir string, now time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > Unused {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}
