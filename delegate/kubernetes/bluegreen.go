package kubernetes

import (
	"context"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// The colours.
const (
	blue  = "blue"
	green = "green"
)

func otherColor(c string) string {
	if c == blue {
		return green
	}
	return blue
}

// blueGreen is K8sBlueGreenDeploy (kubernetes spec §14.2).
func (s *session) blueGreen(ctx context.Context) (task.Result, error) {
	all, err := s.history(ctx)
	if err != nil {
		return task.Result{}, err
	}
	current := s.begin(all, modeBlueGreen)
	objects, err := s.manifests(ctx)
	if err != nil {
		return task.Result{}, err
	}
	w, err := single(objects, "blue-green", "Deployment", "StatefulSet")
	if err != nil {
		return task.Result{}, err
	}
	primary, stage, objects, err := stagedServices(objects)
	if err != nil {
		return task.Result{}, err
	}
	primaryColor, err := s.primaryColor(ctx, primary)
	if err != nil {
		return task.Result{}, err
	}
	stageColor := otherColor(primaryColor)
	current.Hash = hashOf(objects)
	current.Color, current.PrimaryColor = stageColor, primaryColor
	current.PrimaryService, current.StageService = primary.GetName(), stage.GetName()
	current.ServiceSpace = primary.GetNamespace()
	out := outputs{
		"primaryServiceName": primary.GetName(), "stageServiceName": stage.GetName(),
		"primaryColor": primaryColor, "stageColor": stageColor, "skipped": false,
	}
	last := lastGood(all, current.Number, modeBlueGreen)
	if s.p.SkipSameManifest && last != nil && last.Hash == current.Hash && last.Color == primaryColor {
		say(s.env.Log(unitPrepare), "The manifests are those of release %d: nothing is deployed", last.Number)
		current.Skipped, out["skipped"] = true, true
		current.Status = releaseFailed // it is no release to go back to
		if err := s.save(ctx, current); err != nil {
			return task.Result{}, err
		}
		return s.done(out)
	}
	s.color(objects, w, stageColor)
	putLabel(primary, labelColor, primaryColor, "spec", "selector")
	putLabel(stage, labelColor, stageColor, "spec", "selector")
	s.beside = display(w)
	return s.deployColor(ctx, all, current, objects, w, out)
}

// deployColor applies the stage colour and waits for its workload.
func (s *session) deployColor(ctx context.Context, all []*release, current *release, objects []*unstructured.Unstructured, w *unstructured.Unstructured, out outputs) (task.Result, error) {
	if err := s.dryRun(ctx, objects); err != nil {
		return task.Result{}, err
	}
	say(s.env.Log(unitPrepare), "Deploying %s; the primary service %s keeps %s", display(w), current.PrimaryService, current.PrimaryColor)
	objects = sorted(objects)
	current.fill(objects)
	late, err := s.record(ctx, current)
	if err != nil {
		return task.Result{}, err
	}
	err = s.applyRelease(ctx, current, objects, late)
	if err == nil {
		err = s.steady(ctx, []*unstructured.Unstructured{w})
	}
	if err != nil {
		_ = s.mark(ctx, current, releaseFailed) // the step fails either way
		r, _ := s.done(out, s.changed("applied", objects, nil))
		return r, err
	}
	if s.p.Pruning {
		current.Pruned = s.pruneColors(ctx, all, current, objects)
		out["prunedResourceIds"] = current.Pruned
	}
	if err := s.mark(ctx, current, releaseSucceeded); err != nil {
		return task.Result{}, err
	}
	s.cleanUp(ctx, all, current, s.env.Log(unitWrapUp))
	return s.done(out, s.changed("applied", objects, s.instances(ctx, managed(objects), nil)))
}

// color gives the workload and what follows it the stage's colour.
func (s *session) color(objects []*unstructured.Unstructured, w *unstructured.Unstructured, c string) {
	suffix, original := "-"+c, w.GetName()
	w.SetName(withSuffix(w.GetName(), suffix))
	putLabel(w, labelColor, c, "spec", "selector", "matchLabels")
	putLabel(w, labelColor, c, "spec", "template", "metadata", "labels")
	putLabel(w, labelRelease, s.p.Target.ReleaseName, "spec", "template", "metadata", "labels")
	renameFollowers(objects, w, original, suffix)
	if m := s.p.Target.Manifest; m.Declarative && c == green {
		rename(objects, suffix)
		return
	}
	for _, o := range objects {
		if (o.GetKind() == "ConfigMap" || o.GetKind() == "Secret") && !s.p.Target.Manifest.Declarative {
			say(s.env.Log(unitPrepare), "warning: %s is shared by both colours", display(o))
		}
	}
}

// stagedServices chooses the primary and the stage service (kubernetes spec
// §14.1). A stage service that the manifests don't have is a clone.
func stagedServices(objects []*unstructured.Unstructured) (primary, stage *unstructured.Unstructured, all []*unstructured.Unstructured, err error) {
	var list []*unstructured.Unstructured
	for _, o := range objects {
		if o.GetKind() != "Service" || annotated(o, annotationDirectApply) {
			continue
		}
		list = append(list, o)
		switch {
		case annotated(o, annotationPrimaryService) && primary != nil:
			return nil, nil, nil, fault.New(fault.Invalid, "%s and %s are both annotated as the primary service", display(primary), display(o))
		case annotated(o, annotationPrimaryService):
			primary = o
		case annotated(o, annotationStageService):
			stage = o
		}
	}
	switch {
	case len(list) == 0:
		return nil, nil, nil, fault.New(fault.Invalid, "no Service found in the manifests; a blue-green deployment needs at least one")
	case len(list) == 1 && stage == nil:
		primary = list[0]
	case primary == nil:
		return nil, nil, nil, fault.New(fault.Invalid, "%d services and none is annotated with %s: \"true\"", len(list), annotationPrimaryService)
	}
	if stage == nil {
		stage = primary.DeepCopy()
		stage.SetName(withSuffix(primary.GetName(), "-stage"))
		for _, key := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort", "loadBalancerIP"} {
			unstructured.RemoveNestedField(stage.Object, "spec", key)
		}
		dropNodePorts(stage)
		objects = append(objects, stage)
	}
	return primary, stage, objects, nil
}

func dropNodePorts(service *unstructured.Unstructured) {
	ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	for _, p := range ports {
		if m, ok := p.(map[string]any); ok {
			delete(m, "nodePort")
		}
	}
	set(service, ports, "spec", "ports")
}

// primaryColor is the colour that the live primary service points to; green
// for the first deployment, so that the first workload is the blue one.
func (s *session) primaryColor(ctx context.Context, primary *unstructured.Unstructured) (string, error) {
	live, err := s.get(ctx, primary)
	if err != nil {
		return "", err
	}
	if live == nil {
		return green, nil
	}
	c := text(live, "spec", "selector", labelColor)
	if c == "" {
		return "", fault.New(fault.Invalid, "service %s exists and its selector has no %s: label the pods of the running workload and the service's selector with %s: blue first", primary.GetName(), labelColor, labelColor)
	}
	return c, nil
}

// swap is K8sBGSwapServices: the services exchange their colours; in a
// rollback only if they have been exchanged (kubernetes spec §14.3).
func (s *session) swap(ctx context.Context) (task.Result, error) {
	log := s.env.Log(unitSwap)
	all, err := s.history(ctx)
	if err != nil {
		return task.Result{}, err
	}
	made := s.ofStage(all, modeBlueGreen)
	if made == nil {
		if s.p.Rollback {
			say(log, "This stage deployed no colour, so there is nothing to swap back")
			return s.done(nil)
		}
		return task.Result{}, fault.New(fault.Invalid, "the stage has no blue-green deployment to swap")
	}
	if made.Skipped {
		say(log, "The deployment was skipped, so there is nothing to swap")
		return s.done(nil)
	}
	wanted := made.Color // forward: the new colour serves
	if s.p.Rollback {
		wanted = made.PrimaryColor
	}
	swapped, err := s.pointBoth(ctx, made, wanted, log)
	if err != nil {
		return task.Result{}, err
	}
	if !swapped {
		return s.done(nil)
	}
	if s.p.Rollback { // the same manifests mustn't be skipped the next time
		if err := s.mark(ctx, made, releaseFailed); err != nil {
			return task.Result{}, err
		}
	}
	return s.done(outputs{"primaryServiceName": made.PrimaryService, "stageServiceName": made.StageService}, s.changed("switched", nil, nil))
}

// pointBoth points the primary service to a colour and the stage service to
// the other, the primary one first, and says whether anything changed. Each is
// looked at by itself: an earlier try may have ended between them.
func (s *session) pointBoth(ctx context.Context, made *release, primaryColor string, log io.Writer) (bool, error) {
	swapped := false
	for _, to := range []struct{ service, color string }{{made.PrimaryService, primaryColor}, {made.StageService, otherColor(primaryColor)}} {
		now, err := s.serviceColor(ctx, made.ServiceSpace, to.service)
		if s.p.Rollback && fault.Is(err, fault.NotFound) {
			say(log, "Service %s was never made, so there is nothing to swap back", to.service)
			continue
		}
		if err != nil {
			return false, err
		}
		if now == to.color {
			say(log, "Service %s points to %s already", to.service, to.color)
			continue
		}
		if err := s.point(ctx, made.ServiceSpace, to.service, to.color); err != nil {
			return false, err
		}
		say(log, "Service %s pointed to %s and now points to %s", to.service, now, to.color)
		swapped = true
	}
	return swapped, nil
}

func (s *session) serviceColor(ctx context.Context, namespace, name string) (string, error) {
	live, err := s.client.dynamic.Resource(services()).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", classify(err)
	}
	return text(live, "spec", "selector", labelColor), nil
}

// point changes the colour in a service's selector. As the owner of the
// field it is Slipway that a later apply takes it over from.
func (s *session) point(ctx context.Context, namespace, service, color string) error {
	patch := fmt.Sprintf(`{"spec":{"selector":{%q:%q}}}`, labelColor, color)
	_, err := s.client.dynamic.Resource(services()).Namespace(namespace).
		Patch(ctx, service, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager})
	return classify(err)
}
