//go:build unix

package gitfetch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// aloneEvery is how often it is looked whether another process has ended.
const aloneEvery = 100 * time.Millisecond

// alone waits until no other process works in a folder, such as a delegate of
// the same name that is about to stop. A process that is killed holds nothing.
// Where the file system knows no such locks, nobody is waited for.
func alone(ctx context.Context, dir string) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the cache of repositories: %w", err)
	}
	folder, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open the cache of repositories: %w", err)
	}
	release = func() { _ = folder.Close() } // it was only locked
	again := time.NewTicker(aloneEvery)
	defer again.Stop()
	for {
		err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return release, nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			release()
			return nil, context.Cause(ctx)
		}
	}
}
