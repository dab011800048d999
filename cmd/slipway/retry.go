package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
)

func retryCommand(a *app) *cobra.Command {
	var in api.Retry
	var follow bool
	c := a.naming.onExecution(&cobra.Command{
		Use: "retry EXECUTION|PIPELINE", Short: "Run the pipeline of an execution again with the same inputs", GroupID: groupRun, Args: cobra.ExactArgs(1),
		Long: "Retry runs the pipeline as it is now. With --from or --from-failed the stages before that one aren't run again: they\n" +
			"keep what they came to, and so do stages beside it that ended well.",
		Example: "  slipway retry x6920f1ab3c0d6e5f7a81 --from-failed --follow\n  slipway retry guestbook",
	}, newest, func(ctx context.Context, client *apiclient.Client, args []string) error {
		e, err := client.Retry(ctx, args[0], in)
		if err != nil {
			return err
		}
		return a.follower.started(ctx, client, e, follow)
	})
	c.Flags().StringVar(&in.FromStage, "from", "", "go on from this stage")
	c.Flags().BoolVar(&in.FromFailed, "from-failed", false, "go on from the first stage that failed")
	c.Flags().BoolVar(&in.All, "all", false, "of parallel stages repeat those that ended well, too")
	c.Flags().StringVar(&in.Override, "override-freeze", "", "why it runs in spite of deployment freezes")
	c.MarkFlagsMutuallyExclusive("from", "from-failed")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "show the progress until the end")
	return c
}
