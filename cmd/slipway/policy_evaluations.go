package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/policy"
)

func evaluationsCommand(a *app) *cobra.Command {
	limit, execution := 0, ""
	list := &cobra.Command{
		Use: "evaluations", Aliases: []string{"evaluation"}, Short: "List what policies came to, newest first", Args: cobra.NoArgs,
		Long:    "Evaluations lists, of a scope itself, what policies denied and warned of, and what they said before each run.",
		Example: "  slipway policy evaluations\n  slipway policy evaluations --execution x17d7b2e8\n  slipway policy evaluations show e5b1fa41d2c3",
		RunE:    func(c *cobra.Command, _ []string) error { return listEvaluations(c.Context(), a, execution, limit) },
	}
	list.Flags().IntVar(&limit, "limit", 20, "at most so many; 0 lists all")
	list.Flags().StringVar(&execution, "execution", "", "only those in this execution")
	list.AddCommand(&cobra.Command{
		Use: "show ID", Short: "Show what policies came to, and what they were asked about", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return showEvaluation(c.Context(), a, args[0]) },
	})
	return list
}

func listEvaluations(ctx context.Context, a *app, execution string, limit int) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	all, err := apiclient.All(limit, func(p apiclient.Page) ([]policy.Evaluation, string, error) {
		return apiclient.Evaluations{Client: client}.List(ctx, scope, execution, p)
	})
	if err != nil {
		return err
	}
	return a.shows.print(all, func() error {
		var rows [][]string
		for _, e := range all {
			rows = append(rows, []string{e.ID, e.CreatedAt.Format(time.RFC3339), string(e.Status), e.Type + " " + e.Action, e.Entity, e.Execution, e.Actor})
		}
		return a.shows.table("ID AT STATUS ASKED ENTITY EXECUTION BY", rows)
	})
}

func showEvaluation(ctx context.Context, a *app, id string) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	e, err := apiclient.Evaluations{Client: client}.Get(ctx, scope, id)
	if err != nil {
		return err
	}
	return a.shows.print(e, func() error {
		var rows [][]string
		for _, s := range e.Sets {
			for _, p := range s.Policies {
				rows = append(rows, []string{s.Set, p.Policy, string(p.Severity), string(p.Status), strings.Join(p.Messages, "; ")})
			}
		}
		if err := a.shows.table("SET POLICY SEVERITY STATUS MESSAGES", rows); err != nil {
			return err
		}
		if e.Input == nil {
			fmt.Fprintf(a.shows.people(), "what was asked about has %d bytes, and isn't shown\n", e.Bytes)
			return nil
		}
		var text bytes.Buffer
		if err := json.Indent(&text, e.Input, "", "  "); err != nil {
			return fmt.Errorf("read the input of evaluation %s: %w", id, err)
		}
		fmt.Fprintln(a.shows.people(), text.String())
		return nil
	})
}
