package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
)

func rollbackCommand(a *app) *cobra.Command {
	var (
		follow  bool
		service string
		at      api.RollbackPlace
	)
	c := a.naming.onExecution(&cobra.Command{
		Use: "rollback [EXECUTION|PIPELINE]", Short: "Roll an execution back that succeeded", GroupID: groupRun, Args: cobra.MaximumNArgs(1),
		Long: "Rollback runs the rollback steps of an execution's stages in reverse, as an execution of their own. It must be the\n" +
			"latest that has deployed its services where it put them, or of its pipeline if it has deployed nothing, and at most 30\n" +
			"days old; once it is rolled back the pipeline must run again first. --service and --env name the execution by what it\n" +
			"has deployed.",
		Example: "  slipway rollback x6920f1ab --follow\n  slipway rollback --service web --env prod",
	}, newest, func(ctx context.Context, client *apiclient.Client, args []string) error {
		if (len(args) == 1) == (service != "") || (service == "") != (at.Environment == "") {
			return fault.New(fault.Invalid, "name an execution, or a service and an environment with --service and --env")
		}
		var e api.Execution
		var err error
		if service != "" {
			e, err = a.rollbackService(ctx, client, service, at)
		} else {
			e, err = client.Rollback(ctx, args[0])
		}
		if err != nil {
			return err
		}
		return a.follower.started(ctx, client, e, follow)
	})
	c.Flags().BoolVarP(&follow, "follow", "f", false, "show the progress until the end")
	c.Flags().StringVar(&service, "service", "", "roll back what this service runs")
	c.Flags().StringVar(&at.Environment, "env", "", "in this environment")
	c.Flags().StringVar(&at.Infrastructure, "infra", "", "on this infrastructure; needed where several executions have deployed to the environment")
	return c
}

func (a *app) rollbackService(ctx context.Context, client *apiclient.Client, service string, at api.RollbackPlace) (api.Execution, error) {
	_, scope, err := a.caller.connect()
	if err != nil {
		return api.Execution{}, err
	}
	return client.RollbackService(ctx, scope, service, at)
}
