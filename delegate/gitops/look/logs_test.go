package look

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// TestRead: what is asked of the server, and what of its answer is shown.
func TestRead(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	const log = "2026-11-23T12:00:00.1Z one\n2026-11-23T12:00:00.2Z two of them\n2026-11-23T12:00:03Z three\n"
	for name, test := range map[string]struct {
		look   protocol.Look
		status int
		body   string
		asked  string
		want   []string
		fails  string
	}{
		"all":      {asked: "container=main&limitBytes=4194304&tailLines=1000&timestamps=true", want: []string{"one", "two of them", "three"}},
		"some":     {look: protocol.Look{Tail: 5, Since: 60, Previous: true}, asked: "container=main&limitBytes=4194304&previous=true&sinceSeconds=60&tailLines=5&timestamps=true", want: []string{"one", "two of them", "three"}},
		"after":    {look: protocol.Look{After: noon.Add(150 * time.Millisecond)}, asked: "container=main&limitBytes=4194304&sinceTime=2026-11-23T12%3A00%3A00Z&timestamps=true", want: []string{"two of them", "three"}},
		"until":    {look: protocol.Look{Until: noon.Add(time.Second), Filter: "o "}, want: []string{"two of them"}},
		"too long": {body: "2026-11-23T12:00:00Z " + strings.Repeat("x", 3*mostLine) + "\n2026-11-23T12:00:01Z next\n", want: []string{strings.Repeat("x", mostLine-len("2026-11-23T12:00:00Z ")), "next"}},
		"refused":  {status: http.StatusBadRequest, body: `{"kind":"Status","message":"the container is waiting to start"}`, fails: "the container is waiting to start"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan string, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- r.URL.RawQuery
				if test.status != 0 {
					w.WriteHeader(test.status)
				}
				if test.body == "" {
					test.body = log
				}
				fmt.Fprint(w, test.body)
			}))
			t.Cleanup(server.Close)
			base, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			pod := &unstructured.Unstructured{}
			pod.SetNamespace("shop")
			pod.SetName("web-1")
			lines, err := read(t.Context(), &applying.Cluster{HTTP: server.Client(), Base: base}, pod, "main", test.look)
			if fmt.Sprint(err) != test.fails && (err != nil || test.fails != "") {
				t.Fatalf("read: %v; want %q", err, test.fails)
			}
			if query := <-asked; test.asked != "" && query != test.asked {
				t.Errorf("asked %s; want %s", query, test.asked)
			}
			var got []string
			for _, l := range lines {
				got = append(got, l.Text)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestFit: of too many lines the newest stay, but who follows misses none.
func TestFit(t *testing.T) {
	t.Parallel()
	lines := func() *protocol.Logs {
		out := &protocol.Logs{}
		for i := range 100 {
			out.Lines = append(out.Lines, protocol.Line{Pod: fmt.Sprint(i), Text: strings.Repeat("x", MostLines/50)})
		}
		return out
	}
	newest, next := lines(), lines()
	fit(newest, protocol.Look{})
	fit(next, protocol.Look{After: time.Unix(1, 0)})
	if n := len(newest.Lines); !newest.Cut || n > 50 || n < 40 || newest.Lines[n-1].Pod != "99" {
		t.Errorf("of the newest there are %d, cut %t, up to %s", n, newest.Cut, newest.Lines[n-1].Pod)
	}
	if n := len(next.Lines); !next.Cut || n > 50 || n < 40 || next.Lines[0].Pod != "0" {
		t.Errorf("of the next there are %d, cut %t, from %s", n, next.Cut, next.Lines[0].Pod)
	}
}

// TestBelow: the pods of what is chosen.
func TestBelow(t *testing.T) {
	t.Parallel()
	node := func(kind, name, parent string) protocol.Node {
		n := protocol.Node{Key: object.Key{Kind: kind, Name: name}, UID: name}
		if parent != "" {
			n.ParentRefs = []protocol.Parent{{UID: parent}}
		}
		return n
	}
	tree := protocol.Tree{Nodes: []protocol.Node{
		node("Deployment", "web", ""), node("Deployment", "db", ""), node("ReplicaSet", "web-a", "web"), node("Pod", "web-a-1", "web-a"), node("ReplicaSet", "db-a", "db"), node("Pod", "db-a-1", "db-a"),
		node("Pod", "alone", ""),
	}}
	for want, which := range map[string]protocol.Which{
		"web-a-1":              {Kind: "Deployment", Name: "web"},
		"db-a-1":               {Kind: "Pod", Name: "db-a-1"},
		"web-a-1 db-a-1 alone": {},
		"":                     {Kind: "Deployment", Name: "alone"},
	} {
		var got []string
		for _, n := range below(tree, which) {
			got = append(got, n.Name)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%+v has the pods %q; want %q", which, text, want)
		}
	}
}
