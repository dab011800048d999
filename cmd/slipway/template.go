package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/template"
)

func templateCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "template", Aliases: []string{"templates"}, Short: "Work with the versions of templates", GroupID: groupWrite}
	c.AddCommand(&cobra.Command{
		Use: "list [ID]", Short: "List templates with their versions", Args: cobra.MaximumNArgs(1),
		Example:           "  slipway template list\n  slipway template list build",
		ValidArgsFunction: a.naming.completeTemplates,
		RunE:              func(c *cobra.Command, args []string) error { return a.listTemplates(c.Context(), args) },
	}, &cobra.Command{
		Use: "set-stable ID@VERSION", Short: "Say which version links without one mean", Args: cobra.ExactArgs(1),
		Long:              "Set-stable makes a version the stable one: from the next run on, links without a versionLabel mean it.",
		Example:           "  slipway template set-stable build@v2",
		ValidArgsFunction: a.naming.completeTemplates,
		RunE:              func(c *cobra.Command, args []string) error { return a.setStable(c.Context(), args[0]) },
	})
	return c
}

func (a *app) listTemplates(ctx context.Context, args []string) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	all, err := apiclient.All(0, func(p apiclient.Page) ([]api.Entity, string, error) {
		return client.Entities(ctx, apiclient.EntityKey{Scope: scope, Kind: ref.Template}, p)
	})
	if err != nil {
		return err
	}
	found := []api.Entity{}
	var rows [][]string
	for _, e := range all {
		id, label := template.SplitID(e.ID)
		if len(args) > 0 && args[0] != id {
			continue
		}
		stable := ""
		if e.Stable {
			stable = "stable"
		}
		found = append(found, e)
		rows = append(rows, []string{id, label, stable, e.Name, age(e.UpdatedAt, time.Now()), e.UpdatedBy})
	}
	return a.shows.print(found, func() error {
		if len(rows) == 0 {
			fmt.Fprintf(a.err, "there is no such template in %s\n", scopeName(scope))
			return nil
		}
		return a.shows.table("ID VERSION STABLE NAME UPDATED BY", rows)
	})
}

func (a *app) setStable(ctx context.Context, name string) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	id, label := template.SplitID(name)
	if label == "" {
		return fault.New(fault.Invalid, "%q names no version; want ID@VERSION, e.g. %s@v2", name, id)
	}
	if err := client.SetStableTemplate(ctx, scope, id, label); err != nil {
		return err
	}
	fmt.Fprintf(a.shows.people(), "%s is the stable version of template %s\n", label, id)
	return nil
}

// completeTemplates completes the ID of a template's version.
func (n *naming) completeTemplates(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return n.completeIDs(c, string(ref.Template), len(args) > 0)
}
