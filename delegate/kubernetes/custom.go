package kubernetes

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// The annotations of custom resources that are waited for
// (semantics/kubernetes §6).
const (
	annotationManaged = "harness.io/managed-workload"
	annotationSteady  = "harness.io/steadyStateCondition"
	annotationFailure = "harness.io/failureCondition"
	bareFailure       = "failureCondition" // as it is documented, too
)

const kindDefinition = "CustomResourceDefinition"

// isCustom says whether an object is a custom resource that its manifest asks
// to treat as a workload.
func isCustom(o *unstructured.Unstructured) bool {
	return annotated(o, annotationManaged) && podSpecPath(o.GetKind()) == nil
}

// awaited are the objects that a rolling deployment waits for and rolls back:
// the managed workloads and the custom resources that are like them.
func awaited(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	out := managed(objects)
	for _, o := range objects {
		if isCustom(o) && !annotated(o, annotationDirectApply) {
			out = append(out, o)
		}
	}
	return out
}

// customRollout asks the resource's own conditions.
func customRollout(o *unstructured.Unstructured) (bool, string, error) {
	notes := o.GetAnnotations()
	failure := notes[annotationFailure]
	if failure == "" {
		failure = notes[bareFailure]
	}
	if failure != "" {
		failed, err := holds(failure, o)
		if err == nil && failed {
			err = fmt.Errorf("%s holds", failure)
		}
		if err != nil {
			return false, "failed", fault.New(fault.Conflict, "%s failed: its failureCondition: %w", display(o), err).Causing(fault.Unknown)
		}
	}
	if notes[annotationSteady] == "" {
		return true, "warning: has no " + annotationSteady + "; not waited for", nil
	}
	steady, err := holds(notes[annotationSteady], o)
	if err != nil {
		return false, "failed", fault.New(fault.Invalid, "%s: its steadyStateCondition: %w", display(o), err)
	}
	if !steady {
		return false, "waiting for " + notes[annotationSteady], nil
	}
	return true, "steady", nil
}

// holds evaluates a condition about a resource: "${...}", or the same without
// the brackets. What isn't there yet makes it false.
func holds(condition string, o *unstructured.Unstructured) (bool, error) {
	body := strings.TrimSpace(condition)
	if inner, ok := strings.CutPrefix(body, "${"); ok && strings.HasSuffix(inner, "}") {
		body = strings.TrimSuffix(inner, "}")
	}
	return expr.Condition(body, resourceScope{o})
}

// resourceScope is what a condition can name: "response", the resource as the
// cluster has it, and its parts such as "status".
type resourceScope struct {
	o *unstructured.Unstructured
}

// Lookup finds the resource or one of its parts.
func (s resourceScope) Lookup(path []string) (expr.Value, int, error) {
	if path[0] == "response" {
		return expr.FromAny(s.o.Object), 1, nil
	}
	if part, ok := s.o.Object[path[0]]; ok {
		return expr.FromAny(part), 1, nil
	}
	return expr.Null(), 0, expr.ErrUnknown
}

// Call knows no functor besides the pure ones.
func (resourceScope) Call(string, []expr.Value) (expr.Value, error) {
	return expr.Null(), expr.ErrUnknown
}

// How often, and how long at most, the cluster is asked for a new kind.
const (
	kindEvery = 100 * time.Millisecond
	kindLimit = 30 * time.Second
)

// define waits until the kinds that were just defined can be used: the server
// has accepted them, and it lists them.
func (a *applier) define(ctx context.Context, objects []*unstructured.Unstructured) error {
	if len(objects) == 0 || objects[0].GetKind() != kindDefinition {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, kindLimit, fault.New(fault.Unavailable, "the cluster doesn't serve the new kinds after %s", kindLimit))
	defer cancel()
	for _, o := range objects {
		if err := a.lookout.steadyOne(ctx, o, a.env.Log(unitApply)); err != nil {
			return err
		}
	}
	again := time.NewTicker(kindEvery)
	defer again.Stop()
	for _, o := range objects {
		for !a.client.serves(o) {
			select {
			case <-again.C:
			case <-ctx.Done():
				return fmt.Errorf("%s: %w", display(o), context.Cause(ctx))
			}
		}
	}
	return nil
}

// serves says whether the cluster lists the kind of a definition.
func (c *client) serves(definition *unstructured.Unstructured) bool {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		m, _ := v.(map[string]any)
		one := &unstructured.Unstructured{Object: m}
		if served, _, _ := unstructured.NestedBool(m, "served"); !served {
			continue
		}
		o := &unstructured.Unstructured{}
		o.SetAPIVersion(text(definition, "spec", "group") + "/" + text(one, "name"))
		o.SetKind(text(definition, "spec", "names", "kind"))
		if _, err := c.Mapping(o.GroupVersionKind()); err != nil {
			return false
		}
	}
	return true
}
