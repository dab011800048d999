package main

import (
	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/fault"
)

func rollbackCommand(a *app) *cobra.Command {
	var (
		follow  bool
		service string
		at      api.RollbackPlace
	)
	c := &cobra.Command{
		Use: "rollback [EXECUTION]", Short: "Roll an execution back that succeeded", GroupID: groupRun, Args: cobra.MaximumNArgs(1),
		Long: "Rollback runs the rollback steps of an execution's stages in reverse, as an execution of their own. It must be the\n" +
			"latest that has deployed its services where it put them, or of its pipeline if it has deployed nothing, and at most 30\n" +
			"days old; once it is rolled back the pipeline must run again first. --service and --env name the execution by what it\n" +
			"has deployed.",
		Example: "  slipway rollback x6920f1ab --follow\n  slipway rollback --service web --env prod",
		RunE: func(c *cobra.Command, args []string) error {
			if (len(args) == 1) == (service != "") || (service == "") != (at.Environment == "") {
				return fault.New(fault.Invalid, "name an execution, or a service and an environment with --service and --env")
			}
			client, scope, err := a.connect()
			if err != nil {
				return err
			}
			var e api.Execution
			if service != "" {
				e, err = client.RollbackService(c.Context(), scope, service, at)
			} else {
				e, err = client.Rollback(c.Context(), args[0])
			}
			if err != nil {
				return err
			}
			return a.started(c.Context(), client, e, follow)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "show the progress until the end")
	c.Flags().StringVar(&service, "service", "", "roll back what this service runs")
	c.Flags().StringVar(&at.Environment, "env", "", "in this environment")
	c.Flags().StringVar(&at.Infrastructure, "infra", "", "on this infrastructure; needed where several executions have deployed to the environment")
	return c
}
