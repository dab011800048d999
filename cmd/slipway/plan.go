package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/plan"
)

func planCommand(a *app) *cobra.Command {
	var inputs inputFlags
	var chosen stageFlags
	var diff bool
	var part apiclient.Part
	c := &cobra.Command{
		Use: "plan PIPELINE", Short: "Show what a run of a pipeline would do, and start nothing", GroupID: groupRun, Args: cobra.ExactArgs(1),
		Long: "Plan prints the tree of stages and steps that \"slipway run\" would start with the same flags. Conditions and loops are\n" +
			"resolved as far as they can be before the run; what only the run knows is shown as it is written. Of each step it\n" +
			"says which connected delegates could take it.\n" +
			"With --diff delegates render what the stages would deploy to Kubernetes, ECS and Lambda, and say how that differs from what there\n" +
			"is. Nothing is changed: clusters of Kubernetes are asked by dry runs, and CloudFormation by change sets that are never executed.",
		Example:           "  slipway plan guestbook --input-set staging\n  slipway plan guestbook --diff",
		ValidArgsFunction: a.naming.completePipelines,
		RunE: func(c *cobra.Command, args []string) error {
			if diff {
				return a.preview(c.Context(), args[0], inputs, chosen)
			}
			return a.plan(c.Context(), args[0], inputs, chosen, part)
		},
	}
	inputs.add(c.Flags())
	chosen.flags(c.Flags(), "only this stage; may be repeated")
	partFlags(c.Flags(), &part)
	c.Flags().BoolVar(&diff, "diff", false, "show what the deployments would change in their clusters")
	return c
}

func (a *app) plan(ctx context.Context, pipeline string, inputs inputFlags, chosen stageFlags, part apiclient.Part) error {
	request, err := a.startRequest(inputs, chosen)
	if err != nil {
		return err
	}
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	p, err := client.Plan(ctx, scope, pipeline, request, time.Time{}, part)
	if err != nil {
		return inputs.named(pipeline, err)
	}
	a.shows.warn(pipeline, inputs, p.Warnings)
	return a.shows.print(p, func() error {
		fmt.Fprintf(a.shows.people(), "pipeline %s\n", p.Pipeline)
		if len(p.Refused) > 0 {
			fmt.Fprintf(a.shows.people(), "  a start is refused: %s\n", frozenBy(p.Refused))
		}
		if part.Node != "" {
			a.shows.rehearsed(p.Root, "  ")
			return nil
		}
		a.shows.rehearsedBelow(p.Root, "  ")
		return nil
	})
}

// rehearsed prints a node that would run, and what is below it.
func (o *output) rehearsed(n *execution.Rehearsed, indent string) {
	parts := []string{string(n.Kind)}
	for _, p := range []struct{ before, text string }{{"", n.Identifier}, {"", bracketed(n.Type)}, {"timeout ", n.Timeout}} {
		if p.text != "" {
			parts = append(parts, p.before+p.text)
		}
	}
	if n.Provisions {
		parts = append(parts, "to make the infrastructure")
	}
	if n.Rollback {
		parts = append(parts, "only to roll back")
	}
	if n.Status != "" && n.Status != "Success" {
		parts = append(parts, "when "+n.Status)
	}
	if n.AtOnce > 0 {
		parts = append(parts, fmt.Sprintf("%d at a time", n.AtOnce))
	}
	switch {
	case n.Runs == execution.No && n.Kind == plan.KindLoop:
		parts = append(parts, "skipped: it has no iterations")
	case n.Runs == execution.No:
		parts = append(parts, "skipped: "+n.Condition+" is false")
	case n.Runs == execution.Unknown && n.Kind == plan.KindLoop:
		parts = append(parts, "its iterations aren't known yet")
	case n.Runs == execution.Unknown:
		parts = append(parts, "perhaps: "+n.Condition)
	}
	fmt.Fprintln(o.people(), indent+strings.Join(parts, "  "))
	if n.Kind == plan.KindStep && n.Runs != execution.No {
		o.taker(n, indent+"    ")
	}
	if d := n.Deploys; d != nil && n.Runs != execution.No {
		fmt.Fprintf(o.people(), "%s    deploys %s to %s of %s\n", indent, d.Service, d.Infrastructure, d.Environment)
	}
	if len(n.Frozen) > 0 {
		fmt.Fprintf(o.people(), "%s    %s\n", indent, frozenBy(n.Frozen))
	}
	for _, u := range n.Unknown {
		fmt.Fprintf(o.people(), "%s    not known yet: %s\n", indent, u)
	}
	if n.Runs == execution.No {
		return
	}
	o.rehearsedBelow(n, indent+"  ")
}

func (o *output) rehearsedBelow(n *execution.Rehearsed, indent string) {
	for _, c := range n.Children {
		o.rehearsed(c, indent)
	}
	if n.Hidden != nil {
		fmt.Fprintf(o.people(), "%s%s: --node %s --from %d\n", indent, more(n.Hidden), n.ID, n.Hidden.From)
	}
}

// taker says which delegates could take a step. A step that needs none says
// nothing of selectors.
func (o *output) taker(n *execution.Rehearsed, indent string) {
	switch {
	case len(n.Delegates) > 0 && len(n.Selectors) > 0:
		fmt.Fprintf(o.people(), "%sdelegates with %s: %s\n", indent, strings.Join(n.Selectors, ", "), strings.Join(n.Delegates, ", "))
	case len(n.Selectors) > 0:
		fmt.Fprintf(o.people(), "%sno connected delegate has %s\n", indent, strings.Join(n.Selectors, ", "))
	}
}

func bracketed(text string) string {
	if text == "" {
		return ""
	}
	return "(" + text + ")"
}
