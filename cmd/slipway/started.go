package main

import (
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
)

// started says that an execution was started, and follows it if asked.
func (w *follower) started(ctx context.Context, client *apiclient.Client, e api.Execution, follow bool) error {
	if follow {
		return w.follow(ctx, client, e.ID)
	}
	return w.shows.print(e, func() error {
		fmt.Fprintf(w.shows.people(), "%s started\n", e.ID)
		fmt.Fprintf(w.err, "Follow it with: slipway executions watch %s\n", e.ID)
		return nil
	})
}
