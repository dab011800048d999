package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func abortCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "abort EXECUTION", Short: "End an execution without rolling anything back", GroupID: groupRun, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, _, err := a.connect()
			if err != nil {
				return err
			}
			e, err := client.Abort(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.print(e, func() error {
				fmt.Fprintf(a.people(), "%s is being aborted\n", e.ID)
				return nil
			})
		},
	}
}
