package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// executionsFlags are what "slipway executions" is asked for.
type executionsFlags struct {
	pipeline string
	statuses []string
	since    string
	limit    int
}

func executionsCommand(a *app) *cobra.Command {
	var f executionsFlags
	c := &cobra.Command{
		Use: "executions", Aliases: []string{"execution", "ex"}, Short: "List, show or follow executions", GroupID: groupRun, Args: cobra.NoArgs,
		Long: "Executions lists what has run and runs, newest first.",
		Example: "  slipway executions --pipeline guestbook\n  slipway executions --status failed,aborted --since 24h\n" +
			"  slipway executions watch x6920f1ab3c0d6e5f7a81\n  slipway executions get guestbook",
		RunE: func(c *cobra.Command, _ []string) error { return a.executions(c.Context(), f) },
	}
	c.Flags().StringVar(&f.pipeline, "pipeline", "", "only those of this pipeline")
	c.Flags().StringSliceVar(&f.statuses, "status", nil, "only those with one of these statuses, in any case, e.g. failed,running")
	c.Flags().StringVar(&f.since, "since", "", "only those that began since then: 90m, 24h, 7d, 2026-11-01 or 2026-11-01T08:00:00Z")
	c.Flags().IntVar(&f.limit, "limit", 20, "at most so many, newest first; 0 means all")
	_ = c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(statusNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("pipeline", func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.naming.completePipelines(c, nil, "")
	})
	c.AddCommand(
		executionsGetCommand(a),
		inspectCommand(a),
		a.naming.onExecution(&cobra.Command{
			Use: "watch EXECUTION|PIPELINE", Short: "Follow an execution until its end", Args: cobra.ExactArgs(1),
		}, newest, func(ctx context.Context, client *apiclient.Client, args []string) error {
			return a.follower.follow(ctx, client, args[0])
		}),
	)
	return c
}

func executionsGetCommand(a *app) *cobra.Command {
	var part apiclient.Part
	var statuses []string
	c := a.naming.onExecution(&cobra.Command{
		Use: "get EXECUTION|PIPELINE", Short: "Show an execution with its stages and steps", Args: cobra.ExactArgs(1),
		Long: fmt.Sprintf("Get shows an execution with its stages and steps. Of one with more than %s the first of each level are\n", thousands(execution.MaxShown)) +
			"shown, and how many there are below them; --node and --from show the rest, --status those that are looked for.",
		Example: "  slipway executions get guestbook\n  slipway executions get guestbook --status failed",
	}, newest, func(ctx context.Context, client *apiclient.Client, args []string) error {
		var err error
		if part.Status, err = statusesOf(statuses); err != nil {
			return err
		}
		return a.shows.showExecution(ctx, client, args[0], part)
	})
	partFlags(c.Flags(), &part)
	c.Flags().StringSliceVar(&statuses, "status", nil, "only nodes with one of these statuses, in any case, and those above them")
	_ = c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(statusNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func statusNames() []string {
	var names []string
	for _, s := range plan.Statuses() {
		names = append(names, string(s))
	}
	return names
}

// filter is what the flags ask for.
func (f executionsFlags) filter(now time.Time) (apiclient.ExecutionFilter, error) {
	out := apiclient.ExecutionFilter{Pipeline: f.pipeline}
	var err error
	if out.Statuses, err = statusesOf(f.statuses); err != nil {
		return out, err
	}
	out.Since, err = sinceOf(f.since, now)
	return out, err
}

// statusesOf are the statuses that a flag names, in any case.
func statusesOf(words []string) ([]plan.Status, error) {
	var out []plan.Status
	for _, word := range words {
		i := slices.IndexFunc(plan.Statuses(), func(s plan.Status) bool { return strings.EqualFold(string(s), word) })
		if i < 0 {
			return nil, fault.New(fault.Invalid, "--status is %q; want some of %s", word, plan.StatusNames())
		}
		out = append(out, plan.Statuses()[i])
	}
	return out, nil
}

// sinceOf reads a moment: how long ago, a day (its begin, here) or a time.
func sinceOf(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, err := strconv.Atoi(strings.TrimSuffix(text, "d")); err == nil && days >= 0 && strings.HasSuffix(text, "d") {
		return now.AddDate(0, 0, -days), nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fault.New(fault.Invalid, "--since is %q; want how long ago, such as 90m, 24h or 7d, a day such as 2026-11-01, or a time such as 2026-11-01T08:00:00Z", text)
}

func (a *app) executions(ctx context.Context, f executionsFlags) error {
	filter, err := f.filter(time.Now())
	if err != nil {
		return err
	}
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	all, err := apiclient.All(f.limit, func(p apiclient.Page) ([]api.Execution, string, error) {
		return client.Executions(ctx, scope, filter, p)
	})
	if err != nil {
		return err
	}
	return a.shows.print(all, func() error {
		var rows [][]string
		for _, e := range all {
			rows = append(rows, []string{
				e.ID, e.Pipeline, "#" + strconv.FormatInt(e.Sequence, 10), string(e.Status), age(e.StartedAt, time.Now()), took(e, time.Now()), e.Actor,
				e.StartedAt.UTC().Format(time.RFC3339), cmp.Or(e.RetryOf, e.Undoes, e.Parent, "-"), cmp.Or(firstLine(e.Message), "-"),
			})
		}
		return a.shows.table("ID PIPELINE RUN STATUS STARTED TOOK BY | AT OF MESSAGE", rows)
	})
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// took is how long an execution took, or has taken so far.
func took(e api.Execution, now time.Time) string {
	if !e.EndedAt.IsZero() {
		now = e.EndedAt
	}
	return span(now.Sub(e.StartedAt))
}

func (o *output) showExecution(ctx context.Context, client *apiclient.Client, id string, part apiclient.Part) error {
	tree, err := client.ExecutionPart(ctx, id, part)
	if err != nil {
		return err
	}
	return o.print(tree, func() error {
		if part.Node != "" { // the view has what is below its root
			tree.Root = &execution.TreeNode{Children: []*execution.TreeNode{tree.Root}}
		}
		for _, line := range (view{now: time.Now()}).lines(tree) {
			fmt.Fprintln(o.people(), line)
		}
		var made []string
		for _, u := range tree.Templates {
			made = append(made, u.Template)
		}
		if len(made) > 0 {
			fmt.Fprintln(o.people(), "made of", strings.Join(made, ", "))
		}
		o.epilogue(tree)
		if h := rest(tree); h != "" {
			fmt.Fprintln(o.err, h)
		}
		return nil
	})
}
