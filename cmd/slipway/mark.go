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

func markCommand(a *app) *cobra.Command {
	var as string
	c := a.naming.onExecution(&cobra.Command{
		Use: "mark EXECUTION|PIPELINE NODE --as failed|success", Short: "End a running step as failed, or a Wait step as a success", GroupID: groupRun,
		Args: cobra.ExactArgs(2),
		Long: "Mark ends a running step as failed: its task is cancelled and its failure strategies decide what follows, by the type\n" +
			"UserMarkedFailure. A stage or a step group stands for all steps that run in it, the word pipeline for all there are.\n" +
			"Only a Wait step can be marked as a success.",
		Example: "  slipway mark guestbook rollout --as failed",
	}, newestUnderWay, func(ctx context.Context, client *apiclient.Client, args []string) error {
		return a.decider.mark(ctx, client, args, as)
	})
	c.Flags().StringVar(&as, "as", "", "failed or success")
	_ = c.MarkFlagRequired("as") // it was defined above
	_ = c.RegisterFlagCompletionFunc("as", cobra.FixedCompletions([]string{"failed", "success"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (d *decider) mark(ctx context.Context, client *apiclient.Client, args []string, as string) error {
	status := map[string]plan.Status{"failed": plan.Failed, "success": plan.Success}[strings.ToLower(as)]
	if status == "" {
		return fault.New(fault.Invalid, "--as is %q; want failed or success", as)
	}
	if err := client.Mark(ctx, args[0], args[1], api.Marking{As: status}); err != nil {
		return err
	}
	fmt.Fprintf(d.shows.people(), "%s of %s is marked as %s\n", args[1], args[0], status)
	return nil
}
