package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/ref"
)

func artifactsCommand(a *app) *cobra.Command {
	var ask api.AskVersions
	c := &cobra.Command{
		Use: "artifacts SERVICE", Short: "List the versions of a service's artifact", GroupID: groupRun, Args: cobra.ExactArgs(1),
		Long:    "Artifacts has a delegate ask the source of a service's artifact which versions there are, the newest first.",
		Example: "  slipway artifacts web --limit 5\n  slipway artifacts web --source proxy",
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return a.naming.completeIDs(c, string(ref.Service), len(args) > 0)
		},
		RunE: func(c *cobra.Command, args []string) error { return a.artifacts(c.Context(), args[0], ask) },
	}
	c.Flags().StringVar(&ask.Source, "source", "", "the identifier of another artifact source, or of a sidecar")
	c.Flags().IntVar(&ask.Limit, "limit", 20, "at most so many")
	return c
}

func (a *app) artifacts(ctx context.Context, service string, ask api.AskVersions) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	asked, err := client.AskVersions(ctx, scope, service, ask)
	if err != nil {
		return err
	}
	if err := client.Watch(ctx, asked.Execution, func(api.ExecutionTree) {}); err != nil {
		return err
	}
	found, err := client.Versions(ctx, asked.Execution)
	if err != nil {
		return err
	}
	if !found.Status.Good() {
		return errors.New(found.Message)
	}
	return a.shows.print(found.Versions, func() error {
		rows := make([][]string, len(found.Versions))
		for i, v := range found.Versions {
			made := ""
			if !v.Created.IsZero() {
				made = v.Created.Format(time.RFC3339)
			}
			rows[i] = []string{v.Version, made}
		}
		return a.shows.table("VERSION CREATED", rows)
	})
}
