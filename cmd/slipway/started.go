package main

import (
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
)

// started says that an execution was started, and follows it if asked.
func (a *app) started(ctx context.Context, client *apiclient.Client, e api.Execution, follow bool) error {
	if follow {
		return a.follow(ctx, client, e.ID)
	}
	return a.print(e, func() error {
		fmt.Fprintf(a.people(), "%s started\n", e.ID)
		fmt.Fprintf(a.err, "Follow it with: slipway executions watch %s\n", e.ID)
		return nil
	})
}
