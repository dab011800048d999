package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/freeze/calendar"
	"github.com/slipway-cd/slipway/pkg/ref"
)

func freezeCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "freeze", Aliases: []string{"freezes"}, Short: "Look ahead at deployment freezes", GroupID: groupRun}
	days := 90
	feed := &cobra.Command{
		Use: "calendar", Short: "Print the windows of freezes as a calendar", Args: cobra.NoArgs,
		Long:    "Calendar prints what calendar programs import. They can subscribe to it, too: docs/freezes.md says how.",
		Example: "  slipway freeze calendar --days 30 > freezes.ics",
		RunE: func(c *cobra.Command, _ []string) error {
			client, scope, err := a.caller.connect()
			if err != nil {
				return err
			}
			text, err := apiclient.FreezeCalendar(c.Context(), client, scope, days)
			if err == nil {
				_, err = a.out.Write(text)
			}
			return err
		},
	}
	feed.Flags().IntVar(&days, "days", days, "so many days ahead")
	c.AddCommand(&cobra.Command{
		Use: "list", Short: "List the freezes that count here, with the window that is open or comes next", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return listFreezes(c.Context(), a) },
	}, freezeCheckCommand(a), feed)
	return c
}

func listFreezes(ctx context.Context, a *app) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	list, err := apiclient.Freezes(ctx, client, scope)
	if err != nil {
		return err
	}
	return a.shows.print(list.Freezes, func() error {
		var rows [][]string
		for _, f := range list.Freezes {
			where := ref.Scope{Org: f.Org, Project: f.Project}
			rows = append(rows, []string{f.Freeze, strings.Trim(where.String(), "/"), freezeState(f), moment(f.Start), moment(f.End), f.Name})
		}
		return a.shows.table("FREEZE SCOPE STATE START END NAME", rows)
	})
}

func freezeState(f calendar.Entry) string {
	switch {
	case !f.Enabled:
		return "disabled"
	case f.Active:
		return "active"
	case f.Start.IsZero():
		return "over"
	}
	return "enabled"
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func freezeCheckCommand(a *app) *cobra.Command {
	var inputs inputFlags
	var chosen stageFlags
	var at string
	c := &cobra.Command{
		Use: "check PIPELINE", Short: "Say which freezes would stop a run of a pipeline, and start nothing", Args: cobra.ExactArgs(1),
		Long: "Check says whether a start would be refused, and which stages wouldn't begin, if they did at that time. It ends with a failure if\n" +
			"there are any. What a stage deploys that only the run knows is judged when it begins.",
		Example:           "  slipway freeze check ship\n  slipway freeze check ship --at 2026-12-24T18:00:00Z",
		ValidArgsFunction: a.naming.completePipelines,
		RunE: func(c *cobra.Command, args []string) error {
			var when time.Time
			if at != "" {
				var err error
				if when, err = time.Parse(time.RFC3339, at); err != nil {
					return fault.New(fault.Invalid, "--at: found %q; want a time such as 2026-12-24T18:00:00Z", at)
				}
			}
			return checkFreezes(c.Context(), a, args[0], inputs, chosen, when)
		},
	}
	inputs.add(c.Flags())
	chosen.flags(c.Flags(), "only this stage; may be repeated")
	c.Flags().StringVar(&at, "at", "", "when it would run, as RFC 3339 has it; empty: now")
	return c
}

// checkFreezes goes through a plan, in parts if it is large.
func checkFreezes(ctx context.Context, a *app, pipeline string, inputs inputFlags, chosen stageFlags, at time.Time) error {
	request, err := a.startRequest(inputs, chosen)
	if err != nil {
		return err
	}
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	plan, err := client.Plan(ctx, scope, pipeline, request, at, apiclient.Part{})
	if err != nil {
		return inputs.named(pipeline, err)
	}
	var stopped []string
	var walk func(n *execution.Rehearsed)
	walk = func(n *execution.Rehearsed) {
		if len(n.Frozen) > 0 {
			stopped = append(stopped, fmt.Sprintf("stage %s, %s to %s: %s", n.Identifier, n.Deploys.Service, n.Deploys.Environment, frozenBy(n.Frozen)))
		}
		for _, c := range n.Children {
			walk(c)
		}
		if n.Hidden != nil {
			stopped = append(stopped, fmt.Sprintf("%s aren't looked at: check them by \"slipway plan\" with --node %s --from %d", more(n.Hidden), n.ID, n.Hidden.From))
		}
	}
	walk(plan.Root)
	if len(plan.Refused) == 0 && len(stopped) == 0 {
		fmt.Fprintf(a.shows.people(), "no freeze stops pipeline %s\n", pipeline)
		return nil
	}
	for _, s := range stopped {
		fmt.Fprintln(a.shows.people(), s)
	}
	if len(plan.Refused) > 0 {
		return fault.New(fault.Frozen, "a start of pipeline %s would be refused: %s", pipeline, frozenBy(plan.Refused))
	}
	return fault.New(fault.Frozen, "pipeline %s would start, and end as AbortedByFreeze at the first of these stages", pipeline)
}

// frozenBy names freezes with their ends.
func frozenBy(list []execution.Frozen) string {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = fmt.Sprintf("%s until %s", f.Freeze, moment(f.Until))
	}
	return "frozen by " + strings.Join(names, ", ")
}
