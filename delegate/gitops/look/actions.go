package look

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/gitops/script"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/health"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// manager owns what people change in live objects. It isn't the one of syncs, so that
// a field that the target doesn't have is no drift.
const manager = "slipway"

// action is one that can be done to objects of a kind.
type action struct {
	name       string
	parameters []string
	// off says whether it can't be done to an object as it is.
	off func(o *unstructured.Unstructured) bool
	// patch is a merge patch that does it; nil in one that makes something.
	patch func(ctx asked, o *unstructured.Unstructured) (map[string]any, error)
	// status: what is patched is the status.
	status bool
	make   func(ctx asked, o *unstructured.Unstructured) (*unstructured.Unstructured, error)
}

// asked is how somebody wants an action done.
type asked struct {
	now        time.Time
	parameters map[string]string
}

func nested(v any, path ...string) map[string]any {
	for _, name := range slices.Backward(path) {
		v = map[string]any{name: v}
	}
	m, _ := v.(map[string]any)
	return m
}

func truth(o *unstructured.Unstructured, path ...string) bool {
	b, _, _ := unstructured.NestedBool(o.Object, path...)
	return b
}

// set is an action that sets a field.
func set(name string, value any, off func(*unstructured.Unstructured) bool, path ...string) action {
	return action{name: name, off: off, patch: func(asked, *unstructured.Unstructured) (map[string]any, error) { return nested(value, path...), nil }}
}

// toggle are two actions: one that switches a field on, and the one that goes on.
func toggle(on string, path ...string) []action {
	is := func(o *unstructured.Unstructured) bool { return truth(o, path...) }
	not := func(o *unstructured.Unstructured) bool { return !truth(o, path...) }
	return []action{set(on, true, is, path...), set("resume", false, not, path...)}
}

// stamp is an action that writes the time.
func stamp(name string, path ...string) action {
	return action{name: name, patch: func(q asked, _ *unstructured.Unstructured) (map[string]any, error) {
		return nested(q.now.UTC().Format(time.RFC3339), path...), nil
	}}
}

const restartedAt = "kubectl.kubernetes.io/restartedAt"

func restart() action {
	a := stamp("restart", "spec", "template", "metadata", "annotations", restartedAt)
	a.off = func(o *unstructured.Unstructured) bool { return truth(o, "spec", "paused") } // nothing would come of it
	return a
}

func scale() action {
	return action{name: "scale", parameters: []string{"replicas"}, patch: func(q asked, _ *unstructured.Unstructured) (map[string]any, error) {
		text := q.parameters["replicas"]
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 0 {
			return nil, fault.New(fault.Invalid, "replicas: found %q; want a number from 0 on", text)
		}
		return nested(n, "spec", "replicas"), nil
	}}
}

func flux() []action {
	return append(toggle("suspend", "spec", "suspend"), stamp("reconcile", "metadata", "annotations", "reconcile.fluxcd.io/requestedAt"))
}

// actionsOf are those of a kind (semantics/gitops §12).
func actionsOf(gk schema.GroupKind) []action {
	switch gk.Group {
	case "source.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io", "image.toolkit.fluxcd.io", "notification.toolkit.fluxcd.io":
		return flux()
	}
	switch gk.String() {
	case "Deployment.apps":
		return append(toggle("pause", "spec", "paused"), restart(), scale())
	case "StatefulSet.apps":
		return []action{restart(), scale()}
	case "DaemonSet.apps":
		return []action{restart()}
	case "CronJob.batch":
		return append(toggle("suspend", "spec", "suspend"), action{name: "create-job", make: jobOf})
	case "Job.batch":
		ended := func(o *unstructured.Unstructured) bool {
			h := health.Of(o.Object)
			return h != nil && (h.Status == gitops.Healthy || h.Status == gitops.Degraded)
		}
		both := toggle("suspend", "spec", "suspend")
		was := both[0].off
		both[0].off = func(o *unstructured.Unstructured) bool { return was(o) || ended(o) }
		return append(both, set("terminate", int64(0), ended, "spec", "activeDeadlineSeconds"))
	case "Rollout.argoproj.io":
		return rolloutActions()
	case "ExternalSecret.external-secrets.io", "PushSecret.external-secrets.io":
		return []action{stamp("refresh", "metadata", "annotations", "force-sync")}
	}
	return nil
}

// rolloutActions are those of a Rollout of Argo's.
func rolloutActions() []action {
	none := func(path ...string) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool { return !truth(o, path...) }
	}
	paused := func(o *unstructured.Unstructured) bool {
		all, _, _ := unstructured.NestedSlice(o.Object, "status", "pauseConditions")
		return truth(o, "spec", "paused") || len(all) > 0
	}
	inStatus := func(a action) action { a.status = true; return a }
	at := stamp("restart", "spec", "restartAt")
	skip := action{name: "skip-current-step", status: true, patch: func(_ asked, o *unstructured.Unstructured) (map[string]any, error) {
		step, _, _ := unstructured.NestedInt64(o.Object, "status", "currentStepIndex")
		return map[string]any{"status": map[string]any{"currentStepIndex": step + 1, "pauseConditions": nil}}, nil
	}, off: func(o *unstructured.Unstructured) bool {
		steps, _, _ := unstructured.NestedSlice(o.Object, "spec", "strategy", "canary", "steps")
		step, _, _ := unstructured.NestedInt64(o.Object, "status", "currentStepIndex")
		return step >= int64(len(steps))
	}}
	resume := action{name: "resume", off: func(o *unstructured.Unstructured) bool { return !paused(o) }, patch: func(_ asked, o *unstructured.Unstructured) (map[string]any, error) {
		if truth(o, "spec", "paused") {
			return nested(false, "spec", "paused"), nil
		}
		return map[string]any{"status": map[string]any{"pauseConditions": nil}}, nil
	}}
	same := func(o *unstructured.Unstructured) bool {
		stable, _, _ := unstructured.NestedString(o.Object, "status", "stableRS")
		current, _, _ := unstructured.NestedString(o.Object, "status", "currentPodHash")
		return stable == current
	}
	return []action{
		inStatus(set("abort", true, same, "status", "abort")),
		inStatus(set("retry", false, none("status", "abort"), "status", "abort")),
		resume, inStatus(set("promote-full", true, same, "status", "promoteFull")), at,
		set("pause", true, paused, "spec", "paused"), skip,
	}
}

// jobOf is a Job as a CronJob would make it now.
func jobOf(q asked, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	template, found, err := unstructured.NestedMap(o.Object, "spec", "jobTemplate")
	if err != nil || !found {
		return nil, fault.New(fault.Conflict, "CronJob %s has no jobTemplate", o.GetName())
	}
	template["apiVersion"], template["kind"] = "batch/v1", "Job"
	job := &unstructured.Unstructured{Object: template}
	name := o.GetName()
	job.SetName(fmt.Sprintf("%s-%d", strings.TrimRight(name[:min(len(name), 52)], "-."), q.now.Unix()))
	job.SetNamespace(o.GetNamespace())
	notes := job.GetAnnotations()
	if notes == nil {
		notes = map[string]string{}
	}
	notes["cronjob.kubernetes.io/instantiate"] = "manual"
	job.SetAnnotations(notes)
	yes := true
	job.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: o.GetUID(), Controller: &yes}})
	return job, nil
}

// Actions are those of an object, by name: of scripts, and those that there are
// without.
func Actions(ctx context.Context, scripts *script.Kinds, o *unstructured.Unstructured) ([]protocol.Action, error) {
	offers, builtin, err := scripts.Offers(ctx, o.Object)
	if err != nil {
		return nil, err
	}
	var out []protocol.Action
	for _, a := range offers {
		out = append(out, protocol.Action{Key: KeyOf(o), Name: a.Name, Disabled: a.Disabled, Parameters: a.Parameters})
	}
	if !builtin {
		return out, nil
	}
	for _, a := range actionsOf(o.GroupVersionKind().GroupKind()) {
		if slices.ContainsFunc(offers, func(one script.Offer) bool { return one.Name == a.name }) {
			continue // the script's goes before it
		}
		out = append(out, protocol.Action{Key: KeyOf(o), Name: a.name, Disabled: a.off != nil && a.off(o), Parameters: a.parameters})
	}
	slices.SortFunc(out, func(a, b protocol.Action) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// Offers says whether an action can be done to an object as it is.
func Offers(ctx context.Context, scripts *script.Kinds, o *unstructured.Unstructured, name string) (bool, error) {
	all, err := Actions(ctx, scripts, o)
	return slices.ContainsFunc(all, func(a protocol.Action) bool { return a.Name == name && !a.Disabled }), err
}

// Acting is what an action is done with.
type Acting struct {
	Cluster *applying.Cluster
	Scripts *script.Kinds
	// Allowed says why an object may not be changed; nil: it may.
	Allowed func(object.Key) error
	Now     time.Time
}

// Act does an action to an object.
func Act(ctx context.Context, with Acting, o *unstructured.Unstructured, t protocol.Touch) error {
	all, err := Actions(ctx, with.Scripts, o)
	if err != nil {
		return err
	}
	var names []string
	for _, a := range all {
		if a.Disabled {
			continue
		}
		if names = append(names, a.Name); a.Name != t.Action {
			continue
		}
		for name := range t.Parameters {
			if !slices.Contains(a.Parameters, name) {
				return fault.New(fault.Invalid, "the action %s has no parameter %q; it has: %s", a.Name, name, orNone(a.Parameters))
			}
		}
		if changes, err := with.Scripts.Run(ctx, o.Object, a.Name, t.Parameters); fault.CodeOf(err) != fault.NotFound {
			return with.scripted(ctx, o, changes, err)
		}
		own := actionsOf(o.GroupVersionKind().GroupKind())
		i := slices.IndexFunc(own, func(one action) bool { return one.name == a.Name })
		return own[i].do(ctx, with.Cluster, o, asked{with.Now, t.Parameters})
	}
	return fault.New(fault.Conflict, "%s %s has no action %q now; there are: %s", o.GetKind(), o.GetName(), t.Action, orNone(names))
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (a action) do(ctx context.Context, c *applying.Cluster, o *unstructured.Unstructured, q asked) error {
	if a.make != nil {
		made, err := a.make(q, o)
		if err == nil {
			_, err = c.Create(ctx, made, manager)
		}
		return err
	}
	body, err := a.patch(q, o)
	if err != nil {
		return err
	}
	doc, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode the action: %w", err)
	}
	_, status := body["status"]
	return patch(ctx, c, o, types.MergePatchType, doc, a.status || status)
}

// patch changes an object, or its status where that is apart.
func patch(ctx context.Context, c *applying.Cluster, o *unstructured.Unstructured, kind types.PatchType, doc []byte, status bool) error {
	res, err := c.Resource(o)
	if err != nil {
		return err
	}
	opts := metav1.PatchOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationStrict}
	if status {
		_, err = res.Patch(ctx, o.GetName(), kind, doc, opts, "status")
		if err = applying.Classify(err); !fault.Is(err, fault.NotFound) {
			return applying.About(o, err)
		}
	}
	_, err = res.Patch(ctx, o.GetName(), kind, doc, opts)
	return applying.About(o, applying.Classify(err))
}

// Patch changes an object as somebody says.
func Patch(ctx context.Context, c *applying.Cluster, o *unstructured.Unstructured, t protocol.Touch) error {
	kind, ok := map[string]types.PatchType{
		"": types.MergePatchType, "merge": types.MergePatchType, "json": types.JSONPatchType, "strategic": types.StrategicMergePatchType,
	}[t.PatchType]
	if !ok {
		return fault.New(fault.Invalid, "patchType: found %q; want merge, json or strategic", t.PatchType)
	}
	if !json.Valid([]byte(t.Patch)) {
		return fault.New(fault.Invalid, "patch: it isn't JSON")
	}
	return patch(ctx, c, o, kind, []byte(t.Patch), false)
}

// Delete deletes an object.
func Delete(ctx context.Context, c *applying.Cluster, o *unstructured.Unstructured, t protocol.Touch) error {
	how := applying.Deletion{UID: o.GetUID(), Propagation: metav1.DeletePropagationForeground}
	if t.Orphan {
		how.Propagation = metav1.DeletePropagationOrphan
	}
	if t.Force {
		now := int64(0)
		how.GracePeriod = &now
	}
	_, err := c.Delete(ctx, o, how)
	return err
}

// Chosen are the nodes of a tree that are there and chosen. There must be one, unless
// all are meant.
func Chosen(t protocol.Tree, which protocol.Which, all bool) ([]protocol.Node, error) {
	var out []protocol.Node
	var names []string
	for _, n := range t.Nodes {
		if n.UID != "" && which.Has(n.Key) {
			out = append(out, n)
			names = append(names, n.Key.Kind+" "+n.Key.Name)
		}
	}
	switch {
	case len(out) == 0:
		return nil, fault.New(fault.NotFound, "the application has no such object")
	case len(out) > 1 && !all:
		more := ""
		if len(names) > 5 {
			names, more = names[:5], ", …"
		}
		return nil, fault.New(fault.Conflict, "%d objects of the application are meant (%s%s); choose one, or all", len(out), strings.Join(names, ", "), more)
	}
	return out, nil
}

// Get reads a node of a tree as it is now; nil: it is gone.
func Get(ctx context.Context, c *applying.Cluster, n protocol.Node) (*unstructured.Unstructured, error) {
	o, err := c.Get(ctx, applying.Named(schema.GroupVersionKind{Group: n.Group, Version: n.Version, Kind: n.Kind}, n.Key))
	if o != nil && string(o.GetUID()) != n.UID {
		o = nil
	}
	return o, err
}

// Keys names nodes.
func Keys(nodes []protocol.Node) []object.Key {
	out := make([]object.Key, len(nodes))
	for i, n := range nodes {
		out[i] = n.Key
	}
	return out
}
