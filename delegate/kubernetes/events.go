package kubernetes

import (
	"context"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// maxEvents bounds what is logged of events while a step waits.
const maxEvents = 200

func events() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "events"}
}

// followEvents logs what happens to workloads and what is theirs until stop is
// called (semantics/kubernetes §10). It is best effort: a cluster that doesn't
// show its events is no reason to fail.
func (c *client) followEvents(ctx context.Context, workloads []*unstructured.Unstructured, log io.Writer) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var ended []chan struct{}
	for _, namespace := range namespaces(workloads) {
		res := c.Dynamic.Resource(events()).Namespace(namespace)
		now, err := res.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			continue
		}
		w, err := res.Watch(ctx, metav1.ListOptions{ResourceVersion: now.GetResourceVersion()})
		if err != nil {
			continue
		}
		done := make(chan struct{})
		ended = append(ended, done)
		go func() {
			defer close(done)
			defer w.Stop()
			logEvents(ctx, w, workloads, log)
		}()
	}
	return func() {
		cancel()
		for _, done := range ended {
			<-done
		}
	}
}

// logEvents says what is new in a watch of events.
func logEvents(ctx context.Context, w watch.Interface, workloads []*unstructured.Unstructured, log io.Writer) {
	for left := maxEvents; left > 0; {
		select {
		case <-ctx.Done():
			return
		case change, ok := <-w.ResultChan():
			if !ok {
				return
			}
			e, isObject := change.Object.(*unstructured.Unstructured)
			if !isObject || change.Type == watch.Deleted || change.Type == watch.Error || !concerns(e, workloads) {
				continue
			}
			left--
			say(log, "%s", eventText(e))
		}
	}
	say(log, "more events aren't shown")
}

// concerns says whether an event is about one of the workloads, or about what
// is theirs: such objects' names begin with the workload's.
func concerns(e *unstructured.Unstructured, workloads []*unstructured.Unstructured) bool {
	name := text(e, "involvedObject", "name")
	for _, w := range workloads {
		if name == w.GetName() || strings.HasPrefix(name, w.GetName()+"-") {
			return true
		}
	}
	return false
}

func eventText(e *unstructured.Unstructured) string {
	return "event on " + text(e, "involvedObject", "kind") + "/" + text(e, "involvedObject", "name") + ": " + text(e, "reason") + ": " + text(e, "message")
}
