package applying

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// talkative makes the client of a cluster that answers as a test says.
func talkative(t *testing.T, answer http.HandlerFunc) *Cluster {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	c, err := Connect(task.Cluster{URL: server.URL})
	check(t, err)
	return c
}

func core(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: resource}
}

// padded is a JSON object of so many bytes, between whose quotes the rest is.
func padded(size int, head, tail string) []byte {
	return []byte(head + strings.Repeat("x", size-len(head)-len(tail)) + tail)
}

// wantRefused checks an error that names the request and the bound; none for fits.
func wantRefused(t *testing.T, err error, fits bool, words ...string) {
	t.Helper()
	if fits {
		if err != nil {
			t.Errorf("at the bound: %v", err)
		}
		return
	}
	if fault.CodeOf(err) != fault.TooLarge {
		t.Fatalf("past the bound: %v; want TOO_LARGE", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q isn't in: %v", w, err)
		}
	}
}

// An answer is read up to a bound: of an object, and of what the cluster says
// of its API.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	const head, tail = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"large"},"data":{"a":"`, `"}}`
	for _, more := range []int{0, 1} {
		asked := 0
		c := talkative(t, func(w http.ResponseWriter, r *http.Request) {
			asked++
			if strings.HasPrefix(r.URL.Path, "/openapi") || r.URL.Path == "/version" {
				_, _ = w.Write(padded(maxAnswer+more, `{"gitVersion":"`, `"}`))
				return
			}
			_, _ = w.Write(padded(maxAnswer+more, head, tail))
		})
		_, err := c.Dynamic.Resource(core("secrets")).Namespace("n").Get(t.Context(), "large", metav1.GetOptions{})
		wantRefused(t, Classify(err), more == 0, "the answer of GET /api/v1/namespaces/n/secrets/large has more than 64 MiB")
		if asked != 1 {
			t.Errorf("it was asked for %d times", asked)
		}
		_, err = c.Kinds.ServerVersion()
		wantRefused(t, Classify(err), more == 0, "GET /version has more than 64 MiB")
	}
}

// A list is read page by page, up to a bound for all of them. Of a page that is
// too large a smaller one is asked for.
func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	const (
		pages = maxListed / (16 << 20)
		tail  = `"}}]}`
	)
	for _, more := range []int{0, 1} {
		largest := 0
		c := talkative(t, func(w http.ResponseWriter, r *http.Request) {
			limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
			page, _ := strconv.Atoi(r.URL.Query().Get("continue"))
			size, next := maxListed/pages, fmt.Sprint(page+1)
			if largest = max(largest, limit); limit > 1 {
				size = maxAnswer + 1
			}
			if page == pages-1 {
				size, next = size+more, ""
			}
			_, _ = w.Write(padded(size, fmt.Sprintf(`{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"7","continue":%q},"items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p%d"},"spec":{"a":"`, next, page), tail))
		})
		found := 0
		version, err := List(t.Context(), c.Dynamic.Resource(core("pods")).Namespace("n"), metav1.ListOptions{}, func(*unstructured.Unstructured) { found++ })
		wantRefused(t, err, more == 0, "the list of GET /api/v1/namespaces/n/pods has more than 128 MiB")
		if largest != pageSize {
			t.Errorf("the first page was asked for with the limit %d", largest)
		}
		if more == 0 && (found != pages || version != "7") {
			t.Errorf("the list has %d objects, version %q", found, version)
		}
	}
}

// An event of a watch is read up to a bound, however many there are, and so is
// a log.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	const head, tail = `{"type":"MODIFIED","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","annotations":{"a":"\"}{`, `"}}}}`
	for _, more := range []int{0, 1} {
		c := talkative(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/log") {
				_, _ = w.Write(padded(maxAnswer+more, "", ""))
				return
			}
			for range 3 {
				_, _ = w.Write(padded(maxEvent-1, head, tail+"\n"))
			}
			_, _ = w.Write(padded(maxEvent+more, head, tail))
		})
		ctx, why := Watching(t.Context())
		w, err := c.Dynamic.Resource(core("pods")).Namespace("n").Watch(ctx, metav1.ListOptions{})
		check(t, err)
		events := 0
		for e := range w.ResultChan() {
			if e.Type == watch.Modified {
				events++
			}
		}
		wantRefused(t, why(), more == 0, "an event of GET /api/v1/namespaces/n/pods has more than 8 MiB")
		if events != 4-more {
			t.Errorf("%d events came", events)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.Base.JoinPath("api/v1/namespaces/n/pods/p/log").String(), nil)
		check(t, err)
		resp, err := c.HTTP.Do(req)
		check(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		check(t, resp.Body.Close())
		wantRefused(t, err, more == 0, "the log of GET /api/v1/namespaces/n/pods/p/log has more than 64 MiB")
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
