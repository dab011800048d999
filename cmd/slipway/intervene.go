package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

func interveneCommand(a *app) *cobra.Command {
	var action string
	c := a.naming.onExecution(&cobra.Command{
		Use: "intervene EXECUTION|PIPELINE [STEP] --action ACTION", Short: "Decide about a failed step that waits for a person", GroupID: groupRun,
		Args:    cobra.RangeArgs(1, 2),
		Long:    "Intervene answers a manual intervention. Actions: " + strings.Join(interventionNames(), ", ") + ".",
		Example: "  slipway intervene guestbook --action Retry",
	}, newestUnderWay, func(ctx context.Context, client *apiclient.Client, args []string) error {
		return a.decider.intervene(ctx, client, args, action)
	})
	c.Flags().StringVar(&action, "action", "", "what to do")
	_ = c.MarkFlagRequired("action") // it was defined above
	_ = c.RegisterFlagCompletionFunc("action", cobra.FixedCompletions(interventionNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func interventions() []plan.ActionType {
	return []plan.ActionType{plan.Retry, plan.Ignore, plan.MarkAsSuccess, plan.MarkAsFailure, plan.StageRollback, plan.PipelineRollback, plan.StepGroupRollback, plan.Abort}
}

func interventionNames() []string {
	var names []string
	for _, i := range interventions() {
		names = append(names, string(i))
	}
	return names
}

// interventionOf reads an action in any case, also as mark-as-success.
func interventionOf(text string) (plan.ActionType, error) {
	for _, i := range interventions() {
		if strings.EqualFold(strings.ReplaceAll(text, "-", ""), string(i)) {
			return i, nil
		}
	}
	return "", fault.New(fault.Invalid, "the action %q isn't one of %s", text, strings.Join(interventionNames(), ", "))
}

func (d *decider) intervene(ctx context.Context, client *apiclient.Client, args []string, text string) error {
	action, err := interventionOf(text)
	if err != nil {
		return err
	}
	n, err := d.waiting(ctx, client, args, plan.InterventionWaiting)
	if err != nil {
		return err
	}
	if err := client.Intervene(ctx, args[0], string(n.ID), api.Intervention{Action: action}); err != nil {
		return err
	}
	fmt.Fprintf(d.shows.people(), "%s of %s: %s\n", n.Identifier, args[0], action)
	return nil
}
