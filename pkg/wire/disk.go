package wire

import (
	"fmt"
	"syscall"
)

// disk tells how much room there is where a folder is, for who isn't root.
func disk(folder string) func() (free, total int64, err error) {
	return func() (free, total int64, err error) {
		var s syscall.Statfs_t
		if err := syscall.Statfs(folder, &s); err != nil {
			return 0, 0, fmt.Errorf("ask for the room in %s: %w", folder, err)
		}
		return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize), nil //nolint:gosec,unconvert // disks are smaller; the types differ by system
	}
}
