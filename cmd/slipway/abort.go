package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
)

func abortCommand(a *app) *cobra.Command {
	return a.naming.onExecution(&cobra.Command{
		Use: "abort EXECUTION|PIPELINE", Short: "End an execution without rolling anything back", GroupID: groupRun, Args: cobra.ExactArgs(1),
		Long:    "Abort ends an execution. A pipeline stands for its newest execution that is under way.",
		Example: "  slipway abort x6920f1ab3c0d6e5f7a81\n  slipway abort guestbook",
	}, newestUnderWay, func(ctx context.Context, client *apiclient.Client, args []string) error {
		e, err := client.Abort(ctx, args[0])
		return a.steered(e, err, "is being aborted")
	})
}
