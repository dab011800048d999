package kubernetes

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

// The words for services in a routing.
const (
	wordStable = "stable"
	wordCanary = "canary"
	wordStage  = "stage"
)

// trafficStep is K8sTrafficRouting (semantics/kubernetes §16).
func (s *session) trafficStep(ctx context.Context) (task.Result, error) {
	if s.p.Traffic == nil {
		return task.Result{}, fault.New(fault.Invalid, "trafficRouting is missing")
	}
	all, err := s.history.all(ctx)
	if err != nil {
		return task.Result{}, err
	}
	var made *release
	for _, r := range all {
		if r.Execution == s.work.Execution && r.Stage == s.work.Stage && r.Mode != modeRolling {
			made = r
			break
		}
	}
	objects, err := s.network.routeTraffic(ctx, s.p.Traffic, made)
	if err != nil {
		return task.Result{}, err
	}
	return s.done(nil, s.changed("routed", objects, nil))
}

// network has the cluster's network send shares of the traffic to versions.
type network struct {
	client  *client
	work    task.Work
	p       lane.Spec
	env     executor.Env
	applier *applier
}

// routeTraffic makes or changes routes and gives the objects that say so. made
// is the release whose services the words stand for; nil if there is none.
func (n *network) routeTraffic(ctx context.Context, t *lane.TrafficRouting, made *release) ([]*unstructured.Unstructured, error) {
	log := n.env.Log(unitTraffic)
	kept, err := n.routing(ctx)
	if err != nil {
		return nil, err
	}
	t = withServices(t, made)
	if t.Inherit {
		if kept == nil {
			return nil, fault.New(fault.NotFound, "no earlier step has made routes for the release %s, so there are none to change", n.p.Target.ReleaseName)
		}
		if t, err = inherited(kept.Routing, t); err != nil {
			return nil, err
		}
	}
	return n.applyRouting(ctx, kept, t, log)
}

// applyRouting brings a routing's weights in order, applies its objects and
// keeps it.
func (n *network) applyRouting(ctx context.Context, kept *routed, t *lane.TrafficRouting, log io.Writer) ([]*unstructured.Unstructured, error) {
	out := *t
	out.Routes = slices.Clone(t.Routes)
	for i, r := range out.Routes {
		var scaled bool
		out.Routes[i].Destinations, scaled = normal(r.Destinations)
		if scaled {
			say(log, "warning: the weights of the route %s don't add up to %d and are scaled", r.Name, whole)
		}
		for k, d := range out.Routes[i].Destinations {
			if word := d.Host; word == wordStable || word == wordCanary || word == wordStage {
				return nil, fault.New(fault.Invalid, "the destination %s of the route %s stands for no service: this stage has made none for it", word, r.Name)
			}
			if d.Port == 0 && (t.Provider == lane.TrafficGateway || t.Provider == lane.TrafficNginx) {
				out.Routes[i].Destinations[k].Port = n.portOf(ctx, d.Host)
			}
		}
	}
	objects, err := n.mesh(&out)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if _, err := n.applier.applyOne(ctx, o, false, log); err != nil {
			return nil, err
		}
		say(log, "%s applied", display(o))
	}
	for _, r := range out.Routes {
		say(log, "Route %s: %s", r.Name, shares(r.Destinations))
	}
	return objects, n.keepRouting(ctx, kept, &out)
}

func shares(list []lane.TrafficDestination) string {
	var out []string
	for _, d := range list {
		out = append(out, fmt.Sprintf("%s %d%%", d.Host, *d.Weight))
	}
	return strings.Join(out, ", ")
}

// portOf is a service's first port; 0 if that can't be told.
func (n *network) portOf(ctx context.Context, service string) int {
	live, err := n.client.Dynamic.Resource(services()).Namespace(n.p.Target.Namespace).Get(ctx, service, metav1.GetOptions{})
	if err != nil {
		return 0
	}
	ports, _, _ := unstructured.NestedSlice(live.Object, "spec", "ports")
	if len(ports) == 0 {
		return 0
	}
	m, _ := ports[0].(map[string]any)
	port, _ := number(&unstructured.Unstructured{Object: m}, "port")
	return int(port)
}

// withServices puts the names of services in the place of the words for them.
func withServices(t *lane.TrafficRouting, made *release) *lane.TrafficRouting {
	names := map[string]string{}
	switch {
	case made == nil:
	case made.Mode == modeBlueGreen:
		names = map[string]string{wordStable: made.PrimaryService, wordStage: made.StageService}
	case made.StableService != "":
		names = map[string]string{wordStable: made.StableService, wordCanary: made.CanaryService}
	}
	out := *t
	out.Routes = slices.Clone(t.Routes)
	for i, r := range out.Routes {
		out.Routes[i].Destinations = slices.Clone(r.Destinations)
		for k, d := range r.Destinations {
			if name := names[d.Host]; name != "" {
				out.Routes[i].Destinations[k].Host = name
			}
		}
	}
	return &out
}

// inherited changes the weights of routes that there are.
func inherited(kept, updates *lane.TrafficRouting) (*lane.TrafficRouting, error) {
	out := *kept
	out.Routes = slices.Clone(kept.Routes)
	for _, u := range updates.Routes {
		i := slices.IndexFunc(out.Routes, func(r lane.TrafficRoute) bool { return r.Name == u.Name })
		if i < 0 {
			var known []string
			for _, r := range out.Routes {
				known = append(known, r.Name)
			}
			return nil, fault.New(fault.NotFound, "there is no route %q; want one of %s", u.Name, strings.Join(known, ", "))
		}
		changed, err := shift(out.Routes[i].Destinations, u.Destinations)
		if err != nil {
			return nil, fault.Wrap(err, "route %s", u.Name)
		}
		out.Routes[i].Destinations = changed
	}
	return &out, nil
}

// toStable takes all requests from a service, before it is deleted or has
// nothing behind it that should be seen. A route to it alone stays as it is.
func (n *network) toStable(ctx context.Context, from, stable string) error {
	kept, err := n.routing(ctx)
	if err != nil || kept == nil || from == "" {
		return err
	}
	t := *kept.Routing
	t.Routes = slices.Clone(t.Routes)
	changed := false
	for i, r := range t.Routes {
		var left []lane.TrafficDestination
		for _, d := range r.Destinations {
			if d.Host != from {
				left = append(left, d)
			}
		}
		if len(left) == len(r.Destinations) || len(left) == 0 {
			continue
		}
		changed = true
		t.Routes[i].Destinations = allTo(r.Destinations, from, stable)
	}
	if !changed {
		return nil
	}
	_, err = n.applyRouting(ctx, kept, &t, n.env.Log(unitTraffic))
	return err
}
