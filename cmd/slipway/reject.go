package main

import (
	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
)

func rejectCommand(a *app) *cobra.Command {
	answer := api.ApprovalAnswer{Action: "REJECT"}
	c := &cobra.Command{
		Use: "reject EXECUTION [STEP]", Short: "Reject a step that waits for approval", GroupID: groupRun, Args: cobra.RangeArgs(1, 2),
		Long:    "Reject shows what is asked and rejects it. Without STEP it is the only step that waits for approval.",
		Example: "  slipway reject x6920f1ab --comments \"not on a Friday\"",
		RunE:    func(c *cobra.Command, args []string) error { return a.answerApproval(c.Context(), args, answer) },
	}
	c.Flags().StringVarP(&answer.Comments, "comments", "m", "", "why")
	return c
}
