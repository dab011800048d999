// Package testport finds loopback addresses for programs that tests start and
// that can't listen on port 0 and say what they got.
//
// It is not for what listens in the test's own process: that asks for port 0.
package testport

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Systems give the ports from 32768 on (Linux; others from 49152) to whoever
// asks for any. One of those would soon be somebody else's: between its being
// found free and its being used, other tests open hundreds.
const (
	first = 10000
	last  = 32767
)

// Free gives some addresses ("127.0.0.1:20000") that nothing listens on. No
// other process is given one by the system, nor by Free while this one lives.
func Free(count int) ([]string, error) {
	dir := filepath.Join(os.TempDir(), "slipway-test-ports")
	if err := os.MkdirAll(dir, 0o777); err != nil { //nolint:gosec // other users test here too
		return nil, err
	}
	var (
		addresses []string
		failed    error
	)
	for range 100 * count {
		port := strconv.Itoa(first + rand.IntN(last-first+1)) //nolint:gosec // it is no secret
		if err := reserve(filepath.Join(dir, port)); err != nil {
			failed = err
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port)) //nolint:noctx // nothing waits
		if err != nil {
			failed = err
			continue
		}
		addresses = append(addresses, l.Addr().String())
		if err := l.Close(); err != nil {
			return nil, err
		}
		if len(addresses) == count {
			return addresses, nil
		}
	}
	return nil, errors.Join(errors.New("found no free port"), failed)
}

// reserve takes a port for as long as this process lives: a lock that the system
// gives back with the process, however that ends. A port that isn't free in the end
// stays taken, which others then needn't try.
func reserve(path string) error {
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT|syscall.O_CLOEXEC, 0o666)
	if err != nil {
		return err
	}
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return errors.Join(err, syscall.Close(fd))
	}
	return nil
}
