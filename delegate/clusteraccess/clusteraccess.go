// Package clusteraccess reaches clusters through their clouds: it asks EKS,
// GKE, AKS or Rancher where a cluster's API is and what to say there
// (semantics/kubernetes §2), and asks again before that has run out.
//
// It knows nothing of Kubernetes but the form of a kubeconfig: what is said to
// a cluster is delegate/kubernetes's, which sends it over a Transport.
package clusteraccess

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// access is how a cluster is reached for a while.
type access struct {
	url     string
	token   string
	ca      []byte // PEM; empty: the system's
	cert    []byte // PEM, with key: instead of a token
	key     []byte
	expires time.Time
}

// Transport sends requests to a cluster's API, wherever it is. Only the path
// and the query of a request's URL count. It is for many goroutines.
type Transport struct {
	cluster task.CloudCluster
	cloud   http.RoundTripper // to the cloud
	now     func() time.Time

	mu   sync.Mutex
	open *opened
}

// opened is an access in use.
type opened struct {
	access

	base      *url.URL
	transport *http.Transport
}

// New makes a Transport. Requests to the cloud itself are sent over t; nil is
// net/http's default.
func New(cluster task.CloudCluster, t http.RoundTripper) *Transport {
	return &Transport{cluster: cluster, cloud: t, now: time.Now}
}

// early is how long before its end an access is asked for anew.
const early = time.Minute

// current is the access in use, or a new one.
func (t *Transport) current(ctx context.Context) (*opened, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open != nil && t.now().Before(t.open.expires.Add(-early)) {
		return t.open, nil
	}
	a, err := t.ask(ctx)
	if err != nil {
		return nil, fault.Wrap(err, "%s", t.cluster)
	}
	fresh, err := connect(a)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s: %w", t.cluster, err)
	}
	if t.open != nil {
		t.open.transport.CloseIdleConnections()
	}
	t.open = fresh
	return fresh, nil
}

// ask asks the cloud.
func (t *Transport) ask(ctx context.Context) (access, error) {
	switch c := t.cluster; {
	case c.EKS != nil:
		return eks(ctx, *c.EKS, t.cloud, t.now())
	case c.GKE != nil:
		return gke(ctx, *c.GKE, t.cloud, t.now())
	case c.AKS != nil:
		return aks(ctx, *c.AKS, t.cloud, t.now())
	case c.Rancher != nil:
		return rancher(ctx, *c.Rancher, t.cloud, t.now())
	}
	return access{}, fault.New(fault.Unsupported, "the cluster's cloud isn't known to this delegate; it may be older than the control plane")
}

func connect(a access) (*opened, error) {
	base, err := url.Parse(a.url)
	if err != nil || base.Host == "" {
		return nil, fault.New(fault.Invalid, "its API's address is %q; want a URL", a.url)
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(a.ca) > 0 {
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(a.ca) {
			return nil, fault.New(fault.Invalid, "its certificate authority isn't PEM")
		}
	}
	if len(a.cert) > 0 {
		pair, err := tls.X509KeyPair(a.cert, a.key)
		if err != nil {
			return nil, fault.New(fault.Invalid, "its client certificate can't be used")
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // net/http documents it
	transport.TLSClientConfig = cfg
	return &opened{access: a, base: base, transport: transport}, nil
}

// RoundTrip sends a request to the cluster (http.RoundTripper).
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	o, err := t.current(req.Context())
	if err != nil {
		return nil, err
	}
	out := req.Clone(req.Context())
	out.URL.Scheme, out.URL.Host, out.Host = o.base.Scheme, o.base.Host, o.base.Host
	out.URL.Path = strings.TrimSuffix(o.base.Path, "/") + req.URL.Path
	out.URL.RawPath = ""
	if o.token != "" {
		out.Header.Set("Authorization", "Bearer "+o.token)
	}
	return o.transport.RoundTrip(out)
}
