package applying

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// What a delegate reads of a cluster's answers, unpacked. A cluster is
// somebody else's: what it answers mustn't take the memory of all other tasks.
const (
	// maxAnswer is for one answer: an object, a page of a list, what the
	// cluster knows of its API. The API of a cluster with a thousand kinds takes
	// some 30 MiB; a log, which is followed, has as much.
	maxAnswer = 64 << 20
	// maxListed is for all pages of a list: some 10,000 pods.
	maxListed = 128 << 20
	// maxEvent is for one event of a watch, which has one object: etcd takes
	// none of more than 1.5 MiB by default.
	maxEvent = 8 << 20
	// pageSize is how many objects are asked for at once.
	pageSize = 500
)

// errAnswer is of answers beyond a bound.
var errAnswer = errors.New("the cluster answers with more than is read")

// tooMuch names the request whose answer has more than a bound.
func tooMuch(req *http.Request, what string, most int64) error {
	return fault.New(fault.TooLarge, "%w: %s of %s %s has more than %d MiB", errAnswer, what, req.Method, req.URL.Path, most>>20).Causing(fault.ResourceLimitsFailure)
}

// listing is what one list may still bring, and how its last page ended.
type listing struct{ left atomic.Int64 }

type listingKey struct{}

// room is how much the answer to a request may have.
func room(req *http.Request) (most int64, l *listing) {
	l, _ = req.Context().Value(listingKey{}).(*listing)
	if l == nil {
		return maxAnswer, nil
	}
	return min(maxAnswer, l.left.Load()), l
}

// readAnswer reads an answer to its end.
func readAnswer(req *http.Request, body io.Reader) ([]byte, error) {
	most, l := room(req)
	doc, err := io.ReadAll(io.LimitReader(body, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the answer was cut off: %w", err)
	case int64(len(doc)) > most && most < maxAnswer:
		return nil, tooMuch(req, "the list", maxListed)
	case int64(len(doc)) > most:
		return nil, tooMuch(req, "the answer", maxAnswer)
	}
	if l != nil {
		l.left.Add(-int64(len(doc)))
	}
	return doc, nil
}

// List passes the objects of a list, page by page, and gives its version. Of a
// page that has too much a smaller one is asked for.
func List(ctx context.Context, of dynamic.ResourceInterface, opts metav1.ListOptions, each func(*unstructured.Unstructured)) (version string, err error) {
	l := &listing{}
	l.left.Store(maxListed)
	ctx = context.WithValue(ctx, listingKey{}, l)
	for opts.Limit = pageSize; ; {
		page, err := of.List(ctx, opts)
		if errors.Is(err, errAnswer) && opts.Limit > 1 && l.left.Load() > maxAnswer {
			opts.Limit = max(1, opts.Limit/8)
			continue
		}
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			each(&page.Items[i])
		}
		if opts.Continue = page.GetContinue(); opts.Continue == "" {
			return page.GetResourceVersion(), nil
		}
	}
}

// ListAll is List for who needs all objects at once.
func ListAll(ctx context.Context, of dynamic.ResourceInterface, opts metav1.ListOptions) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	_, err := List(ctx, of, opts, func(o *unstructured.Unstructured) { all = append(all, *o) })
	return all, err
}

// streamed is the body of an answer that has no end of its own: it breaks at
// an event, or a log, of more than its bound. The error is for whoever reads
// the body, and for the context's watching, as a watch tells only that it ended.
type streamed struct {
	io.ReadCloser
	req    *http.Request
	what   string
	most   int64
	events bool // the bound is for each
	shape  shape
	had    int64
}

// Read reads what is within the bound.
func (s *streamed) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	for _, c := range p[:n] {
		if s.had++; s.had > s.most {
			err := tooMuch(s.req, s.what, s.most)
			if w, ok := s.req.Context().Value(watchingKey{}).(*watching); ok {
				w.broke.Store(&err)
			}
			return 0, err
		}
		if s.events && s.shape.ends(c) {
			s.had = 0
		}
	}
	return n, err
}

// shape follows the nesting of JSON values that come one after the other.
type shape struct {
	deep            int
	quoted, escaped bool
}

// ends says whether a byte is the last one of a value, or between two.
func (s *shape) ends(c byte) bool {
	switch {
	case s.escaped:
		s.escaped = false
	case s.quoted && c == '\\':
		s.escaped = true
	case c == '"':
		s.quoted = !s.quoted
	case s.quoted:
	case c == '{' || c == '[':
		s.deep++
	case c == '}' || c == ']':
		s.deep--
	}
	return s.deep <= 0 && !s.quoted
}

// watching is why a watch broke.
type watching struct{ broke atomic.Pointer[error] }

type watchingKey struct{}

// Watching makes a context for a watch. why says, once the watch has ended,
// whether that is for an event of more than is read.
func Watching(ctx context.Context) (of context.Context, why func() error) {
	w := &watching{}
	return context.WithValue(ctx, watchingKey{}, w), func() error {
		if err := w.broke.Load(); err != nil {
			return *err
		}
		return nil
	}
}

// bound gives the body of an answer without an end its bound.
func bound(req *http.Request, resp *http.Response) {
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
	case strings.Contains(resp.Header.Get("Content-Type"), "protobuf"): // whoever decodes its frames bounds them, to 16 MiB
	case strings.HasSuffix(req.URL.Path, "/log"):
		resp.Body = &streamed{ReadCloser: resp.Body, req: req, what: "the log", most: maxAnswer}
	default:
		resp.Body = &streamed{ReadCloser: resp.Body, req: req, what: "an event", most: maxEvent, events: true}
	}
}
