package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/textdiff"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// undoManager owns the fields that an undo brought back, until the next apply
// takes them over.
const undoManager = manager + "-undo"

// annotationUndone notes which step has brought back a workload's pod template.
// The next apply removes it.
const annotationUndone = "harness.io/undone-by"

// labelTemplate is what a Deployment's controller adds to the template of a
// ReplicaSet.
const labelTemplate = "pod-template-hash"

// revision is an earlier state of a workload, as the cluster keeps it: a
// ReplicaSet of a Deployment, a ControllerRevision of the others.
type revision struct {
	number int64
	cause  string
	object *unstructured.Unstructured
}

// revisions lists those of a workload, the oldest first.
func (c *client) revisions(ctx context.Context, w *unstructured.Unstructured) ([]revision, error) {
	kept := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "controllerrevisions"}
	if w.GetKind() == "Deployment" {
		kept.Resource = "replicasets"
	}
	selector, _, _ := unstructured.NestedStringMap(w.Object, "spec", "selector", "matchLabels")
	list, err := applying.ListAll(ctx, c.Dynamic.Resource(kept).Namespace(w.GetNamespace()), metav1.ListOptions{
		LabelSelector: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: selector}),
	})
	if err != nil {
		return nil, applying.About(w, applying.Classify(err))
	}
	var out []revision
	for i := range list {
		o := &list[i]
		owner := metav1.GetControllerOf(o)
		if owner == nil || owner.UID != w.GetUID() {
			continue
		}
		r := revision{cause: o.GetAnnotations()[annotationCause], object: o}
		if w.GetKind() == "Deployment" {
			r.number, _ = strconv.ParseInt(o.GetAnnotations()[applying.AnnotationRevision], 10, 64)
		} else {
			r.number, _ = number(o, "revision")
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b revision) int { return int(a.number - b.number) })
	return out, nil
}

// showHistory tells of the revisions, or of one with its pod template.
func (k *kubectl) showHistory(ctx context.Context, w *unstructured.Unstructured, log io.Writer) error {
	all, err := k.client.revisions(ctx, w)
	if err != nil {
		return err
	}
	if want := k.applier.flags.Revision; want > 0 {
		r, err := find(w, all, want)
		if err != nil {
			return err
		}
		template, _, _ := unstructured.NestedMap(r.object.Object, templatePath(w)...)
		doc, err := applying.YAML(template)
		if err != nil {
			return err
		}
		say(log, "%s with revision %d:", display(w), want)
		for _, line := range textdiff.Lines(doc) {
			say(log, "%s", line)
		}
		return nil
	}
	for _, r := range all {
		cause := r.cause
		if cause == "" {
			cause = "no cause recorded"
		}
		say(log, "%s: revision %d: %s", display(w), r.number, cause)
	}
	return nil
}

// templatePath is where a revision has the pod template.
func templatePath(w *unstructured.Unstructured) []string {
	if w.GetKind() == "Deployment" {
		return []string{"spec", "template"}
	}
	return []string{"data", "spec", "template"}
}

func find(w *unstructured.Unstructured, all []revision, want int64) (revision, error) {
	i := slices.IndexFunc(all, func(r revision) bool { return r.number == want })
	if i < 0 {
		return revision{}, fault.New(fault.NotFound, "%s has no revision %d", display(w), want)
	}
	return all[i], nil
}

// undo gives a workload the pod template of an earlier revision; 0 is the one
// before the newest. What an earlier try of this step has brought back is the
// newest by now, under a number of its own.
func (k *kubectl) undo(ctx context.Context, w *unstructured.Unstructured, to int64, log io.Writer) error {
	if w.GetAnnotations()[annotationUndone] == k.author() {
		say(log, "%s has gone back in an earlier try of this step", display(w))
		return nil
	}
	all, err := k.client.revisions(ctx, w)
	if err != nil {
		return err
	}
	if to == 0 {
		if len(all) < 2 {
			return fault.New(fault.Conflict, "%s has no earlier revision to go back to", display(w)).Causing(fault.Unknown)
		}
		to = all[len(all)-2].number
	}
	r, err := find(w, all, to)
	if err != nil {
		return err
	}
	template, _, _ := unstructured.NestedMap(r.object.Object, templatePath(w)...)
	delete(template, "$patch")
	unstructured.RemoveNestedField(template, "metadata", "labels", labelTemplate)
	now, _, _ := unstructured.NestedMap(w.Object, "spec", "template")
	if equality.Semantic.DeepEqual(template, now) {
		say(log, "%s has the pod template of revision %d already", display(w), to)
		return nil
	}
	var ops []map[string]any
	if len(w.GetAnnotations()) == 0 {
		ops = append(ops, map[string]any{"op": "add", "path": "/metadata/annotations", "value": map[string]any{}})
	}
	ops = append(ops,
		map[string]any{"op": "add", "path": "/metadata/annotations/" + strings.ReplaceAll(annotationUndone, "/", "~1"), "value": k.author()},
		map[string]any{"op": "replace", "path": "/spec/template", "value": template})
	patch, err := json.Marshal(ops)
	if err != nil {
		return fmt.Errorf("encode the pod template: %w", err)
	}
	res, err := k.client.Resource(w)
	if err != nil {
		return err
	}
	changed, err := res.Patch(applying.Repeatable(ctx), w.GetName(), types.JSONPatchType, patch, k.changeOptions(undoManager))
	if err != nil {
		return applying.About(w, applying.Classify(err))
	}
	k.lookout.past.note(changed)
	say(log, "%s goes back to revision %d", display(w), to)
	return nil
}
