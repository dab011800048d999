package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// ErrLocked says that another process holds the lock.
var ErrLocked = errors.New("held by another process")

// TryLock takes the lock that is the file at path, or says ErrLocked. The system gives it back when the
// process ends, however that comes about, so a lock that is held means a process that lives.
func TryLock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return func() { _ = file.Close() }, nil
	}
	_ = file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("lock %s: %w", path, ErrLocked)
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// Lock waits until TryLock succeeds or ctx is over.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for {
		unlock, err := TryLock(path)
		if !errors.Is(err, ErrLocked) {
			return unlock, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the lock %s: %w", path, context.Cause(ctx))
		}
	}
}
