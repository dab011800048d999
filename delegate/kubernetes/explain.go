package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/textdiff"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// What is read to explain a failure.
const (
	explained    = 5  // pods of a workload, and events
	lastLines    = 10 // of a container that ended
	maxLastLines = 4 << 10
	explainTime  = 5 * time.Second
)

// because puts the reasons that were found before an error, whose code stays.
func because(reasons []string, err error) error {
	const told = 2
	if len(reasons) == 0 {
		return err
	}
	if more := len(reasons) - told; more > 0 {
		reasons = append(slices.Clone(reasons[:told]), fmt.Sprintf("%d more reasons are in the log", more))
	}
	why := strings.Join(reasons, "; ")
	var coded *fault.Error
	if errors.As(err, &coded) {
		return fault.New(coded.Code, "%s; %w", why, err).Causing(coded.Failures...)
	}
	return fmt.Errorf("%s; %w", why, err)
}

// explain says in the log why workloads that failed aren't ready: what the
// controller can't do, what their containers wait for, the last lines of those
// that ended, and the newest warnings. It gives the reasons, the plainest first.
func (l *lookout) explain(ctx context.Context, workloads []*unstructured.Unstructured, unit string) []string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), explainTime)
	defer cancel()
	log := l.env.LogError(unit)
	var reasons []string
	for _, w := range workloads {
		live, err := l.client.Get(ctx, w)
		if err != nil || live == nil {
			continue
		}
		if done, _, err := rollout(live); done && err == nil {
			continue
		}
		reasons = append(reasons, l.client.explainOne(ctx, live, log)...)
	}
	l.client.explainEvents(ctx, workloads, log)
	return reasons
}

// explainOne explains one workload. Pods that have the same trouble are
// counted in the reasons; the log names each.
func (c *client) explainOne(ctx context.Context, w *unstructured.Unstructured, log io.Writer) []string {
	var reasons []string
	if told := condition(w, "ReplicaFailure"); told["status"] == "True" {
		reasons = append(reasons, fmt.Sprintf("%s can't make its pods: %s", display(w), told["message"]))
		say(log, "%s", reasons[0])
	}
	seen := map[string]int{}
	var order []string
	for _, p := range c.podsOf(ctx, w) {
		for _, t := range troubles(p) {
			say(log, "pod %s: %s", p.GetName(), t.what)
			if t.ended {
				c.lastWords(ctx, p, t, log)
			}
			if seen[t.what]++; seen[t.what] == 1 {
				order = append(order, t.what)
			}
		}
	}
	for _, what := range order {
		pods := "1 pod"
		if seen[what] > 1 {
			pods = fmt.Sprintf("%d pods", seen[what])
		}
		if w.GetKind() == "Pod" {
			pods = "the container"
		}
		reasons = append(reasons, fmt.Sprintf("%s of %s: %s", pods, display(w), what))
	}
	return reasons
}

// explainEvents says the newest warnings about workloads and what is theirs.
func (c *client) explainEvents(ctx context.Context, workloads []*unstructured.Unstructured, log io.Writer) {
	var found []unstructured.Unstructured
	for _, namespace := range namespaces(workloads) {
		list, err := c.Dynamic.Resource(events()).Namespace(namespace).List(ctx, metav1.ListOptions{FieldSelector: "type=Warning", Limit: 200})
		if err == nil {
			found = append(found, list.Items...)
		}
	}
	found = slices.DeleteFunc(found, func(e unstructured.Unstructured) bool { return !concerns(&e, workloads) })
	slices.SortFunc(found, func(a, b unstructured.Unstructured) int {
		return strings.Compare(text(&b, "lastTimestamp"), text(&a, "lastTimestamp"))
	})
	for _, e := range found[:min(len(found), explained)] {
		say(log, "%s", eventText(&e))
	}
}

// podsOf lists the pods that a workload selects, the newest first; a pod is
// its own.
func (c *client) podsOf(ctx context.Context, w *unstructured.Unstructured) []*unstructured.Unstructured {
	if w.GetKind() == "Pod" { // such as a hook
		return []*unstructured.Unstructured{w}
	}
	selector, _, _ := unstructured.NestedStringMap(w.Object, selectorOf(w)...)
	if len(selector) == 0 {
		return nil
	}
	var out []*unstructured.Unstructured
	_, err := applying.List(ctx, c.Dynamic.Resource(pods()).Namespace(w.GetNamespace()), metav1.ListOptions{
		LabelSelector: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: selector}),
	}, func(p *unstructured.Unstructured) {
		at, _ := slices.BinarySearchFunc(out, p, func(a, b *unstructured.Unstructured) int {
			return b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time)
		})
		out = slices.Insert(out, at, p)
		out = out[:min(len(out), explained)]
	})
	if err != nil {
		return nil
	}
	return out
}

// trouble is a reason for which a pod isn't ready.
type trouble struct {
	what      string
	container string
	ended     bool // the container ran and ended, so its log tells more
	previous  bool // it has been started again since
}

// troubles are the reasons for which a pod isn't ready.
func troubles(pod *unstructured.Unstructured) []trouble {
	var out []trouble
	for _, key := range []string{"initContainerStatuses", "containerStatuses"} {
		list, _, _ := unstructured.NestedSlice(pod.Object, "status", key)
		for _, item := range list {
			m, _ := item.(map[string]any)
			if t, ok := troubleOf(&unstructured.Unstructured{Object: m}); ok {
				out = append(out, t)
			}
		}
	}
	if len(out) > 0 {
		return out
	}
	if c := condition(pod, "PodScheduled"); c["status"] == "False" {
		return []trouble{{what: "no node takes it: " + c["message"]}}
	}
	if c := condition(pod, "Ready"); c["status"] != "True" {
		return []trouble{{what: strings.TrimSpace("isn't ready: " + c["reason"] + " " + c["message"])}}
	}
	return nil
}

// troubleOf reads one container's status.
func troubleOf(c *unstructured.Unstructured) (trouble, bool) {
	t := trouble{container: text(c, "name")}
	waits := text(c, "state", "waiting", "reason")
	code, ended := number(c, "state", "terminated", "exitCode")
	reason := text(c, "state", "terminated", "reason")
	if !ended {
		code, ended = number(c, "lastState", "terminated", "exitCode")
		reason, t.previous = text(c, "lastState", "terminated", "reason"), ended
	}
	t.ended = ended
	switch {
	case slices.Contains([]string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"}, waits):
		t.what = fmt.Sprintf("container %s can't get its image %s: %s: %s", t.container, text(c, "image"), waits, text(c, "state", "waiting", "message"))
	case ended && code != 0:
		t.what = fmt.Sprintf("container %s ended with exit code %d (%s)", t.container, code, reason)
		if restarts, _ := number(c, "restartCount"); restarts > 0 {
			t.what += fmt.Sprintf(" and was restarted %d times", restarts)
		}
		if waits != "" {
			t.what += ": " + waits
		}
	case waits != "" && waits != "ContainerCreating" && waits != "PodInitializing":
		t.what = strings.TrimSpace(fmt.Sprintf("container %s waits: %s %s", t.container, waits, text(c, "state", "waiting", "message")))
	default:
		return t, false
	}
	return t, true
}

// lastWords copies the end of the log of a container that ended. What can't
// be read is left out.
func (c *client) lastWords(ctx context.Context, pod *unstructured.Unstructured, t trouble, log io.Writer) {
	query := url.Values{"container": {t.container}, "tailLines": {fmt.Sprint(lastLines)}, "limitBytes": {fmt.Sprint(maxLastLines)}}
	if t.previous {
		query.Set("previous", "true")
	}
	place := c.Base.JoinPath("api", "v1", "namespaces", pod.GetNamespace(), "pods", pod.GetName(), "log")
	place.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, place.String(), nil)
	if err != nil {
		return
	}
	answer, err := c.HTTP.Do(r)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	doc, err := io.ReadAll(io.LimitReader(answer.Body, maxLastLines))
	if err != nil || answer.StatusCode != http.StatusOK {
		return
	}
	for _, line := range textdiff.Lines(string(doc)) {
		say(log, "pod %s, container %s: %s", pod.GetName(), t.container, line)
	}
}
