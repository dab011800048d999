package kubernetes

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

// colors are the parts of a blue-green deployment.
type colors struct {
	objects        []*unstructured.Unstructured // with a stage service
	workload       *unstructured.Unstructured
	primary, stage *unstructured.Unstructured // services
	serving, next  string                     // colours
}

// colors finds the parts in the manifests, and the colours in the cluster.
func (s *session) colors(ctx context.Context, objects []*unstructured.Unstructured) (*colors, error) {
	w, err := single(objects, "blue-green", "Deployment", "StatefulSet", kindConfig)
	if err != nil {
		return nil, err
	}
	c := &colors{workload: w}
	if c.primary, c.stage, c.objects, err = stagedServices(objects); err != nil {
		return nil, err
	}
	if c.serving, err = s.client.primaryColor(ctx, c.primary); err != nil {
		return nil, err
	}
	c.next = otherColor(c.serving)
	return c, nil
}

// paint gives the parts their colours.
func (s *session) paint(c *colors) {
	s.color(c.objects, c.workload, c.next)
	putLabel(c.primary, labelColor, c.serving, "spec", "selector")
	putLabel(c.stage, labelColor, c.next, "spec", "selector")
}

// blueGreen is K8sBlueGreenDeploy (semantics/kubernetes §14.2).
func (s *session) blueGreen(ctx context.Context) (task.Result, error) {
	all, err := s.history.all(ctx)
	if err != nil {
		return task.Result{}, err
	}
	current := s.begin(all, modeBlueGreen)
	objects, err := s.renderer.manifests(ctx)
	if err != nil {
		return task.Result{}, err
	}
	c, err := s.colors(ctx, objects)
	if err != nil {
		return task.Result{}, err
	}
	current.Hash = hashOf(c.objects)
	current.Color, current.PrimaryColor = c.next, c.serving
	current.PrimaryService, current.StageService = c.primary.GetName(), c.stage.GetName()
	current.ServiceSpace = c.primary.GetNamespace()
	out := outputs{
		"primaryServiceName": current.PrimaryService, "stageServiceName": current.StageService,
		"primaryColor": c.serving, "stageColor": c.next, "skipped": false,
	}
	last := lastGood(all, current, modeBlueGreen)
	if s.p.SkipSameManifest && last != nil && last.Hash == current.Hash && last.Color == c.serving {
		say(s.env.Log(unitPrepare), "The manifests are those of release %d: nothing is deployed", last.Number)
		current.Skipped, out["skipped"] = true, true
		current.Status = releaseFailed // it is no release to go back to
		if err := s.history.save(ctx, current); err != nil {
			return task.Result{}, err
		}
		return s.done(out)
	}
	s.paint(c)
	s.applier.beside = display(c.workload)
	return s.deployColor(ctx, all, current, c.objects, c.workload, out)
}

// deployColor applies the stage colour and waits for its workload.
func (s *session) deployColor(ctx context.Context, all []*release, current *release, objects []*unstructured.Unstructured, w *unstructured.Unstructured, out outputs) (task.Result, error) {
	if err := s.applier.dryRun(ctx, objects); err != nil {
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
		err = s.kubectl.wake(ctx, w, s.env.Log(unitApply))
	}
	if err == nil {
		err = s.lookout.steady(ctx, []*unstructured.Unstructured{w})
	}
	if err == nil && s.p.Traffic != nil {
		_, err = s.network.routeTraffic(ctx, s.p.Traffic, current)
	}
	if err != nil {
		_ = s.history.mark(ctx, current, releaseFailed) // the step fails either way
		r, _ := s.done(out, s.changed("applied", objects, nil))
		return r, err
	}
	if s.p.Pruning {
		current.Pruned = s.pruner.pruneColors(ctx, all, current, objects)
		out["prunedResourceIds"] = current.Pruned
	}
	if err := s.history.mark(ctx, current, releaseSucceeded); err != nil {
		return task.Result{}, err
	}
	s.history.cleanUp(ctx, all, current, s.env.Log(unitWrapUp))
	return s.done(out, s.changed("applied", objects, s.lookout.instances(ctx, managed(objects), nil)))
}

// color gives the workload and what follows it the stage's colour.
func (s *session) color(objects []*unstructured.Unstructured, w *unstructured.Unstructured, c string) {
	suffix, original := "-"+c, w.GetName()
	w.SetName(withSuffix(w.GetName(), suffix))
	putLabel(w, labelColor, c, selectorOf(w)...)
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
