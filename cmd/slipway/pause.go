package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
)

func pauseCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "pause EXECUTION", Short: "Let an execution start nothing new", GroupID: groupRun, Args: cobra.ExactArgs(1),
		Long: "Pause lets what runs go on and starts nothing after it until \"slipway resume\". Timeouts go on, too.",
		RunE: func(c *cobra.Command, args []string) error {
			return a.steer(c.Context(), args[0], (*apiclient.Client).Pause, "is being paused")
		},
	}
}

func resumeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "resume EXECUTION", Short: "Let a paused execution go on", GroupID: groupRun, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.steer(c.Context(), args[0], (*apiclient.Client).Resume, "goes on")
		},
	}
}

// steer changes how an execution goes on and says so.
func (a *app) steer(ctx context.Context, id string, change func(*apiclient.Client, context.Context, string) (api.Execution, error), done string) error {
	client, _, err := a.connect()
	if err != nil {
		return err
	}
	e, err := change(client, ctx, id)
	if err != nil {
		return err
	}
	return a.print(e, func() error {
		fmt.Fprintf(a.people(), "%s %s\n", e.ID, done)
		return nil
	})
}
