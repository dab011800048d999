package main

import "github.com/spf13/cobra"

func retryCommand(a *app) *cobra.Command {
	var follow bool
	c := &cobra.Command{
		Use: "retry EXECUTION", Short: "Run the pipeline of an execution again with the same inputs", GroupID: groupRun, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, _, err := a.connect()
			if err != nil {
				return err
			}
			e, err := client.Retry(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.started(c.Context(), client, e, follow)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "show the progress until the end")
	return c
}
