package applying

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// Way is how an object is applied.
type Way struct {
	Manager string // who owns the fields then
	// From are other managers, whose fields Manager takes over: those that never
	// come back for them.
	From       []string
	DryRun     bool
	Conflicts  bool   // fields of others are a refusal; else they are taken over
	Validation string // of metav1.FieldValidation...; empty: Strict
	Recreate   bool   // what can't be changed is made anew
}

func (w Way) options() metav1.PatchOptions {
	force := !w.Conflicts
	opts := metav1.PatchOptions{FieldManager: w.Manager, Force: &force, FieldValidation: cmp.Or(w.Validation, metav1.FieldValidationStrict)}
	if w.DryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	return opts
}

// Apply is a server-side apply and gives the object as the server has it then,
// or would have it: nil if only the real thing can tell. What was done otherwise
// than asked for is told in a log.
func (c *Cluster) Apply(ctx context.Context, o *unstructured.Unstructured, way Way, log io.Writer) (*unstructured.Unstructured, error) {
	res, err := c.Resource(o)
	if err != nil {
		return nil, err
	}
	live, err := patch(ctx, res, o, way)
	for err != nil { // the server tells of some at a time
		known := mend(o, err, way.Validation, log)
		if known == nil {
			break
		}
		o = known
		live, err = patch(ctx, res, o, way)
	}
	if err != nil && way.Recreate && Immutable(err) {
		if way.DryRun {
			return nil, nil
		}
		if err = c.recreate(ctx, res, o); err == nil {
			say(log, "%s can't be changed and is made anew", display(o))
			live, err = patch(ctx, res, o, way)
		}
	}
	if err == nil && !way.DryRun {
		var ours bool
		if ours, err = takeOver(ctx, res, live, way); ours {
			live, err = patch(ctx, res, o, way)
		}
	}
	if err != nil {
		return nil, About(o, Classify(err))
	}
	return live, nil
}

func patch(ctx context.Context, res dynamic.ResourceInterface, o *unstructured.Unstructured, way Way) (*unstructured.Unstructured, error) {
	body, err := o.MarshalJSON()
	if err != nil {
		return nil, fault.New(fault.Invalid, "%w", err)
	}
	return res.Patch(ctx, o.GetName(), types.ApplyPatchType, body, way.options())
}

// Immutable says whether an object is refused because it can't be changed into
// what is asked for, so that a new one could be.
func Immutable(err error) bool {
	return apierrors.IsInvalid(err) && (strings.Contains(err.Error(), "immutable") || strings.Contains(err.Error(), "updates to statefulset spec"))
}

// recreate deletes an object that can't be changed, so that it can be made anew.
func (c *Cluster) recreate(ctx context.Context, res dynamic.ResourceInterface, o *unstructured.Unstructured) error {
	policy, now := metav1.DeletePropagationBackground, int64(0)
	err := res.Delete(ctx, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &policy, GracePeriodSeconds: &now})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return c.Gone(ctx, o)
}

// Get reads an object, named by another, as it is in the cluster; nil if it
// isn't there.
func (c *Cluster) Get(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	res, err := c.Resource(o)
	if err != nil {
		return nil, err
	}
	live, err := res.Get(ctx, o.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, About(o, Classify(err))
}

// Deletion is how an object is deleted.
type Deletion struct {
	UID         types.UID                  // empty: whichever object has the name
	Propagation metav1.DeletionPropagation // empty: its dependents go after it
	GracePeriod *int64                     // in seconds; nil: the object's own
	DryRun      bool
}

func (d Deletion) options() metav1.DeleteOptions {
	policy := cmp.Or(d.Propagation, metav1.DeletePropagationBackground)
	opts := metav1.DeleteOptions{PropagationPolicy: &policy, GracePeriodSeconds: d.GracePeriod}
	if d.UID != "" {
		opts.Preconditions = &metav1.Preconditions{UID: &d.UID}
	}
	if d.DryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	return opts
}

// Delete deletes an object, named by another, and says whether it was there. One
// whose very kind has gone wasn't, and neither was one of another UID: that is
// somebody else's.
func (c *Cluster) Delete(ctx context.Context, o *unstructured.Unstructured, how Deletion) (bool, error) {
	res, err := c.Resource(o)
	if errors.Is(err, ErrNoKind) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = res.Delete(ctx, o.GetName(), how.options())
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) && strings.Contains(err.Error(), "UID in ") {
		return false, nil
	}
	return err == nil, About(o, Classify(err))
}

// Create makes an object that isn't there yet, and gives it as the server has it.
func (c *Cluster) Create(ctx context.Context, o *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	res, err := c.Resource(o)
	if err != nil {
		return nil, err
	}
	live, err := res.Create(ctx, o, metav1.CreateOptions{FieldManager: manager})
	return live, About(o, Classify(err))
}

// Replace puts an object in the place of the one that there is, whichever
// version that has unless the object names one. What isn't there is made.
func (c *Cluster) Replace(ctx context.Context, o *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	res, err := c.Resource(o)
	if err != nil {
		return nil, err
	}
	next, given := o.DeepCopy(), o.GetResourceVersion() != ""
	for {
		if !given {
			live, err := res.Get(ctx, o.GetName(), metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				live, err = res.Create(ctx, o, metav1.CreateOptions{FieldManager: manager})
				if apierrors.IsAlreadyExists(err) {
					continue // somebody was faster
				}
				return live, About(o, Classify(err))
			}
			if err != nil {
				return nil, About(o, Classify(err))
			}
			next.SetResourceVersion(live.GetResourceVersion())
		}
		live, err := res.Update(ctx, next, metav1.UpdateOptions{FieldManager: manager})
		if !given && (apierrors.IsConflict(err) || apierrors.IsNotFound(err)) {
			continue // it has been changed, or has gone, since it was read
		}
		return live, About(o, Classify(err))
	}
}

// Patch changes an object, named by another, in place.
func (c *Cluster) Patch(ctx context.Context, o *unstructured.Unstructured, kind types.PatchType, body []byte, manager string) (*unstructured.Unstructured, error) {
	res, err := c.Resource(o)
	if err != nil {
		return nil, err
	}
	live, err := res.Patch(ctx, o.GetName(), kind, body, metav1.PatchOptions{FieldManager: manager})
	return live, About(o, Classify(err))
}

// Named is an object that has nothing but its name, for what asks for one by
// another.
func Named(gvk schema.GroupVersionKind, k object.Key) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	o.SetNamespace(k.Namespace)
	o.SetName(k.Name)
	return o
}

// say writes a line to a log. A log that can't be written is its owner's to
// report; the work goes on.
func say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format+"\n", args...) // see above
}
