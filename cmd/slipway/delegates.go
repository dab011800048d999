package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
)

func delegatesCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "delegates", Short: "List the delegates that may work for the project", GroupID: groupAdmin, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.delegates(c.Context()) },
	}
}

func (a *app) delegates(ctx context.Context) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	all, err := apiclient.All(0, func(p apiclient.Page) ([]api.Delegate, string, error) { return client.Delegates(ctx, scope, p) })
	if err != nil {
		return err
	}
	return a.shows.print(all, func() error {
		var rows [][]string
		for _, d := range all {
			rows = append(rows, []string{
				d.Name, delegateState(d), fmt.Sprintf("%d/%d", d.Running, d.Capacity), strings.Join(d.Tags, ","), d.Host, d.Version, age(d.LastSeen, time.Now()),
			})
		}
		return a.shows.table("NAME STATE TASKS TAGS HOST VERSION SEEN", rows)
	})
}

func delegateState(d api.Delegate) string {
	switch {
	case !d.Connected:
		return "lost"
	case d.Draining:
		return "stopping"
	}
	return "connected"
}
