package kubernetes

import (
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
)

// lastWords is kept of a step's time, at most a tenth of it, so that a delegate
// whose time is up can still say what was missing and mark its release.
const lastWords = 15 * time.Second

// start makes the task of a spec: it adds what its stage deploys to, and where
// the release's pods are then: those that are marked with it. A delegate must
// have the step's selectors and those of the cluster's connector
// (semantics/entities §9.1), and what p.Target.Selectors asks for besides.
func start(in step.In, p task.Kubernetes) (step.Action, error) {
	target, err := step.TargetOf[*task.KubernetesTarget](in)
	if err != nil {
		return step.Action{}, err
	}
	own := p.Target.Selectors
	p.Target = *target
	p.CanaryInStage = slices.Contains(in.Siblings, string(task.OpCanary))
	p.BlueGreenInStage = p.Op == task.OpDiff && slices.Contains(in.Siblings, string(task.OpBlueGreen))
	selectors := slices.Concat(in.Selectors, own, p.Target.Selectors)
	p.Target.Selectors = nil
	a, err := step.Deploy(in, task.KindKubernetes, p, task.KubernetesPlace{
		Cluster: p.Target.Cluster, Pods: []task.Pods{{Namespace: p.Target.Namespace, Selector: task.ReleaseLabel + "=" + p.Target.ReleaseName}},
	})
	if err != nil {
		return a, err
	}
	a.Task.Selectors, a.Task.Timeout = selectors, in.Timeout-min(in.Timeout/10, lastWords)
	return a, nil
}
