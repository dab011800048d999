package send

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// errGuarded is the error of an address that no message goes to.
var errGuarded = errors.New("messages aren't sent to such an address")

// transport reaches what a guard lets through. It looks at the address that is
// dialled, after names have been resolved, so no name can stand for another.
func transport(inside bool) *http.Transport {
	dialer := net.Dialer{Timeout: each, Control: func(_, address string, _ syscall.RawConn) error { return guard(address, inside) }}
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
		return fmt.Errorf("%w: %q", errGuarded, address)
	}
	ip := at.Addr().Unmap()
	switch {
	case ip.IsLinkLocalUnicast() || ip.WithZone("") == netip.MustParseAddr("fd00:ec2::254"):
		return fmt.Errorf("%w: %s is for this machine's cloud", errGuarded, ip)
	case !inside && (ip.IsLoopback() || ip.IsUnspecified()):
		return fmt.Errorf("%w: %s is this machine", errGuarded, ip)
	}
	return nil
}
