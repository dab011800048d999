package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task/probe"
)

// network sends requests and notes how the connection of each came about: the
// first to each host.
type network struct {
	via      http.RoundTripper
	exam     *exam
	patience time.Duration
	// unchecked says that hosts' certificates aren't looked at.
	unchecked bool

	mu   sync.Mutex
	seen map[string]bool // by scheme and host
}

func newNetwork(cfg Config, x *exam) *network {
	n := &network{via: cfg.Via, exam: x, patience: cfg.Patience, seen: map[string]bool{}}
	if n.via == nil {
		n.via = fresh(cfg.Patience)
	}
	return n
}

// fresh is a transport that keeps no connection: what others have opened proves
// nothing.
func fresh(patience time.Duration) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // net/http documents it
	t.DisableKeepAlives = true
	t.DialContext = (&net.Dialer{Timeout: patience}).DialContext
	t.TLSHandshakeTimeout, t.ResponseHeaderTimeout = patience, patience
	return t
}

// over is the network with another transport beneath it.
func (n *network) over(t http.RoundTripper) *network {
	return &network{via: t, exam: n.exam, patience: n.patience, seen: map[string]bool{}}
}

// RoundTrip sends a request (http.RoundTripper). An error is noted, and nobody
// need try again.
func (n *network) RoundTrip(req *http.Request) (*http.Response, error) {
	c := &connection{patience: n.patience, target: req.URL.Host, unchecked: n.unchecked}
	if proxy, err := http.ProxyFromEnvironment(req); err == nil && proxy != nil {
		c.proxy = proxy.Host
	}
	resp, err := n.via.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), c.trace())))
	if first := n.first(req.URL); first || err != nil {
		c.tell(n.exam, err, first)
	}
	if err != nil {
		return nil, fault.New(fault.Unavailable, "%w", err).Causing(fault.Connectivity)
	}
	return resp, nil
}

func (n *network) first(u *url.URL) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := u.Scheme + "://" + u.Host
	seen := n.seen[key]
	n.seen[key] = true
	return !seen
}

// connection is what was seen of one: the last, if there were several.
type connection struct {
	patience time.Duration
	target   string // the host that is meant; empty: the one that is connected to
	proxy    string // that is connected to in its place
	// unchecked says that the host's certificate isn't looked at.
	unchecked bool

	mu sync.Mutex
	seen
}

// seen is what happened, and how long after the beginning.
type seen struct {
	host      string // with the port
	begun     time.Time
	looking   bool // for the address
	addresses []string
	resolved  time.Duration
	dialing   string // the last address that was tried
	reached   string // the one that answered
	dialed    time.Duration
	shaking   bool
	shaken    time.Duration
	trusted   bool
	got       bool
}

// trace has the connection told of what happens.
func (c *connection) trace() *httptrace.ClientTrace {
	at := func(f func(since time.Duration)) {
		c.mu.Lock()
		defer c.mu.Unlock()
		f(time.Since(c.begun))
	}
	return &httptrace.ClientTrace{
		GetConn: func(hostPort string) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.seen = seen{host: usual(hostPort), begun: time.Now()}
		},
		DNSStart: func(httptrace.DNSStartInfo) { at(func(time.Duration) { c.looking = true }) },
		DNSDone: func(i httptrace.DNSDoneInfo) {
			at(func(since time.Duration) {
				c.resolved = since
				for _, a := range i.Addrs {
					c.addresses = append(c.addresses, a.String())
				}
			})
		},
		ConnectStart: func(_, addr string) { at(func(time.Duration) { c.dialing = addr }) },
		ConnectDone: func(_, addr string, err error) {
			at(func(since time.Duration) {
				if err == nil {
					c.reached, c.dialed = addr, since
				}
			})
		},
		TLSHandshakeStart: func() { at(func(time.Duration) { c.shaking = true }) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			at(func(since time.Duration) { c.trusted, c.shaken = err == nil, since })
		},
		GotConn: func(httptrace.GotConnInfo) { at(func(time.Duration) { c.got = true }) },
	}
}

// tell notes the checks: all of them, or only the one that failed.
func (c *connection) tell(x *exam, err error, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.target != "" {
		c.host = c.target
	}
	name := c.stuck(err)
	note := func(check probe.CheckName, took time.Duration, format string, args ...any) {
		if all && (name == "" || order(check) < order(name)) {
			x.add(probe.Check{Name: check, OK: true, Message: fmt.Sprintf(format, args...), Took: took.Milliseconds()}, probe.Success)
		}
	}
	by := ""
	if c.proxy != "" {
		by = " by the proxy " + c.proxy
	}
	if c.looking {
		note(probe.CheckResolve, c.resolved, "%s is %s", cmpHost(c.proxy, c.host), strings.Join(c.addresses, ", "))
	}
	if c.reached != "" {
		note(probe.CheckReach, c.dialed-c.resolved, "%s takes connections%s", c.reached, by)
	}
	switch {
	case !c.shaking:
	case c.unchecked:
		note(probe.CheckTLS, c.shaken-c.dialed, "%s has a certificate, which isn't checked: the connector has no credentials that somebody could take", c.host)
	default:
		note(probe.CheckTLS, c.shaken-c.dialed, "%s has a certificate that this delegate trusts", c.host)
	}
	if name != "" {
		x.add(probe.Check{Name: name, Message: c.explain(name, err), Took: time.Since(c.begun).Milliseconds()}, probe.Failure)
	}
	x.mu.Lock()
	x.since = time.Now()
	x.mu.Unlock()
}

// order is that in which checks are made.
func order(name probe.CheckName) int {
	for i, n := range []probe.CheckName{probe.CheckResolve, probe.CheckReach, probe.CheckTLS, probe.CheckAnswer} {
		if n == name {
			return i
		}
	}
	return -1
}

func cmpHost(proxy, host string) string {
	if proxy != "" {
		host = proxy
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		return host
	}
	return name
}

// stuck is the check at which the connection failed; empty if it didn't.
func (c *connection) stuck(err error) probe.CheckName {
	switch {
	case err == nil:
		return ""
	case c.got:
		return probe.CheckAnswer
	case c.shaking && !c.trusted:
		return probe.CheckTLS
	case c.looking && len(c.addresses) == 0:
		return probe.CheckResolve
	case c.dialing != "" && c.reached == "":
		return probe.CheckReach
	}
	return probe.CheckReach
}

// explain says what is wrong, and what to do.
func (c *connection) explain(name probe.CheckName, err error) string {
	slow := errors.Is(err, context.DeadlineExceeded) || isTimeout(err)
	switch name { //nolint:exhaustive // the others need a connection
	case probe.CheckResolve:
		return fmt.Sprintf("the name %s isn't known where the delegate runs (%s); correct the URL, or the delegate's DNS", cmpHost(c.proxy, c.host), cause(err))
	case probe.CheckReach:
		return c.unreached(err, slow)
	case probe.CheckTLS:
		return c.untrusted(err, slow)
	}
	switch {
	case slow:
		return fmt.Sprintf("%s takes connections but gives no answer in %s; it may be overloaded, or the port may be that of something else", c.host, c.patience)
	case strings.Contains(err.Error(), "malformed HTTP"):
		return fmt.Sprintf("%s doesn't speak HTTP: %s", c.host, cause(err))
	}
	return fmt.Sprintf("%s ends the connection without an answer: %s", c.host, cause(err))
}

func (c *connection) unreached(err error, slow bool) string {
	at := c.dialing
	if at == "" {
		at = c.host
	}
	if c.proxy != "" {
		at += ", the proxy,"
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("nothing listens at %s (connection refused); correct the URL and its port, or start what should be there", at)
	case slow:
		return fmt.Sprintf("nothing answers at %s in %s; a firewall may stand between it and the delegate: let it pass, or name a delegate in that network by delegateSelectors", at, c.patience)
	}
	return fmt.Sprintf("%s can't be reached from the delegate: %s", at, cause(err))
}

func (c *connection) untrusted(err error, slow bool) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown):
		return fmt.Sprintf("the certificate of %s is of an authority that this delegate doesn't trust; give the delegate that authority's certificate (SSL_CERT_FILE in its environment; a K8sCluster's is caCertRef), or correct the host's", c.host)
	case errors.As(err, &name):
		return fmt.Sprintf("the certificate of %s is for another name (%s); use the name that it is for", c.host, strings.Join(name.Certificate.DNSNames, ", "))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("the certificate of %s isn't valid at this time: it is from %s until %s; renew it, or set the delegate's clock", c.host,
			invalid.Cert.NotBefore.UTC().Format(time.RFC3339), invalid.Cert.NotAfter.UTC().Format(time.RFC3339))
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Sprintf("%s doesn't speak TLS at this port; the URL may have to begin with http://, or to have another port", c.host)
	case slow:
		return fmt.Sprintf("%s takes connections but shows no certificate in %s; the port may be that of something else", c.host, c.patience)
	}
	return fmt.Sprintf("no safe connection to %s: %s", c.host, cause(err))
}

// usual is a host with its port, without that of HTTPS.
func usual(hostPort string) string { return strings.TrimSuffix(hostPort, ":443") }

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// cause is the innermost of an error's texts that says something: what is around
// it repeats addresses.
func cause(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		return dns.Err
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return err.Error()
}
