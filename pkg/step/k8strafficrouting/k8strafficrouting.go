// Package k8strafficrouting is the step type K8sTrafficRouting: requests are
// sent to services by weight, or the weights of an earlier step change
// (semantics/kubernetes §16).
//
// Outputs: output.releaseName. The objects of Istio, SMI, the Gateway API or
// ingress-nginx are made by delegate/kubernetes.
package k8strafficrouting

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The types: routes that are made, or those that there are.
const (
	config  = "config"
	inherit = "inherit"
)

// Type describes the step type.
func Type() step.Type {
	return step.Type{Name: string(task.OpTrafficRouting), Deploys: true, New: decode}
}

// Spec is the step's spec.
type Spec struct {
	Routing *task.TrafficRouting
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	kind := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Word(nil, config, inherit),
		"trafficRouting": func(e yamldoc.Value) {
			if kind == inherit {
				s.Routing = kubernetes.InheritedTraffic(d, e)
			} else {
				s.Routing = kubernetes.Traffic(d, e)
			}
		},
		"delegateSelectors": d.Words(nil), // the plan's
	})
	d.Missing(v, "type", "trafficRouting")
	return s
}

// Start has a delegate route the traffic.
func (s *Spec) Start(in step.In) (step.Action, error) {
	if s.Routing == nil || len(s.Routing.Routes) == 0 {
		return step.Action{}, fault.New(fault.Invalid, "trafficRouting has no routes")
	}
	return kubernetes.Start(in, task.Kubernetes{Op: task.OpTrafficRouting, Traffic: s.Routing})
}
