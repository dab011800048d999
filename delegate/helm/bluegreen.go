package helm

import (
	"context"

	"github.com/slipway-cd/slipway/delegate/kubernetes"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// The colours. Each is a release of its own.
const (
	blue  = "blue"
	green = "green"
)

func (s *session) inColor(color string) kubernetes.Beside { return s.beside("-" + color) }

// blueGreen is HelmBGDeploy (semantics/kubernetes §19.5): the colour that
// doesn't serve is deployed as a release of its own, behind the stage service.
// Hooks don't run.
func (s *session) blueGreen(ctx context.Context) (task.Result, error) {
	d, made, err := s.planColor(ctx)
	if err != nil {
		return task.Result{}, err
	}
	c := made.Colors
	s.show(made.Manifest)
	if err := s.prepare(ctx, d); err != nil {
		return task.Result{}, err
	}
	log := s.env.Log(unitPrepare)
	say(log, "Deploying %s; the primary service %s keeps %s", made.Workload, c.Primary, c.Serving)
	if err := s.cluster.Begin(ctx, c); err != nil {
		return task.Result{}, err
	}
	if err := s.cluster.Ground(ctx, c, log); err != nil {
		return task.Result{}, err
	}
	d.shared = func() error { return s.cluster.Share(ctx, c, s.env.Log(unitChange)) }
	return s.carryOut(ctx, d, outputs{
		"primaryServiceName": c.Primary, "stageServiceName": c.Stage, "primaryColor": c.Serving, "stageColor": c.Next, "stageRelease": d.name,
	})
}

// planColor plans the deployment of the colour that comes next. Which one that
// is only the rendered services can tell for certain, so it may take two tries.
func (s *session) planColor(ctx context.Context) (*deployment, kubernetes.Aside, error) {
	serving, err := s.cluster.Serving(ctx)
	if err != nil {
		return nil, kubernetes.Aside{}, err
	}
	next := blue
	if serving == blue {
		next = green
	}
	for range 2 {
		b := s.inColor(next)
		d, err := s.plan(ctx, b.Release)
		if err != nil {
			return nil, kubernetes.Aside{}, err
		}
		d.aside = func(rendered string) (kubernetes.Aside, error) { return s.cluster.Color(ctx, rendered, b) }
		made, err := d.aside(d.shown)
		if err != nil {
			return nil, kubernetes.Aside{}, err
		}
		if made.Colors.Next == next {
			return d, made, nil
		}
		next = made.Colors.Next
	}
	return nil, kubernetes.Aside{}, fault.New(fault.Conflict, "the services of %s have changed their colours meanwhile", s.p.Target.ReleaseName)
}

// swap is HelmBlueGreenSwapStep: the services exchange their colours; in a
// rollback only if they have been exchanged.
func (s *session) swap(ctx context.Context) (task.Result, error) {
	log := s.env.Log(unitSwap)
	c, err := s.cluster.Stage(ctx)
	if err != nil {
		return task.Result{}, err
	}
	if c == nil && s.work.Rollback {
		say(log, "This stage deployed no colour, so there is nothing to swap back")
		return s.result(outputs{})
	}
	if c == nil {
		return task.Result{}, fault.New(fault.Invalid, "the stage has no blue-green deployment to swap; want a HelmBGDeploy before the swap")
	}
	serving := c.Next
	if s.work.Rollback {
		serving = c.Serving
	}
	swapped, err := s.cluster.Point(ctx, c, serving, log)
	if err != nil {
		return task.Result{}, err
	}
	out := outputs{"primaryServiceName": c.Primary, "stageServiceName": c.Stage}
	if !swapped {
		return s.result(out)
	}
	return s.result(out, task.Change{Target: s.target(), Action: "switched"})
}
