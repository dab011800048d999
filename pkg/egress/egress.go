// Package egress reaches addresses that users write from the machine of the
// control plane itself, without being led to what is for that machine alone.
//
// What is asked there is the caller's: pkg/notify/send's, and that of pkg/login/oidc
// and its neighbours.
// Delegates reach what their own machine does, and don't use it.
package egress

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// ErrGuarded is wrapped by the error of an address that nothing goes to.
var ErrGuarded = errors.New("nothing is sent to such an address")

// Client reaches what a guard lets through, within a time for each request. It
// looks at the address that is dialled, after names have been resolved, so no
// name can stand for another, and follows no redirect. Without inside, this
// machine's own addresses are refused too, as where a function's runtime listens.
func Client(inside bool, each time.Duration) *http.Client {
	return &http.Client{
		Transport: transport(inside, each), Timeout: each,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Dialer is what reaches no more than a Client does.
func Dialer(inside bool, each time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: each, Control: func(_, address string, _ syscall.RawConn) error { return guard(address, inside) }}
}

func transport(inside bool, each time.Duration) *http.Transport {
	dialer := Dialer(inside, each)
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: each, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute,
	}
}

// guard refuses the addresses of cloud metadata, which hand out credentials:
// they are link-local, but for one of AWS's. Without inside it refuses this
// machine's own ones too.
func guard(address string, inside bool) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q", ErrGuarded, address)
	}
	ip := at.Addr().Unmap()
	switch {
	case ip.IsLinkLocalUnicast() || ip.WithZone("") == netip.MustParseAddr("fd00:ec2::254"):
		return fmt.Errorf("%w: %s is for this machine's cloud", ErrGuarded, ip)
	case !inside && (ip.IsLoopback() || ip.IsUnspecified()):
		return fmt.Errorf("%w: %s is this machine", ErrGuarded, ip)
	}
	return nil
}
