package target

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/extent"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Expand finds the deployments of a stage that may have several, whose loop is
// the node: each service to each infrastructure (semantics/entities §5.2). None
// if the loop's condition is false.
func (s *Stage) Expand(ctx context.Context) (plan.Iterations, error) {
	x := expansion{Stage: s, ctx: ctx}
	if when := s.decoded(s.Node.Children[0].Doc).Multi.When.Text; when != "" {
		if run, err := expr.Condition(when, s.Names(nil)); err != nil || !run {
			return plan.Iterations{}, err
		}
	}
	w, err := s.wanted(s.Node.Children[0].Doc)
	if err != nil {
		return plan.Iterations{}, err
	}
	for i := range w.services {
		if w.services[i].Ref, err = s.name(w.services[i].Ref); err != nil {
			return plan.Iterations{}, fault.Wrap(err, "serviceRef")
		}
	}
	places, err := x.places(w)
	if err != nil {
		return plan.Iterations{}, err
	}
	return x.iterations(w, places)
}

// expansion is one in the making.
type expansion struct {
	*Stage

	ctx context.Context //nolint:containedctx // lives for one call
}

// iterations are the combinations in their order. Services follow each other
// on an infrastructure unless they are parallel, and infrastructures follow
// each other unless they are.
func (x *expansion) iterations(w wanted, places []spot) (plan.Iterations, error) {
	servicesParallel, err := x.flag("services.metadata.parallel", w.Services.Parallel)
	if err != nil {
		return plan.Iterations{}, err
	}
	placesParallel, err := x.flag("metadata.parallel", w.parallel)
	if err != nil {
		return plan.Iterations{}, err
	}
	out := plan.Iterations{Lined: !servicesParallel && !w.Multi.RunsAll()}
	byService := !servicesParallel && placesParallel
	outer, inner := len(places), len(w.services)
	if byService {
		outer, inner = inner, outer
	}
	wave := 0
	for i := range outer {
		for j := range inner {
			service, place := w.services[j%len(w.services)], places[i%len(places)]
			if byService {
				service, place = w.services[i], places[j]
			}
			c, takes, err := x.choose(w, service, place)
			if err != nil {
				return plan.Iterations{}, err
			}
			if !takes {
				continue
			}
			if err := x.add(&out, c, wave); err != nil {
				return plan.Iterations{}, err
			}
			if !servicesParallel && !placesParallel {
				wave++
			}
		}
		if servicesParallel != placesParallel {
			wave++
		}
	}
	switch {
	case len(out.List) > 0:
	case w.GitOps:
		return plan.Iterations{}, noCluster()
	default:
		return plan.Iterations{}, fault.New(fault.Invalid, "no infrastructure matched: the stage has nothing to deploy to")
	}
	return out, x.bound(&out, w.Multi.MaxConcurrency.Text)
}

// choose is the deployment of a service to a place; false: it isn't deployed there.
func (x *expansion) choose(w wanted, service plan.Pick, place spot) (plan.Choice, bool, error) {
	if w.GitOps {
		c := w.pulled(service, place.environment)
		c.Group = place.group
		found, err := x.narrow(&c, place.filters)
		return c, found, err
	}
	takes, err := x.takes(place, service)
	return plan.Choice{
		Type: w.Type.Text, Template: w.CustomRef.Doc, Service: service, Environment: place.environment.Pick, Infrastructure: place.infrastructure, Group: place.group,
		Overrides: place.environment.inputsFor(service.Ref),
	}, takes, err
}

// add adds a deployment.
func (x *expansion) add(out *plan.Iterations, c plan.Choice, wave int) error {
	matrix, name := map[string]string{"serviceRef": c.Service.Ref, "environmentRef": c.Environment.Ref}, []string{x.Node.Name, c.Service.Ref, c.Environment.Ref}
	if c.GitOps == nil {
		matrix["identifier"] = c.Infrastructure.Ref
		name = append(name, c.Infrastructure.Ref)
	}
	values, err := json.Marshal(map[string]any{"matrix": matrix})
	if err != nil {
		return fmt.Errorf("encode the values of a deployment: %w", err)
	}
	out.List = append(out.List, plan.Iteration{
		Postfix: "_" + strconv.Itoa(len(out.List)), Values: values, Wave: wave,
		Name: strings.Join(name, " "), Choice: &c,
	})
	return nil
}

// bound checks how much there is, and reads how many may run at a time.
func (x *expansion) bound(out *plan.Iterations, most string) error {
	if len(out.List) > extent.MaxIterations {
		return fault.New(fault.TooLarge, "there would be %d deployments; the limit is %d", len(out.List), extent.MaxIterations)
	}
	doc, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode the deployments: %w", err)
	}
	if len(doc) > maxBytes {
		return fault.New(fault.TooLarge, "what is deployed where, with its inputs, has %d bytes; the limit is %d", len(doc), maxBytes)
	}
	if most == "" {
		return nil
	}
	v, err := x.interpolate(most)
	if err != nil {
		return fault.Wrap(err, "maxConcurrency")
	}
	if out.MaxConcurrency, err = strconv.Atoi(strings.TrimSpace(v.Text())); err != nil || out.MaxConcurrency < 0 {
		return fault.New(fault.Invalid, "maxConcurrency is %q; want a whole number from 0 on", v.Text())
	}
	return nil
}

// flag evaluates a flag; false where there is none.
func (x *expansion) flag(what string, f yamldoc.Field[bool]) (bool, error) {
	if f.Text == "" {
		return false, nil
	}
	v, err := x.interpolate(f.Text)
	if err != nil {
		return false, fault.Wrap(err, "%s", what)
	}
	is, err := strconv.ParseBool(strings.ToLower(v.Text()))
	if err != nil {
		return false, fault.New(fault.Invalid, "%s is %q; want true or false", what, v.Text())
	}
	return is, nil
}
