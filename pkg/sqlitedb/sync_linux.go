package sqlitedb

import (
	"errors"
	"os"
	"syscall"
)

// dataSync brings a file's content to the disk, and of what is known of it
// only what is needed to read that.
func dataSync(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
