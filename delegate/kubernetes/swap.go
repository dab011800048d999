package kubernetes

import (
	"context"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// swap is K8sBGSwapServices: the services exchange their colours; in a
// rollback only if they have been exchanged (semantics/kubernetes §14.3).
func (s *session) swap(ctx context.Context) (task.Result, error) {
	log := s.env.Log(unitSwap)
	all, err := s.history.all(ctx)
	if err != nil {
		return task.Result{}, err
	}
	made := s.history.ofStage(all, modeBlueGreen)
	if made == nil {
		if s.work.Rollback {
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
	if s.work.Rollback {
		wanted = made.PrimaryColor
	}
	if err := s.client.hasInstances(ctx, all, wanted, log); err != nil {
		return task.Result{}, err
	}
	swapped, err := s.pointBoth(ctx, made, wanted, log)
	if err != nil {
		return task.Result{}, err
	}
	if s.work.Rollback { // what is behind the stage service now is what failed
		if err := s.network.toStable(ctx, made.StageService, made.PrimaryService); err != nil {
			return task.Result{}, err
		}
	}
	if !swapped {
		return s.done(nil)
	}
	if s.work.Rollback { // the same manifests mustn't be skipped the next time
		if err := s.history.mark(ctx, made, releaseFailed); err != nil {
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
		now, err := s.client.serviceColor(ctx, made.ServiceSpace, to.service)
		if s.work.Rollback && fault.Is(err, fault.NotFound) {
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
		if err := s.client.point(ctx, made.ServiceSpace, to.service, to.color); err != nil {
			return false, err
		}
		say(log, "Service %s pointed to %s and now points to %s", to.service, now, to.color)
		swapped = true
	}
	return swapped, nil
}

func (c *client) serviceColor(ctx context.Context, namespace, name string) (string, error) {
	live, err := c.Dynamic.Resource(services()).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", applying.Classify(err)
	}
	return text(live, "spec", "selector", labelColor), nil
}

// point changes the colour in a service's selector. As the owner of the
// field it is Slipway that a later apply takes it over from.
func (c *client) point(ctx context.Context, namespace, service, color string) error {
	patch := fmt.Sprintf(`{"spec":{"selector":{%q:%q}}}`, labelColor, color)
	_, err := c.Dynamic.Resource(services()).Namespace(namespace).
		Patch(ctx, service, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager})
	return applying.Classify(err)
}
