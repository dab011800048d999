package kubernetes

import (
	"context"
	"io"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// modeColors is the mode of the record of what the colours of a Helm release
// share. There is one record: that of the last stage that deployed a colour.
const modeColors = "helm-bluegreen"

// colorsOf are the records of the release's colours, the newest first.
func (f *Foreign) colorsOf(ctx context.Context) ([]*release, error) {
	all, err := f.s.history.all(ctx)
	return slices.DeleteFunc(all, func(r *release) bool { return r.Mode != modeColors }), err
}

// Begin writes down how the shared objects stand before a stage changes them.
// A retry keeps what its first try found.
func (f *Foreign) Begin(ctx context.Context, c *Colors) error {
	all, err := f.s.history.all(ctx)
	if err != nil {
		return err
	}
	r := f.s.history.ofStage(all, modeColors)
	if r == nil {
		r = f.s.begin(all, modeColors)
	}
	r.Color, r.PrimaryColor, r.PrimaryService, r.StageService, r.ServiceSpace = c.Next, c.Serving, c.Primary, c.Stage, c.namespace
	for _, o := range slices.Concat(c.shared, carried(all, c.shared)) {
		if slices.ContainsFunc(r.objects(), func(known *unstructured.Unstructured) bool { return identity(known) == identity(o) }) {
			continue
		}
		live, err := f.s.applier.present(ctx, o)
		if err != nil {
			return err
		}
		if live == nil {
			r.Made = append(r.Made, identity(o))
		} else {
			r.Before = append(r.Before, snapshot(live))
		}
		r.Objects = append(r.Objects, o.Object)
	}
	if err := f.s.history.save(ctx, r); err != nil {
		return err
	}
	for _, old := range all { // what they kept is in the new one
		if old.Mode == modeColors && old.Number != r.Number {
			if err := f.forget(ctx, old); err != nil {
				return err
			}
		}
	}
	return nil
}

// snapshot is an object without what the server alone writes.
func snapshot(live *unstructured.Unstructured) map[string]any {
	o := live.DeepCopy()
	delete(o.Object, "status")
	for _, key := range []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"} {
		unstructured.RemoveNestedField(o.Object, "metadata", key)
	}
	return o.Object
}

// carried are shared objects of an earlier deployment that the chart no longer
// has; they stay until the release is deleted.
func carried(all []*release, now []*unstructured.Unstructured) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, r := range all {
		if r.Mode != modeColors {
			continue
		}
		for _, o := range r.objects() {
			same := func(other *unstructured.Unstructured) bool { return identity(other) == identity(o) }
			if !slices.ContainsFunc(now, same) && !slices.ContainsFunc(out, same) {
				out = append(out, o)
			}
		}
	}
	return out
}

func (f *Foreign) forget(ctx context.Context, r *release) error {
	err := f.s.client.Dynamic.Resource(secrets()).Namespace(f.s.p.Target.Namespace).Delete(ctx, f.s.history.secretName(r.Number), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return applying.Classify(err)
}

// Ground makes what both colours share and a colour's pods can't begin without,
// such as an account with a fixed name, where it isn't there yet.
func (f *Foreign) Ground(ctx context.Context, c *Colors, log io.Writer) error {
	var absent []*unstructured.Unstructured
	for _, o := range c.shared {
		if order(o.GetKind()) >= order("Service") {
			continue
		}
		live, err := f.s.applier.present(ctx, o)
		if err != nil {
			return err
		}
		if live == nil {
			absent = append(absent, o)
		}
	}
	return f.s.applier.apply(ctx, absent, log)
}

// Share applies what both colours share.
func (f *Foreign) Share(ctx context.Context, c *Colors, log io.Writer) error {
	return f.s.applier.apply(ctx, c.shared, log)
}

// Stage is how the colours stood when this stage began to deploy one; nil if
// it didn't.
func (f *Foreign) Stage(ctx context.Context) (*Colors, error) {
	all, err := f.colorsOf(ctx)
	if err != nil {
		return nil, err
	}
	r := f.s.history.ofStage(all, modeColors)
	if r == nil {
		return nil, nil
	}
	return &Colors{Primary: r.PrimaryService, Stage: r.StageService, Serving: r.PrimaryColor, Next: r.Color, namespace: r.ServiceSpace}, nil
}

// Serving is the colour that the release's primary service was last known to
// point to; empty if no colour was ever deployed.
func (f *Foreign) Serving(ctx context.Context) (string, error) {
	all, err := f.colorsOf(ctx)
	if err != nil || len(all) == 0 {
		return "", err
	}
	c, err := f.s.client.serviceColor(ctx, all[0].ServiceSpace, all[0].PrimaryService)
	if fault.Is(err, fault.NotFound) {
		return "", nil
	}
	return c, err
}

// Point points the primary service to a colour and the stage service to the
// other, and says whether anything changed.
func (f *Foreign) Point(ctx context.Context, c *Colors, serving string, log io.Writer) (bool, error) {
	return f.s.pointBoth(ctx, &release{PrimaryService: c.Primary, StageService: c.Stage, ServiceSpace: c.namespace}, serving, log)
}

// Restore gives the shared objects the state that they had before the stage,
// the primary service first. What was made and holds data of others stays.
func (f *Foreign) Restore(ctx context.Context, log io.Writer) error {
	all, err := f.colorsOf(ctx)
	if err != nil {
		return err
	}
	r := f.s.history.ofStage(all, modeColors)
	if r == nil {
		return nil
	}
	primary := func(m map[string]any) bool {
		o := &unstructured.Unstructured{Object: m}
		return o.GetKind() == kindService && o.GetName() == r.PrimaryService
	}
	slices.SortStableFunc(r.Before, func(a, b map[string]any) int {
		if primary(a) == primary(b) {
			return 0
		}
		if primary(a) { // so that users come back at once
			return -1
		}
		return 1
	})
	for _, was := range r.Before {
		if err := f.putBack(ctx, &unstructured.Unstructured{Object: was}, log); err != nil {
			return err
		}
	}
	for _, o := range slices.Backward(r.objects()) {
		if !slices.Contains(r.Made, identity(o)) {
			continue
		}
		if err := f.takeAway(ctx, o, log); err != nil {
			return err
		}
	}
	return f.s.history.mark(ctx, r, releaseFailed)
}

// Colored says whether colours of the release were ever deployed.
func (f *Foreign) Colored(ctx context.Context) (bool, error) {
	all, err := f.colorsOf(ctx)
	return len(all) > 0, err
}

// Unshare deletes what the colours shared, and the record of it.
func (f *Foreign) Unshare(ctx context.Context, log io.Writer) error {
	all, err := f.colorsOf(ctx)
	if err != nil {
		return err
	}
	for _, r := range all {
		for _, o := range slices.Backward(r.objects()) {
			if err := f.takeAway(ctx, o, log); err != nil {
				return err
			}
		}
		if err := f.forget(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// takeAway deletes a shared object, unless others would lose what they have
// with it.
func (f *Foreign) takeAway(ctx context.Context, o *unstructured.Unstructured, log io.Writer) error {
	if slices.Contains([]string{"Namespace", kindDefinition, "PersistentVolumeClaim", "PersistentVolume"}, o.GetKind()) {
		say(log, "%s stays", display(o))
		return nil
	}
	_, err := f.s.applier.deleteAll(ctx, []*unstructured.Unstructured{o}, log)
	return err
}

// putBack gives an object its earlier state, as an undo.
func (f *Foreign) putBack(ctx context.Context, was *unstructured.Unstructured, log io.Writer) error {
	res, err := f.s.client.Resource(was)
	if err != nil {
		return err
	}
	live, err := f.s.client.Get(ctx, was)
	if err != nil {
		return err
	}
	if live == nil {
		_, err = res.Create(ctx, was, metav1.CreateOptions{FieldManager: undoManager})
	} else {
		was = was.DeepCopy()
		was.SetResourceVersion(live.GetResourceVersion())
		_, err = res.Update(ctx, was, metav1.UpdateOptions{FieldManager: undoManager})
	}
	if err != nil {
		return applying.About(was, applying.Classify(err))
	}
	say(log, "%s is as it was before", display(was))
	return nil
}
