package main

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// newestOf says which of its executions a pipeline stands for, where a command
// is given a pipeline instead of an execution.
type newestOf bool

const (
	newest         newestOf = false
	newestUnderWay newestOf = true
)

// onExecution makes a command whose first argument is an execution's id, or a
// pipeline's identifier, which stands for the newest of its executions. run
// gets the id in its place.
func (n *naming) onExecution(c *cobra.Command, which newestOf, run func(ctx context.Context, client *apiclient.Client, args []string) error) *cobra.Command {
	c.ValidArgsFunction = func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return n.completeExecutions(c, len(args) > 0, which)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		client, scope, err := n.caller.connect()
		if err != nil {
			return err
		}
		if len(args) > 0 {
			if args[0], err = n.executionID(c.Context(), client, scope, args[0], which); err != nil {
				return err
			}
		}
		return run(c.Context(), client, args)
	}
	return c
}

// executionIDs is what every execution's id looks like: made from its start's
// key, as this program gives one, or of the time and at random (pkg/execution,
// newID).
var executionIDs = regexp.MustCompile(`^x([0-9a-f]{20}|[0-9a-f]{8}[A-Z2-7]{10})$`)

// executionID is the id that an argument stands for. It is told which it is
// where a pipeline was named: somebody may have started another one since.
func (n *naming) executionID(ctx context.Context, client *apiclient.Client, scope ref.Scope, arg string, which newestOf) (string, error) {
	if executionIDs.MatchString(arg) {
		return arg, nil
	}
	list, _, err := client.Executions(ctx, scope, apiclient.ExecutionFilter{Pipeline: arg}, apiclient.Page{Limit: 100})
	if fault.Is(err, fault.NotFound) {
		return "", fault.New(fault.NotFound, "%q is neither an execution's id nor a pipeline of %s", arg, scopeName(scope))
	}
	if err != nil {
		return "", err
	}
	for _, e := range list {
		if which == newest || !e.Status.Terminal() {
			fmt.Fprintf(n.err, "execution %s, #%d of %s\n", e.ID, e.Sequence, e.Pipeline)
			return e.ID, nil
		}
	}
	if len(list) == 0 {
		return "", fault.New(fault.NotFound, "pipeline %q has never run in %s", arg, scopeName(scope))
	}
	return "", fault.New(fault.Conflict, "no execution of pipeline %q is under way; the newest, %s, is %s", arg, list[0].ID, list[0].Status)
}

// completeExecutions completes EXECUTION with the latest ones, each with what
// it is.
func (n *naming) completeExecutions(c *cobra.Command, done bool, which newestOf) ([]string, cobra.ShellCompDirective) {
	const shown = 50
	client, scope, err := n.caller.connect()
	if err != nil || done {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, _, err := client.Executions(c.Context(), scope, apiclient.ExecutionFilter{Statuses: which.statuses()}, apiclient.Page{Limit: shown})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []string
	for _, e := range list {
		found = append(found, fmt.Sprintf("%s\t%s #%d, %s, %s ago", e.ID, e.Pipeline, e.Sequence, e.Status, age(e.StartedAt, time.Now())))
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

func (n newestOf) statuses() []plan.Status {
	var out []plan.Status
	for _, s := range plan.Statuses() {
		if n == newestUnderWay && !s.Terminal() {
			out = append(out, s)
		}
	}
	return out
}

// steered shows an execution that was changed, and says how.
func (a *app) steered(e api.Execution, err error, done string) error {
	if err != nil {
		return err
	}
	return a.shows.print(e, func() error {
		fmt.Fprintf(a.shows.people(), "%s %s\n", e.ID, done)
		return nil
	})
}
