package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
)

func rejectCommand(a *app) *cobra.Command {
	answer := api.ApprovalAnswer{Action: "REJECT"}
	c := a.naming.onExecution(&cobra.Command{
		Use: "reject EXECUTION|PIPELINE [STEP]", Short: "Reject a step that waits for approval", GroupID: groupRun, Args: cobra.RangeArgs(1, 2),
		Long:    "Reject shows what is asked and rejects it. Without STEP it is the only step that waits for approval.",
		Example: "  slipway reject guestbook --comments \"not on a Friday\"",
	}, newestUnderWay, func(ctx context.Context, client *apiclient.Client, args []string) error {
		return a.decider.answerApproval(ctx, client, args, answer)
	})
	c.Flags().StringVarP(&answer.Comments, "comments", "m", "", "why")
	return c
}
