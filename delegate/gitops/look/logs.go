package look

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

const (
	// mostPods is how many pods' logs are read side by side.
	mostPods = 10
	// MostLines bounds the lines of an answer, mostLine one line, and mostLog what is
	// read of a container.
	MostLines = 512 << 10
	mostLine  = 16 << 10
	mostLog   = 4 << 20
	// usualTail is how many lines of a container there are if nobody says.
	usualTail = 1000
)

// Logs reads those of the pods of a tree that are chosen, or are below what is.
func Logs(ctx context.Context, c *applying.Cluster, t protocol.Tree, q protocol.Look) (protocol.Logs, error) {
	pods := below(t, q.Which)
	out := protocol.Logs{Lines: []protocol.Line{}, Pods: min(len(pods), mostPods), Omitted: max(0, len(pods)-mostPods)}
	if len(pods) == 0 {
		return out, fault.New(fault.NotFound, "the application has no such object with pods")
	}
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(mostPods)
	for _, p := range pods[:out.Pods] {
		g.Go(func() error {
			o, err := c.Get(ctx, applying.Named(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, p.Key))
			if err != nil || o == nil {
				return err // one that has gone meanwhile has none
			}
			for _, name := range containersOf(o, q.Container) {
				lines, err := read(ctx, c, o, name, q)
				mu.Lock()
				out.Lines = append(out.Lines, lines...)
				if err != nil && ctx.Err() == nil {
					out.Notices = append(out.Notices, fmt.Sprintf("pod %s, container %s: %s", o.GetName(), name, err))
				}
				mu.Unlock()
			}
			return ctx.Err()
		})
	}
	err := g.Wait()
	slices.Sort(out.Notices)
	slices.SortStableFunc(out.Lines, func(a, b protocol.Line) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Pod, b.Pod)) })
	fit(&out, q)
	return out, err
}

// fit leaves out the lines for which there is no room: the oldest, or the newest of
// those that come after others that somebody has.
func fit(l *protocol.Logs, q protocol.Look) {
	size := 0
	count := func(one protocol.Line) bool {
		size += len(one.Text) + len(one.Pod) + len(one.Container) + len(`{"timeStamp":"2026-01-01T00:00:00.000000000Z","podName":"","container":"","content":""},`)
		return size > MostLines
	}
	if !q.After.IsZero() {
		if i := slices.IndexFunc(l.Lines, count); i >= 0 {
			l.Lines, l.Cut = l.Lines[:i], true
		}
		return
	}
	for i := len(l.Lines) - 1; i >= 0; i-- {
		if count(l.Lines[i]) {
			l.Lines, l.Cut = l.Lines[i+1:], true
			return
		}
	}
}

// below are the pods that are chosen themselves, or by what owns them.
func below(t protocol.Tree, which protocol.Which) []protocol.Node {
	chosen := map[string]bool{}
	var out []protocol.Node
	for _, n := range t.Nodes { // owners come first
		in := which.Has(n.Key)
		for _, p := range n.ParentRefs {
			in = in || chosen[p.UID]
		}
		if chosen[n.UID] = in; in && n.Kind == "Pod" && n.Group == "" && n.UID != "" {
			out = append(out, n)
		}
	}
	return out
}

func containersOf(pod *unstructured.Unstructured, only string) []string {
	var out []string
	for _, list := range []string{"initContainers", "containers"} {
		for _, one := range containers(pod, "spec", list) {
			if name, _ := one["name"].(string); only == name || only == "" && list == "containers" {
				out = append(out, name)
			}
		}
	}
	return out
}

// read reads the log of a container.
func read(ctx context.Context, c *applying.Cluster, pod *unstructured.Unstructured, container string, q protocol.Look) ([]protocol.Line, error) {
	query := url.Values{"container": {container}, "timestamps": {"true"}, "limitBytes": {strconv.Itoa(mostLog)}}
	if q.Previous {
		query.Set("previous", "true")
	}
	switch {
	case !q.After.IsZero():
		query.Set("sinceTime", q.After.UTC().Format(time.RFC3339)) // to the second, as servers have it
	case q.Since > 0:
		query.Set("sinceSeconds", strconv.FormatInt(q.Since, 10))
	}
	if q.After.IsZero() || q.Tail > 0 {
		query.Set("tailLines", strconv.FormatInt(cmp.Or(q.Tail, usualTail), 10))
	}
	place := c.Base.JoinPath("api", "v1", "namespaces", pod.GetNamespace(), "pods", pod.GetName(), "log")
	place.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, place.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("ask for the log: %w", err)
	}
	answer, err := c.HTTP.Do(r)
	if err != nil {
		return nil, fmt.Errorf("ask for the log: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, refusal(answer)
	}
	var out []protocol.Line
	lines := bufio.NewReaderSize(io.LimitReader(answer.Body, mostLog), mostLine)
	for {
		text, more, err := lines.ReadLine()
		if err != nil {
			return out, nil //nolint:nilerr // what came is shown
		}
		at, content, _ := strings.Cut(string(text), " ")
		for more && err == nil { // the rest of a line that is too long
			_, more, err = lines.ReadLine()
		}
		stamp, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			content = string(text)
		}
		late := !q.After.IsZero() && !stamp.After(q.After)
		if late || !q.Until.IsZero() && stamp.After(q.Until) || !strings.Contains(content, q.Filter) {
			continue
		}
		out = append(out, protocol.Line{At: stamp, Pod: pod.GetName(), Container: container, Text: strings.ToValidUTF8(content, "\uFFFD")})
	}
}

// refusal is what a server says of a log that it doesn't give.
func refusal(answer *http.Response) error {
	var s metav1.Status
	doc, err := io.ReadAll(io.LimitReader(answer.Body, mostLine))
	if err == nil && json.Unmarshal(doc, &s) == nil && s.Message != "" {
		return fault.New(fault.Conflict, "%s", s.Message)
	}
	return fault.New(fault.Unavailable, "the API server answered %s", answer.Status)
}
