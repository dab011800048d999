package reconcile

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/gitops/live"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/syncing"
)

// target is what an application is to be at some revisions.
type target struct {
	key       string // of the rendering
	sources   []gitops.Source
	revisions []string
	can       abilities // of the cluster that it was rendered for
	objects   []wanted  // hooks among them, in the order of their keys
	index     map[object.Key]int
	defines   map[schema.GroupKind]bool // kinds that it brings: whether they are namespaced
	notices   []gitops.Condition
	left      []gitops.Condition // of them: what is told of objects that are left out
	// partings are the bodies of its hooks of a deletion.
	partings []json.RawMessage
	// unstable are JSON pointers to what is another text in each rendering.
	unstable map[object.Key][]string
}

// unload lets go of the bodies, which are most of what an application takes.
func (t *target) unload() {
	if t != nil {
		for i := range t.objects {
			t.objects[i].body = nil
		}
	}
}

func (t *target) loaded() bool { return len(t.objects) == 0 || t.objects[0].body != nil }

// wanted is one object of a target.
type wanted struct {
	key     object.Key
	version string // of its kind
	hash    live.Hash
	hook    bool
	// generateName is the beginning of the name of a hook that has none.
	generateName string
	defines      string            // the kind, as group/Kind, that it defines
	notes        map[string]string // its annotations
	shows        shows
	body         *unstructured.Unstructured
}

func (w *wanted) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: w.key.Group, Version: w.version, Kind: w.key.Kind}
}

// find gives an object that is no hook.
func (t *target) find(k object.Key) *wanted {
	if t == nil {
		return nil
	}
	i, ok := t.index[k]
	if !ok {
		return nil
	}
	return &t.objects[i]
}

func (t *target) kinds() map[schema.GroupKind]bool {
	out := map[schema.GroupKind]bool{}
	if t != nil {
		for i := range t.objects {
			out[t.objects[i].gvk().GroupKind()] = true
		}
	}
	return out
}

// prepare makes of what was rendered what is applied (semantics/gitops §4 and §6):
// without what is the server's, in its namespace, and marked as the application's.
func (a *app) prepare(namespace string, objects []*unstructured.Unstructured) (*target, error) {
	excluded, parting := map[string]int{}, 0
	t := &target{index: map[object.Key]int{}, defines: map[schema.GroupKind]bool{}, partings: []json.RawMessage{}}
	for _, o := range objects {
		if group, kind, ok := strings.Cut(defines(o), "/"); ok {
			scope, _, _ := unstructured.NestedString(o.Object, "spec", "scope")
			t.defines[schema.GroupKind{Group: group, Kind: kind}] = scope != "Cluster"
		}
	}
	for _, rendered := range objects {
		o := rendered.DeepCopy()
		notes := o.GetAnnotations()
		phases, hook := syncing.Hooks(notes)
		if hook && len(phases) == 0 && notes[object.AnnotationHook] == "Skip" {
			continue
		}
		clean(o, a.docs.Settings.Status)
		gvk := o.GroupVersionKind()
		if a.excluded(gvk.Group, gvk.Kind) {
			excluded[gvk.Kind]++
			continue
		}
		namespaced, known, err := a.site.namespaced(gvk)
		if err != nil {
			return nil, err
		}
		if own, defined := t.defines[gvk.GroupKind()]; !known && defined {
			namespaced = own
		}
		switch {
		case !namespaced:
			o.SetNamespace("")
		case o.GetNamespace() == "":
			o.SetNamespace(namespace)
		}
		k := object.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
		if k.Namespace == "" && namespaced {
			return nil, fmt.Errorf("%s %s names no namespace, and neither does the destination of the application", k.Kind, k.Name)
		}
		a.mark(o, k)
		doc, err := o.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", describe(k), err)
		}
		if hook && len(syncing.DeletionHooks(notes)) > 0 {
			if parting += len(doc); parting > maxPartings {
				return nil, fault.New(fault.Invalid, "the hooks PreDelete and PostDelete take more than %d bytes, which is as much as an agent keeps of them", maxPartings)
			}
			t.partings = append(t.partings, doc)
		}
		sum := sha256.Sum256(doc)
		t.objects = append(t.objects, wanted{
			key: k, version: gvk.Version, hash: live.Hash(binary.BigEndian.Uint64(sum[:])), hook: hook, notes: notes, shows: showsOf(o), body: o, generateName: o.GetGenerateName(), defines: defines(o),
		})
	}
	if len(excluded) > 0 {
		var kinds []string
		for kind, n := range excluded {
			kinds = append(kinds, fmt.Sprintf("%d of %s", n, kind))
		}
		slices.Sort(kinds)
		t.left = append(t.left, gitops.Condition{Type: gitops.ConditionExcludedResource, Message: "the settings resource.exclusions and resource.inclusions leave out " + strings.Join(kinds, ", ")})
	}
	slices.SortStableFunc(t.objects, func(a, b wanted) int {
		return compareKeys(a.key, b.key)
	})
	for i := range t.objects {
		if !t.objects[i].hook {
			t.index[t.objects[i].key] = i
		}
	}
	return t, nil
}

// excluded says whether objects of a kind are none of the agent's matter.
func (a *app) excluded(group, kind string) bool {
	return a.docs.Settings.Excluded(group, kind, a.bounds.at.Server)
}

// defines is the kind, as group/Kind, that an object defines; empty: none.
func defines(o *unstructured.Unstructured) string {
	if o.GetKind() != "CustomResourceDefinition" {
		return ""
	}
	group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
	return group + "/" + kind
}

// mark writes on an object whose it is.
func (a *app) mark(o *unstructured.Unstructured, k object.Key) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[object.LabelAgent] = a.r.cfg.Agent
	o.SetLabels(labels)
	notes := o.GetAnnotations()
	if notes == nil {
		notes = map[string]string{}
	}
	if k.Name != "" {
		notes[object.AnnotationTracking] = object.TrackingID(a.key.tracked(), k)
	}
	o.SetAnnotations(notes)
}

// clean takes what is the server's, and the status of those kinds whose status counts
// for nothing (settings.Settings).
func clean(o *unstructured.Unstructured, status string) {
	if status == "" || status == "all" || status == "crd" && o.GetKind() == "CustomResourceDefinition" {
		delete(o.Object, "status")
	}
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(o.Object, "metadata", "annotations", lastApplied)
}

// lastApplied is where kubectl keeps what it applied.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func isNoKind(err error) bool { return errors.Is(err, applying.ErrNoKind) }
