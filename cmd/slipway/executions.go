package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
)

func executionsCommand(a *app) *cobra.Command {
	var pipeline string
	var limit int
	c := &cobra.Command{
		Use: "executions", Aliases: []string{"execution", "ex"}, Short: "List, show or follow executions", GroupID: groupRun, Args: cobra.NoArgs,
		Example: "  slipway executions --pipeline guestbook\n  slipway executions watch x6920f1ab",
		RunE:    func(c *cobra.Command, _ []string) error { return a.executions(c.Context(), pipeline, limit) },
	}
	c.Flags().StringVar(&pipeline, "pipeline", "", "only those of this pipeline")
	c.Flags().IntVar(&limit, "limit", 20, "at most so many, newest first; 0 means all")
	c.AddCommand(
		&cobra.Command{
			Use: "get ID", Short: "Show an execution with its stages and steps", Args: cobra.ExactArgs(1),
			RunE: func(c *cobra.Command, args []string) error { return a.showExecution(c.Context(), args[0]) },
		},
		&cobra.Command{
			Use: "watch ID", Short: "Follow an execution until its end", Args: cobra.ExactArgs(1),
			RunE: func(c *cobra.Command, args []string) error {
				client, _, err := a.connect()
				if err != nil {
					return err
				}
				return a.follow(c.Context(), client, args[0])
			},
		},
	)
	return c
}

func (a *app) executions(ctx context.Context, pipeline string, limit int) error {
	client, scope, err := a.connect()
	if err != nil {
		return err
	}
	all, err := apiclient.All(limit, func(p apiclient.Page) ([]api.Execution, string, error) {
		return client.Executions(ctx, scope, pipeline, p)
	})
	if err != nil {
		return err
	}
	return a.print(all, func() error {
		var rows [][]string
		for _, e := range all {
			rows = append(rows, []string{
				e.ID, e.Pipeline, "#" + strconv.FormatInt(e.Sequence, 10), string(e.Status), age(e.StartedAt, time.Now()), took(e, time.Now()), e.Actor,
			})
		}
		return a.table("ID PIPELINE RUN STATUS STARTED TOOK BY", rows)
	})
}

// took is how long an execution took, or has taken so far.
func took(e api.Execution, now time.Time) string {
	if !e.EndedAt.IsZero() {
		now = e.EndedAt
	}
	return span(now.Sub(e.StartedAt))
}

func (a *app) showExecution(ctx context.Context, id string) error {
	client, _, err := a.connect()
	if err != nil {
		return err
	}
	tree, err := client.Execution(ctx, id)
	if err != nil {
		return err
	}
	return a.print(tree, func() error {
		for _, line := range (view{now: time.Now()}).lines(tree) {
			fmt.Fprintln(a.people(), line)
		}
		var made []string
		for _, u := range tree.Templates {
			made = append(made, u.Template)
		}
		if len(made) > 0 {
			fmt.Fprintln(a.people(), "made of", strings.Join(made, ", "))
		}
		a.epilogue(tree)
		return nil
	})
}
