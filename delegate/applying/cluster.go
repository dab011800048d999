package applying

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"

	"github.com/slipway-cd/slipway/delegate/address"
	"github.com/slipway-cd/slipway/delegate/clusteraccess"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Clusters keeps what speaks to each cluster, so that a delegate discovers a
// cluster's kinds once and re-uses connections. The zero value is ready.
type Clusters struct {
	mu    sync.Mutex
	known map[string]*Cluster
}

// Cluster speaks to one cluster with one set of credentials. It may be used side
// by side.
type Cluster struct {
	Config  *rest.Config
	Dynamic dynamic.Interface
	Kinds   discovery.CachedDiscoveryInterface
	Mapper  *restmapper.DeferredDiscoveryRESTMapper
	// HTTP and Base are for what isn't an object: the logs of pods.
	HTTP *http.Client
	Base *url.URL
	// Checked are the kinds, as schema.GroupVersionKind, whose fields the API
	// server is known to check by itself.
	Checked sync.Map
}

// maxClients bounds the memory that clusters' kinds take, some 2 MB each.
const maxClients = 32

// Get gives what speaks to a cluster; nothing is sent yet.
func (c *Clusters) Get(cluster task.Cluster) (*Cluster, error) {
	doc, err := json.Marshal(cluster) //nolint:gosec // only its hash is kept
	if err != nil {
		return nil, fmt.Errorf("encode the cluster's access: %w", err)
	}
	sum := sha256.Sum256(doc)
	key := hex.EncodeToString(sum[:])
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.known[key]; known != nil {
		return known, nil
	}
	made, err := Connect(cluster)
	if err != nil {
		return nil, err
	}
	if c.known == nil || len(c.known) >= maxClients {
		c.known = map[string]*Cluster{}
	}
	c.known[key] = made
	return made, nil
}

// Connect prepares to speak to a cluster; nothing is sent yet.
func Connect(cluster task.Cluster) (*Cluster, error) {
	cfg, err := config(cluster)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the cluster's access: %w", err)
	}
	return Open(cfg)
}

// Open is Connect for whom a cluster isn't described by a task.
func Open(cfg *rest.Config) (*Cluster, error) {
	cfg.QPS, cfg.UserAgent = -1, "slipway-delegate" // as many requests as come: the API server's own fairness protects it
	heard := new(atomic.Bool)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return patient{next, heard} })
	httpClient, d, err := clients(cfg)
	if err != nil {
		return nil, err
	}
	asker, err := discovery.NewDiscoveryClientForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make a discovery client: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the cluster's access: %w", err)
	}
	kinds := memory.NewMemCacheClient(asker)
	return &Cluster{
		Config: cfg, Dynamic: d, Kinds: kinds, Mapper: restmapper.NewDeferredDiscoveryRESTMapper(kinds), HTTP: httpClient, Base: base,
	}, nil
}

// clients are those that reach a cluster, of which the second one uses the first.
func clients(cfg *rest.Config) (*http.Client, *dynamic.DynamicClient, error) {
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, nil, fault.New(fault.Invalid, "the cluster's access: %w", err)
	}
	d, err := dynamic.NewForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, nil, fmt.Errorf("make a client: %w", err)
	}
	return httpClient, d, nil
}

// As speaks to the cluster as one of its users, if the cluster lets it. What kinds there
// are is known from who it is itself.
func (c *Cluster) As(user string) (*Cluster, error) {
	cfg := rest.CopyConfig(c.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user}
	httpClient, d, err := clients(cfg)
	if err != nil {
		return nil, err
	}
	return &Cluster{Config: cfg, Dynamic: d, Kinds: c.Kinds, Mapper: c.Mapper, HTTP: httpClient, Base: c.Base}, nil
}

// config is how a cluster is reached (semantics/kubernetes §2).
func config(c task.Cluster) (*rest.Config, error) {
	if c.Inherit {
		if cfg, err := rest.InClusterConfig(); err == nil {
			return cfg, nil
		}
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
		if clientcmd.IsEmptyConfig(err) {
			return nil, fault.New(fault.Invalid, "the connector inherits the delegate's access to its cluster, and this delegate has none: it runs in no cluster, and there is no kubeconfig "+
				"(looked in %s). Set KUBECONFIG where the delegate (or slipway serve) is started, give it a service account, or name the cluster in the connector by ManualConfig",
				strings.Join(rules.GetLoadingPrecedence(), ", ")).Causing(fault.Authentication)
		}
		return cfg, err
	}
	if c.Cloud != nil {
		// The host is for messages; the transport knows the address.
		return &rest.Config{Host: "https://cluster", Transport: clusteraccess.New(*c.Cloud, nil)}, nil
	}
	if _, err := address.Web("masterUrl", c.URL); err != nil {
		return nil, err
	}
	return &rest.Config{
		Host: c.URL, BearerToken: c.Token, Username: c.Username, Password: c.Password,
		TLSClientConfig: rest.TLSClientConfig{
			CAData: []byte(c.CAPEM), CertData: []byte(c.ClientCertPEM), KeyData: []byte(c.ClientKeyPEM),
			Insecure: c.Unchecked(),
		},
	}, nil
}

// Requests is how requests are sent to a cluster's API by its address, for who asks
// it something else than the package does: over base, to which the cluster's
// certificates are added, through what over makes of it.
func Requests(c task.Cluster, base *http.Transport, over func(http.RoundTripper) http.RoundTripper) (address string, via http.RoundTripper, err error) {
	cfg, err := config(c)
	if err != nil {
		return "", nil, err
	}
	how, err := cfg.TransportConfig()
	if err != nil {
		return "", nil, fault.New(fault.Invalid, "the cluster's access: %w", err)
	}
	if base.TLSClientConfig, err = transport.TLSConfigFor(how); err != nil {
		return "", nil, fault.New(fault.Invalid, "the cluster's access: %w", err)
	}
	if cfg.Proxy != nil {
		base.Proxy = cfg.Proxy
	}
	if via, err = transport.HTTPWrappersForConfig(how, over(base)); err != nil {
		return "", nil, fault.New(fault.Invalid, "the cluster's access: %w", err)
	}
	at, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return "", nil, fault.New(fault.Invalid, "the cluster's access: %w", err)
	}
	return strings.TrimSuffix(at.String(), "/"), via, nil
}

// ErrNoKind says that nothing in the cluster can be of a kind.
var ErrNoKind = errors.New("the cluster has no kind")

// Mapping finds the resource of a kind. A kind that isn't known may have been
// added since, so the cluster is asked once more.
func (c *Cluster) Mapping(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	m, err := c.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		c.Mapper.Reset()
		m, err = c.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if meta.IsNoMatchError(err) {
		return nil, fault.New(fault.Invalid, "%w %s in %s", ErrNoKind, gvk.Kind, gvk.GroupVersion())
	}
	return m, Classify(err)
}

// Resource is the endpoint of an object.
func (c *Cluster) Resource(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	m, err := c.Mapping(o.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.Dynamic.Resource(m.Resource).Namespace(o.GetNamespace()), nil
	}
	return c.Dynamic.Resource(m.Resource), nil
}
