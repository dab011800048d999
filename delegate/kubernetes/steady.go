package kubernetes

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// deadlineExceeded is the reason with which a Deployment gives up.
const deadlineExceeded = "ProgressDeadlineExceeded"

// steady waits until every workload has rolled out, all side by side; the
// first that fails ends the wait (kubernetes spec §10).
func (s *session) steady(ctx context.Context, workloads []*unstructured.Unstructured) error {
	if s.p.SkipSteadyState || len(workloads) == 0 {
		return nil
	}
	log := s.env.Log(unitSteady)
	g, waitCtx := errgroup.WithContext(ctx)
	for _, w := range workloads {
		g.Go(func() error { return s.steadyOne(waitCtx, w, log) })
	}
	err := g.Wait()
	if err == nil {
		return nil
	}
	s.explain(ctx, workloads)
	return err
}

// steadyOne follows one workload and logs its progress, where it is news.
func (s *session) steadyOne(ctx context.Context, w *unstructured.Unstructured, log io.Writer) error {
	last := ""
	err := s.watchOne(ctx, w, func(live *unstructured.Unstructured) (bool, error) {
		if live == nil {
			return false, fault.New(fault.NotFound, "%s was deleted while it rolled out", display(w))
		}
		done, progress, err := rollout(s.past.without(live))
		if progress != last {
			last = progress
			say(log, "%s: %s", display(live), progress)
		}
		return done, err
	})
	if err != nil && ctx.Err() != nil { // what was still missing when the time was up
		return fmt.Errorf("%s isn't steady yet (%s): %w", display(w), last, context.Cause(ctx))
	}
	return err
}

// explained bounds what is read to explain a failure.
const explained = 5

// explain says in the log why pods of workloads that failed aren't ready:
// what their containers wait for and the newest warnings.
func (s *session) explain(ctx context.Context, workloads []*unstructured.Unstructured) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	log := s.env.LogError(unitSteady)
	for _, w := range workloads {
		live, err := s.get(ctx, w)
		if err != nil || live == nil {
			continue
		}
		if done, _, err := rollout(live); done && err == nil {
			continue
		}
		for _, p := range s.podsOf(ctx, live) {
			for _, line := range troubles(p) {
				say(log, "pod %s: %s", p.GetName(), line)
			}
		}
	}
	s.explainEvents(ctx, workloads, log)
}

// explainEvents says the newest warnings about workloads and what is theirs:
// such objects' names begin with the workload's.
func (s *session) explainEvents(ctx context.Context, workloads []*unstructured.Unstructured, log io.Writer) {
	var events []unstructured.Unstructured
	for _, namespace := range namespaces(workloads) {
		list, err := s.client.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "events"}).Namespace(namespace).
			List(ctx, metav1.ListOptions{FieldSelector: "type=Warning", Limit: 200})
		if err == nil {
			events = append(events, list.Items...)
		}
	}
	events = slices.DeleteFunc(events, func(e unstructured.Unstructured) bool {
		about := text(&e, "involvedObject", "name")
		return !slices.ContainsFunc(workloads, func(w *unstructured.Unstructured) bool {
			return about == w.GetName() || strings.HasPrefix(about, w.GetName()+"-")
		})
	})
	slices.SortFunc(events, func(a, b unstructured.Unstructured) int {
		return strings.Compare(text(&b, "lastTimestamp"), text(&a, "lastTimestamp"))
	})
	for _, e := range events[:min(len(events), explained)] {
		say(log, "event on %s/%s: %s: %s", text(&e, "involvedObject", "kind"), text(&e, "involvedObject", "name"), text(&e, "reason"), text(&e, "message"))
	}
}

// namespaces lists those that objects are in.
func namespaces(objects []*unstructured.Unstructured) []string {
	var out []string
	for _, o := range objects {
		if n := o.GetNamespace(); n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// podsOf lists the pods that a workload selects, the newest first.
func (s *session) podsOf(ctx context.Context, w *unstructured.Unstructured) []*unstructured.Unstructured {
	selector, _, _ := unstructured.NestedStringMap(w.Object, "spec", "selector", "matchLabels")
	if len(selector) == 0 {
		return nil
	}
	list, err := s.client.dynamic.Resource(pods()).Namespace(w.GetNamespace()).List(ctx, metav1.ListOptions{
		LabelSelector: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: selector}),
	})
	if err != nil {
		return nil
	}
	out := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int {
		return b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time)
	})
	return out[:min(len(out), explained)]
}

// troubles are the reasons for which a pod's containers don't run.
func troubles(pod *unstructured.Unstructured) []string {
	var out []string
	for _, key := range []string{"initContainerStatuses", "containerStatuses"} {
		list, _, _ := unstructured.NestedSlice(pod.Object, "status", key)
		for _, item := range list {
			m, _ := item.(map[string]any)
			c := &unstructured.Unstructured{Object: m}
			name := text(c, "name")
			if reason := text(c, "state", "waiting", "reason"); reason != "" {
				out = append(out, fmt.Sprintf("container %s waits: %s %s", name, reason, text(c, "state", "waiting", "message")))
			}
			if code, ok := number(c, "lastState", "terminated", "exitCode"); ok {
				out = append(out, fmt.Sprintf("container %s ended before with exit code %d: %s", name, code, text(c, "lastState", "terminated", "reason")))
			}
		}
	}
	if c := condition(pod, "Ready"); len(out) == 0 && c["status"] != "True" {
		out = append(out, "isn't ready: "+c["reason"]+" "+c["message"])
	}
	return out
}
