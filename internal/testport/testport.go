// Package testport finds loopback addresses for programs that tests start and
// that can't listen on port 0 and say what they got.
//
// It is not for what listens in the test's own process: that asks for port 0.
package testport

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// Systems give the ports from 32768 on (Linux; others from 49152) to whoever
// asks for any. One of those would soon be somebody else's: between its being
// found free and its being used, other tests open hundreds.
const (
	first = 10000
	last  = 32767
)

// Free gives some addresses ("127.0.0.1:20000") that nothing listens on. No
// other process is given one by the system; that another looks for the same at
// the same moment is as good as excluded.
func Free(count int) ([]string, error) {
	var (
		addresses []string
		failed    error
	)
	for range 100 * count {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(last-first+1)))) //nolint:gosec,noctx // it is no secret, and nothing waits
		if err != nil {
			failed = err
			continue
		}
		defer func() { _ = l.Close() }() // all at the end, so that they differ
		if addresses = append(addresses, l.Addr().String()); len(addresses) == count {
			return addresses, nil
		}
	}
	return nil, errors.Join(errors.New("found no free port"), failed)
}
