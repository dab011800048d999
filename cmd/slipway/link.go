package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/plan"
)

func linkCommand(a *app) *cobra.Command {
	var in api.MakeLink
	c := a.naming.onExecution(&cobra.Command{
		Use: "link EXECUTION|PIPELINE [STEP]", Short: "Make a one-time link to a step that waits for approval", GroupID: groupRun, Args: cobra.RangeArgs(1, 2),
		Long: "Link prints an address at which one person can answer an approval once, without a token: GET shows what is asked,\n" +
			"POST answers with {\"action\": \"APPROVE\"} or {\"action\": \"REJECT\"}, and perhaps comments and inputs.\n" +
			"Whoever has the address can answer: send it to nobody else.",
		Example: "  slipway link x6920f1ab --for ada@example.com --hours 4",
	}, newestUnderWay, func(ctx context.Context, client *apiclient.Client, args []string) error {
		n, err := a.decider.waiting(ctx, client, args, plan.ApprovalWaiting)
		if err != nil {
			return err
		}
		link, err := client.ApprovalLink(ctx, args[0], string(n.ID), in)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.err, "for %s, until %s\n", link.Approver, link.ExpiresAt.Format(time.RFC3339))
		fmt.Fprintln(a.shows.people(), client.URL()+link.Path)
		return nil
	})
	c.Flags().StringVar(&in.Approver, "for", "", "who will answer by it; you if empty")
	c.Flags().IntVar(&in.Hours, "hours", 24, "how long it is valid")
	return c
}
