package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The types: routes that are made, or those that there are.
const (
	routingConfig  = "config"
	routingInherit = "inherit"
)

// trafficRoutingType is the step type K8sTrafficRouting: requests are sent to
// services by weight, or the weights of an earlier step change
// (semantics/kubernetes §16).
//
// Outputs: output.releaseName. The objects of Istio, SMI, the Gateway API or
// ingress-nginx are made by delegate/kubernetes.
func trafficRoutingType() step.Type {
	return step.Type{Name: string(OpTrafficRouting), Deploys: true, New: decodeTrafficRouting}
}

// trafficRouting is the step's spec.
type trafficRouting struct {
	Routing *TrafficRouting
}

func decodeTrafficRouting(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &trafficRouting{}
	kind := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Word(nil, routingConfig, routingInherit),
		"trafficRouting": func(e yamldoc.Value) {
			if kind == routingInherit {
				s.Routing = inheritedTraffic(d, e)
			} else {
				s.Routing = traffic(d, e)
			}
		},
		"delegateSelectors": d.Words(nil), // the plan's
	})
	d.Missing(v, "type", "trafficRouting")
	return s
}

// Start has a delegate route the traffic.
func (s *trafficRouting) Start(in step.In) (step.Action, error) {
	if s.Routing == nil || len(s.Routing.Routes) == 0 {
		return step.Action{}, fault.New(fault.Invalid, "trafficRouting has no routes")
	}
	return start(in, Spec{Op: OpTrafficRouting, Traffic: s.Routing})
}
