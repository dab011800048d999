package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
)

func getCommand(a *app) *cobra.Command {
	var env string
	var resolved bool
	c := &cobra.Command{
		Use: "get KIND [ID]", Short: "List what was saved, or give a document back", GroupID: groupWrite, Args: cobra.RangeArgs(1, 2),
		Long: "Get lists the entities of a kind. With an ID and -o yaml it gives the document as it was saved, byte for byte;\n" +
			"with --resolved, as a run would have it: with what templates bring, each line of theirs naming the template.",
		Example: "  slipway get pipelines\n  slipway get pipeline guestbook -o yaml\n  slipway get pipeline guestbook --resolved\n  slipway get infra dev/cluster -o yaml\n" +
			"  slipway get pipelines -o name\n  slipway get services -o 'jsonpath={range [*]}{.id}{\"\\t\"}{.updatedBy}{\"\\n\"}{end}'",
		ValidArgsFunction: a.naming.completeKinds,
		RunE: func(c *cobra.Command, args []string) error {
			if resolved {
				return a.resolved(c.Context(), args, env)
			}
			return a.get(c.Context(), args, env)
		},
	}
	c.Flags().BoolVar(&resolved, "resolved", false, "show the document with what templates bring")
	c.Flags().StringVar(&env, "env", "", "environment of infrastructure definitions or overrides; pipeline of triggers and input sets")
	return c
}

func (a *app) get(ctx context.Context, args []string, env string) error {
	client, key, err := a.naming.entityArgs(args, env)
	if err != nil {
		return err
	}
	if key.ID == "" {
		return a.list(ctx, client, key)
	}
	if a.shows.output == "yaml" {
		doc, err := client.EntityYAML(ctx, key)
		if err != nil {
			return err
		}
		_, err = a.out.Write(doc)
		return err
	}
	e, err := client.Entity(ctx, key)
	if err != nil {
		return err
	}
	return a.shows.print(e, func() error { return a.shows.entityTable([]api.Entity{e}) })
}

func (a *app) resolved(ctx context.Context, args []string, env string) error {
	client, key, err := a.naming.entityArgs(args, env)
	if err != nil {
		return err
	}
	if key.ID == "" {
		return fault.New(fault.Invalid, "--resolved needs an ID")
	}
	e, err := client.ResolvedEntity(ctx, key)
	if err != nil {
		return err
	}
	if a.shows.output == "json" {
		return a.shows.print(e, nil)
	}
	for _, f := range e.Findings {
		fmt.Fprintln(a.err, finding(f))
	}
	_, err = io.WriteString(a.out, e.YAML)
	return err
}

func (a *app) list(ctx context.Context, client *apiclient.Client, key apiclient.EntityKey) error {
	all, err := apiclient.All(0, func(p apiclient.Page) ([]api.Entity, string, error) { return client.Entities(ctx, key, p) })
	if err != nil {
		return err
	}
	return a.shows.print(all, func() error {
		if len(all) == 0 {
			fmt.Fprintf(a.err, "there is no %s in %s\n", key.Kind, scopeName(key.Scope))
			return nil
		}
		return a.shows.entityTable(all)
	})
}

func (o *output) entityTable(all []api.Entity) error {
	var rows [][]string
	for _, e := range all {
		rows = append(rows, []string{
			shownID(e.EntityKey), e.Name, strconv.FormatInt(e.Version, 10), age(e.UpdatedAt, time.Now()), e.UpdatedBy, cmp.Or(e.Org, "-"), cmp.Or(e.Project, "-"), e.CreatedAt.UTC().Format(time.RFC3339),
		})
	}
	return o.table("ID NAME VERSION UPDATED BY | ORG PROJECT CREATED", rows)
}
