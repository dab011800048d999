package reconcile

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/gitops/live"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/syncing"
)

// performer does the actions of one step of a sync.
type performer struct {
	app     *app
	hand    *applying.Cluster // by which objects are changed
	run     *run
	target  *target
	options syncing.Options

	mu        sync.Mutex
	inventory inventory
}

// perform does actions side by side, and has the sync take what came of them.
func (a *app) perform(ctx context.Context, run *run, t *target, actions []syncing.Action) {
	if a.rec.Inventory == nil {
		a.rec.Inventory = inventory{}
	}
	hand, nobody := a.site.hand(a.bounds)
	p := &performer{app: a, hand: hand, run: run, target: t, options: a.options(run), inventory: a.rec.Inventory}
	results := make([]syncing.Result, len(actions))
	done := make([]bool, len(actions))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, action := range actions {
		g.Go(func() error {
			r, err := syncing.Result{}, nobody
			if err == nil {
				r, err = p.do(ctx, action.Verb, run.State.Tasks[action.Task])
			}
			if ctx.Err() != nil {
				return nil // nobody knows; it is done again
			}
			if err != nil {
				r.Problem = err.Error()
			}
			results[i], done[i] = r, true
			return nil
		})
	}
	_ = g.Wait() // they give no errors
	for i, action := range actions {
		if done[i] {
			run.State.Record(action, results[i])
		}
	}
}

func (p *performer) do(ctx context.Context, verb syncing.Verb, t syncing.Task) (syncing.Result, error) {
	gvk := schema.GroupVersionKind{Group: t.Key.Group, Version: t.Version, Kind: t.Key.Kind}
	switch verb {
	case syncing.Prune:
		return p.prune(ctx, gvk, t)
	case syncing.Remove:
		return syncing.Result{}, p.letGo(ctx, gvk, t, true)
	case syncing.Release:
		return syncing.Result{}, p.letGo(ctx, gvk, t, false)
	case syncing.Try, syncing.Apply, syncing.Create:
	}
	if t.Early {
		return p.makeNamespace(ctx, t)
	}
	w := p.wanted(t)
	if w == nil || w.body == nil {
		return syncing.Result{}, fault.New(fault.NotFound, "%s isn't in the manifests any more", describe(t.Key))
	}
	switch verb {
	case syncing.Try:
		return syncing.Result{}, p.try(ctx, w, t)
	case syncing.Create:
		return p.create(ctx, w, t)
	case syncing.Apply, syncing.Prune, syncing.Remove, syncing.Release:
	}
	return p.apply(ctx, w, t)
}

// wanted finds the object of a task.
func (p *performer) wanted(t syncing.Task) *wanted {
	if !t.Hook {
		return p.target.find(t.Key)
	}
	for i := range p.target.objects {
		w := &p.target.objects[i]
		named := t.GenerateName == "" && w.key == t.Key || t.GenerateName != "" && w.generateName == t.GenerateName && w.key.Kind == t.Key.Kind && w.key.Group == t.Key.Group && w.key.Namespace == t.Key.Namespace
		if w.hook && named {
			return w
		}
	}
	return nil
}

// try has the server say whether it would take an object.
func (p *performer) try(ctx context.Context, w *wanted, t syncing.Task) error {
	body := w.body
	if t.Hook {
		body = body.DeepCopy()
		body.SetName(t.Key.Name)
		body.SetGenerateName("")
		if there, err := p.hand.Get(ctx, body); err == nil && there != nil {
			return nil // it goes first, or is applied over what is there
		}
	}
	if t.Replace {
		return nil // an apply of it would be something else
	}
	way := applying.Way{Manager: object.Manager, DryRun: true, Recreate: t.Force, Validation: metav1.FieldValidationStrict}
	if !t.Validate {
		way.Validation = metav1.FieldValidationIgnore
	}
	_, err := p.hand.Apply(ctx, body, way, io.Discard)
	switch {
	case err == nil:
		return nil
	case isNoKind(err):
		if _, own := p.target.defines[w.gvk().GroupKind()]; own || t.Lenient {
			return nil
		}
	case p.brings(applying.MissingNamespace(err)):
		return nil
	}
	return err
}

// brings says whether the sync makes a namespace.
func (p *performer) brings(name string) bool {
	return name != "" && slices.ContainsFunc(p.run.State.Tasks, func(t syncing.Task) bool {
		return t.Key.Group == "" && t.Key.Kind == "Namespace" && t.Key.Name == name && !t.Prune
	})
}

// servedWithin is how long a kind may take to be served once its definition is
// there.
const servedWithin = 10 * time.Second

// apply makes an object what the target says.
func (p *performer) apply(ctx context.Context, w *wanted, t syncing.Task) (syncing.Result, error) {
	var after *unstructured.Unstructured
	body, err := p.respected(ctx, w)
	if err != nil {
		return syncing.Result{}, err
	}
	if t.Hook {
		body = p.hook(w, t)
	}
	until := p.app.r.clock().Add(servedWithin)
	for {
		after, err = p.send(ctx, body, t)
		_, own := p.target.defines[w.gvk().GroupKind()]
		if !isNoKind(err) || !own || p.app.r.clock().After(until) {
			break
		}
		select {
		case <-ctx.Done():
			return syncing.Result{}, context.Cause(ctx)
		case <-time.After(debounce):
		}
	}
	if err != nil {
		return syncing.Result{}, err
	}
	if !t.Hook {
		p.keep(kept{Key: w.key, Version: w.version, UID: string(after.GetUID()), Own: live.OwnHash(after), Applied: w.hash, Shows: w.shows})
	}
	return syncing.Result{UID: string(after.GetUID()), Generation: after.GetGeneration(), Images: images(after)}, nil
}

func (p *performer) keep(k kept) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inventory[k.Key] = k
}

// irreplaceable are kinds with which more would go than the object.
var irreplaceable = map[string]bool{"Namespace": true, "PersistentVolume": true, "PersistentVolumeClaim": true, "CustomResourceDefinition": true}

// send has the server take an object, in the way that is asked for.
func (p *performer) send(ctx context.Context, body *unstructured.Unstructured, t syncing.Task) (*unstructured.Unstructured, error) {
	c := p.hand
	force := t.Force && !irreplaceable[t.Key.Kind]
	switch {
	case t.Replace && force:
		if there, err := c.Delete(ctx, body, applying.Deletion{Propagation: metav1.DeletePropagationForeground}); err != nil {
			return nil, err
		} else if there {
			if err := c.Gone(ctx, body); err != nil {
				return nil, err
			}
		}
		return c.Create(ctx, body, object.Manager)
	case t.Replace:
		return c.Replace(ctx, body, object.Manager)
	}
	way := applying.Way{Manager: object.Manager, Recreate: force, Validation: metav1.FieldValidationWarn}
	if !t.Validate {
		way.Validation = metav1.FieldValidationIgnore
	}
	if !p.options.With(body.GetAnnotations()[object.AnnotationOptions]).Off(syncing.OptionMigration) {
		way.From = applying.Predecessors()
	}
	return c.Apply(ctx, body, way, io.Discard)
}

// respected is the body of an object. What differs from render to render stays as it
// is live and, with RespectIgnoreDifferences, so do the fields that are ignored
// (semantics/gitops §6).
func (p *performer) respected(ctx context.Context, w *wanted) (*unstructured.Unstructured, error) {
	rules, err := p.app.ignored(p.target, p.options.With(w.notes[object.AnnotationOptions]).On(syncing.OptionRespectIgnored))
	if err != nil || !rules.Any(w.body) {
		return w.body, err
	}
	there, err := p.hand.Get(ctx, w.body)
	if err != nil || there == nil {
		return w.body, err
	}
	return rules.Respect(ctx, w.body, there)
}

// hook is the body of a hook: it carries the sync that makes it, and stays until
// what came of it is stored.
func (p *performer) hook(w *wanted, t syncing.Task) *unstructured.Unstructured {
	body := w.body.DeepCopy()
	body.SetName(t.Key.Name)
	body.SetGenerateName("")
	p.app.mark(body, t.Key)
	notes := body.GetAnnotations()
	notes[annotationOperation] = p.run.State.Mark(t)
	body.SetAnnotations(notes)
	body.SetFinalizers(append(body.GetFinalizers(), object.FinalizerHook))
	return body
}

// create makes a hook.
func (p *performer) create(ctx context.Context, w *wanted, t syncing.Task) (syncing.Result, error) {
	made, err := p.hand.Create(ctx, p.hook(w, t), object.Manager)
	if err != nil {
		return syncing.Result{}, err
	}
	return syncing.Result{UID: string(made.GetUID()), Generation: made.GetGeneration(), Images: images(made)}, nil
}

// letGo takes the finalizer of a hook, and deletes it if it is to go.
func (p *performer) letGo(ctx context.Context, gvk schema.GroupVersionKind, t syncing.Task, remove bool) error {
	c := p.hand
	named := applying.Named(gvk, t.Key)
	there, err := c.Get(ctx, named)
	if isNoKind(err) || err == nil && (there == nil || t.UID != "" && string(there.GetUID()) != t.UID) {
		return nil
	}
	if err != nil {
		return err
	}
	if remove {
		if _, err := c.Delete(ctx, named, applying.Deletion{UID: there.GetUID()}); err != nil {
			return err
		}
	}
	if !slices.Contains(there.GetFinalizers(), object.FinalizerHook) {
		return nil
	}
	left := slices.DeleteFunc(slices.Clone(there.GetFinalizers()), func(f string) bool { return f == object.FinalizerHook })
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": there.GetUID(), "finalizers": left}})
	if err != nil {
		return err
	}
	_, err = c.Patch(ctx, named, types.MergePatchType, patch, object.Manager)
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	return err
}

// prune deletes an extra, unless it has become somebody else's.
func (p *performer) prune(ctx context.Context, gvk schema.GroupVersionKind, t syncing.Task) (syncing.Result, error) {
	o, there := p.app.seen(t.Key)
	if there && o.App == p.app.key.tracked() {
		policy := map[string]metav1.DeletionPropagation{"background": metav1.DeletePropagationBackground, "orphan": metav1.DeletePropagationOrphan}[t.Propagation]
		if policy == "" {
			policy = metav1.DeletePropagationForeground
		}
		if _, err := p.hand.Delete(ctx, applying.Named(gvk, t.Key), applying.Deletion{UID: o.UID, Propagation: policy}); err != nil {
			return syncing.Result{}, err
		}
	}
	return syncing.Result{UID: string(o.UID)}, nil
}

// managerNamespace owns what is put on a namespace, so that it can be taken away
// again without the namespace.
const managerNamespace = object.Manager + "-ns"

// makeNamespace makes the destination's, or marks it.
func (p *performer) makeNamespace(ctx context.Context, t syncing.Task) (syncing.Result, error) {
	o := applying.Named(namespaces, t.Key)
	if s := p.app.doc.Spec.SyncPolicy; s != nil && s.ManagedNamespaceMetadata != nil {
		o.SetLabels(s.ManagedNamespaceMetadata.Labels)
		o.SetAnnotations(s.ManagedNamespaceMetadata.Annotations)
	}
	made, err := p.hand.Apply(ctx, o, applying.Way{Manager: managerNamespace}, io.Discard)
	if err != nil {
		return syncing.Result{}, err
	}
	return syncing.Result{UID: string(made.GetUID()), Generation: made.GetGeneration()}, nil
}

// images are those that an object runs.
func images(o *unstructured.Unstructured) []string {
	var out []string
	for _, path := range [][]string{{"spec"}, {"spec", "template", "spec"}, {"spec", "jobTemplate", "spec", "template", "spec"}} {
		for _, list := range []string{"initContainers", "containers"} {
			all, _, _ := unstructured.NestedSlice(o.Object, append(slices.Clone(path), list)...)
			for _, one := range all {
				c, _ := one.(map[string]any)
				if image, _ := c["image"].(string); image != "" && !slices.Contains(out, image) {
					out = append(out, image)
				}
			}
		}
	}
	return out
}
