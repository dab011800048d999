package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
)

func pauseCommand(a *app) *cobra.Command {
	return a.naming.onExecution(&cobra.Command{
		Use: "pause EXECUTION|PIPELINE", Short: "Let an execution start nothing new", GroupID: groupRun, Args: cobra.ExactArgs(1),
		Long: "Pause lets what runs go on and starts nothing after it until \"slipway resume\". Timeouts go on, too.",
	}, newestUnderWay, func(ctx context.Context, client *apiclient.Client, args []string) error {
		e, err := client.Pause(ctx, args[0])
		return a.steered(e, err, "is being paused")
	})
}

func resumeCommand(a *app) *cobra.Command {
	return a.naming.onExecution(&cobra.Command{
		Use: "resume EXECUTION|PIPELINE", Short: "Let a paused execution go on", GroupID: groupRun, Args: cobra.ExactArgs(1),
	}, newestUnderWay, func(ctx context.Context, client *apiclient.Client, args []string) error {
		e, err := client.Resume(ctx, args[0])
		return a.steered(e, err, "goes on")
	})
}
