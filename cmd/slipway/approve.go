package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
)

func approveCommand(a *app) *cobra.Command {
	var inputs []string
	answer := api.ApprovalAnswer{Action: "APPROVE"}
	c := a.naming.onExecution(&cobra.Command{
		Use: "approve EXECUTION|PIPELINE [STEP]", Short: "Approve a step that waits for approval", GroupID: groupRun, Args: cobra.RangeArgs(1, 2),
		Long:    "Approve shows what is asked and answers it. Without STEP it is the only step that waits for approval.",
		Example: "  slipway approve x6920f1ab3c0d6e5f7a81\n  slipway approve guestbook release --input ticket=OPS-7 --comments \"checked\"",
	}, newestUnderWay, func(ctx context.Context, client *apiclient.Client, args []string) error {
		var err error
		if answer.Inputs, err = keyValues(inputs); err != nil {
			return err
		}
		return a.decider.answerApproval(ctx, client, args, answer)
	})
	c.Flags().StringArrayVarP(&inputs, "input", "i", nil, "value that the approval asks for, as NAME=VALUE; may be repeated")
	c.Flags().StringVarP(&answer.Comments, "comments", "m", "", "why")
	return c
}
