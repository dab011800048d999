package kubernetes

import (
	"context"
	"errors"
	"io"
	"net/http"

	"helm.sh/helm/v4/pkg/engine"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// maxLooked bounds what one lookup of a chart may find, in bytes.
const maxLooked = 8 << 20

// LookUp is what a chart's lookup finds in the cluster: an object, or a list
// for no name. It is Helm's own, but ends with the task and is bounded.
func (f *Foreign) LookUp(ctx context.Context, apiVersion, kind, namespace, name string) (map[string]any, error) {
	cfg, err := f.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{ctx, next} })
	found, err := engine.NewLookupFunction(cfg)(apiVersion, kind, namespace, name)
	if errors.Is(err, errLooked) {
		return nil, fault.New(fault.TooLarge, "the chart looks up %s %s: %w", apiVersion, kind, errLooked)
	}
	return found, err
}

// errLooked is an answer beyond maxLooked.
var errLooked = fault.New(fault.TooLarge, "the cluster has more than %d MiB of them", maxLooked>>20)

// bounded ends requests with a context, and answers at a bound.
type bounded struct {
	ctx context.Context //nolint:containedctx // it lives for one call
	via http.RoundTripper
}

// RoundTrip sends a request (http.RoundTripper).
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.via.RoundTrip(req.WithContext(b.ctx))
	if err == nil {
		resp.Body = &cut{resp.Body, maxLooked}
	}
	return resp, err
}

// cut is a body that breaks at a bound.
type cut struct {
	io.ReadCloser
	left int
}

// Read reads what is within the bound.
func (c *cut) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.left -= n; c.left < 0 {
		return 0, errLooked
	}
	return n, err
}

// TryToRead reads a manifest as it will be read, in a sandbox: one that takes
// too much memory is then found out where it harms nobody. What is wrong with
// it otherwise is its reader's to say.
func TryToRead(manifest string) { _, _ = parse("the chart", manifest) }
