package main

import "github.com/spf13/cobra"

func rollbackCommand(a *app) *cobra.Command {
	var follow bool
	c := &cobra.Command{
		Use: "rollback EXECUTION", Short: "Roll an execution back that succeeded", GroupID: groupRun, Args: cobra.ExactArgs(1),
		Long: "Rollback runs the rollback steps of an execution's stages in reverse, as an execution of their own. It must be the\n" +
			"latest of its pipeline and at most 30 days old; once it is rolled back the pipeline must run again first.",
		Example: "  slipway rollback x6920f1ab --follow",
		RunE: func(c *cobra.Command, args []string) error {
			client, _, err := a.connect()
			if err != nil {
				return err
			}
			e, err := client.Rollback(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.started(c.Context(), client, e, follow)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "show the progress until the end")
	return c
}
