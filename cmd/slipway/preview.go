package main

import (
	"context"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// preview shows what the deployments of a pipeline would change. It fails if
// that couldn't be found out of every stage.
func (a *app) preview(ctx context.Context, pipeline string, inputs inputFlags, chosen stageFlags) error {
	request, err := a.startRequest(inputs, chosen)
	if err != nil {
		return err
	}
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	p, err := client.Preview(ctx, scope, pipeline, request)
	if err != nil {
		return inputs.named(pipeline, err)
	}
	a.shows.warn(pipeline, inputs, p.Warnings)
	for _, l := range p.Left {
		fmt.Fprintf(a.err, "stage %s isn't compared: %s\n", l.Stage, l.Why)
	}
	err = client.Watch(ctx, p.Execution, func(api.ExecutionTree) {})
	if ctx.Err() != nil { // nobody else knows of it
		last, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer stop()
		if _, err := client.Abort(last, p.Execution); err != nil {
			return err
		}
		return interrupted
	}
	if err != nil {
		return err
	}
	found, err := client.Differences(ctx, p.Execution)
	if err != nil {
		return err
	}
	if err := a.shows.print(found, func() error { a.shows.differences(found); return nil }); err != nil {
		return err
	}
	if !found.Status.Good() {
		return failed
	}
	return nil
}

func (o *output) differences(found api.Differences) {
	for _, d := range found.Stages {
		o.difference(d)
	}
}

func (o *output) difference(d execution.Difference) {
	head := "stage " + d.Stage
	if d.Deploys != nil {
		head += fmt.Sprintf("  deploys %s to %s of %s", d.Deploys.Service, d.Deploys.Infrastructure, d.Deploys.Environment)
	}
	fmt.Fprintln(o.people(), head)
	switch {
	case d.Status == plan.Skipped:
		fmt.Fprintln(o.people(), "  skipped")
	case !d.Status.Good():
		fmt.Fprint(o.people(), d.Diff)
		fmt.Fprintf(o.people(), "  isn't known: %s\n", d.Message)
	case len(d.Changed) == 0:
		fmt.Fprintln(o.people(), "  nothing would change")
	default:
		fmt.Fprint(o.people(), d.Diff)
	}
}
