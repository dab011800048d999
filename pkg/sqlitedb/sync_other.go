//go:build !linux

package sqlitedb

import "os"

// dataSync brings a file's content to the disk.
func dataSync(f *os.File) error { return f.Sync() }
