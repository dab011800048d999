package kubernetes

import (
	"context"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

// patchStep is K8sPatch (semantics/kubernetes §15). No rollback takes it back.
func (s *session) patchStep(ctx context.Context) (task.Result, error) {
	if s.p.Patch == nil {
		return task.Result{}, fault.New(fault.Invalid, "the patch is missing")
	}
	w, err := s.kubectl.named(s.p.Workload)
	if err != nil {
		return task.Result{}, err
	}
	body, err := s.patchBody(ctx)
	if err != nil {
		return task.Result{}, err
	}
	log := s.env.Log(unitPatch)
	live, err := s.kubectl.patchLive(ctx, w, body, log)
	if err != nil {
		return task.Result{}, err
	}
	if s.applier.flags.DryRun {
		say(log, "Dry run: nothing was changed")
		return s.done(nil)
	}
	if s.p.Patch.RecordCause || s.applier.flags.Record {
		if err := s.kubectl.recordCause(ctx, w, body, log); err != nil {
			return task.Result{}, err
		}
	}
	if isWorkload(live.GetKind()) || isCustom(live) {
		if err := s.lookout.steady(ctx, []*unstructured.Unstructured{live}); err != nil {
			return task.Result{}, err
		}
	}
	all := []*unstructured.Unstructured{live}
	return s.done(nil, s.changed("patched", all, s.lookout.instances(ctx, all, nil)))
}

// patchBody reads the patch, which is YAML or JSON, and gives it as JSON.
func (s *session) patchBody(ctx context.Context) ([]byte, error) {
	f, err := s.renderer.source().One(ctx, "patch", s.p.Patch.Source)
	if err != nil {
		return nil, err
	}
	doc, err := yaml.YAMLToJSON([]byte(f.Text))
	if err != nil {
		return nil, fault.New(fault.Invalid, "the patch %s: %w", f.Name, err)
	}
	if list := len(doc) > 0 && doc[0] == '['; list != (s.p.Patch.Strategy == lane.PatchJSON) {
		return nil, fault.New(fault.Invalid, "the patch %s can't be of the type %s: a Json patch is a list of operations, the others are mappings", f.Name, s.p.Patch.Strategy)
	}
	return doc, nil
}

// patchLive changes the object and tells what that changed.
func (k *kubectl) patchLive(ctx context.Context, w *unstructured.Unstructured, body []byte, log io.Writer) (*unstructured.Unstructured, error) {
	kind, ok := map[string]types.PatchType{
		lane.PatchStrategic: types.StrategicMergePatchType, lane.PatchMerge: types.MergePatchType, lane.PatchJSON: types.JSONPatchType,
	}[k.p.Patch.Strategy]
	if !ok {
		return nil, fault.New(fault.Invalid, "mergeStrategyType is %q; want Strategic, Merge or Json", k.p.Patch.Strategy)
	}
	res, err := k.client.Resource(w)
	if err != nil {
		return nil, err
	}
	before, err := k.client.Get(ctx, w)
	if err != nil {
		return nil, err
	}
	after, err := res.Patch(ctx, w.GetName(), kind, body, k.changeOptions(manager+"-patch"))
	if apierrors.IsUnsupportedMediaType(err) {
		return nil, fault.New(fault.Invalid, "%s can't be changed by a %s patch, because it is a custom resource; want Merge or Json", display(w), k.p.Patch.Strategy)
	}
	if err != nil {
		return nil, applying.About(w, applying.Classify(err))
	}
	k.lookout.past.note(after)
	d := difference{object: after}
	if d.text, err = applying.Difference(before, after); err != nil {
		return nil, err
	}
	tell([]difference{d}, true, log)
	return after, nil
}

// recordCause annotates an object with what changed it. The content of a
// Secret's patch stays out of that.
func (k *kubectl) recordCause(ctx context.Context, w *unstructured.Unstructured, body []byte, log io.Writer) error {
	cause := fmt.Sprintf("%s %s of %s", k.p.Op, k.p.Patch.Strategy, display(w))
	if w.GetKind() != "Secret" {
		cause += ": " + string(body)
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, annotationCause, cause)
	return k.patchWorkload(ctx, w, patch, "annotated with the cause", log)
}
