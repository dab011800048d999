package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/task"
)

// provisioners looks at what is kept of provisioners, and forgets it.
type provisioners struct {
	caller *caller
	shows  *output
}

func provisionerCommand(a *app) *cobra.Command {
	p := &provisioners{caller: a.caller, shows: a.shows}
	c := &cobra.Command{Use: "provisioner", Aliases: []string{"provisioners"}, Short: "List and forget what steps have made by provisioners", GroupID: groupRun}
	c.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List the provisioners of a project, each with what was done last", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return p.list(c.Context()) },
		},
		p.command(&cobra.Command{
			Use: "show KIND IDENTIFIER", Short: "Show what executions have done by a provisioner",
			Long: "Show lists what executions have done by a provisioner, the newest first. What is kept of that, such as templates and\n" +
				"parameters, is sealed: -o wide tells its size, and of longer texts the SHA-256.",
			Example: "  slipway provisioner show cloudformation orders -o wide",
		}, p.show),
		p.command(&cobra.Command{
			Use: "forget KIND IDENTIFIER", Short: "Forget what executions have done by a provisioner",
			Long: "Forget deletes what is kept of a provisioner. What was made by it stays where it is, and no step finds that by the\n" +
				"identifier any more, nor a rollback what was there before. It is refused while an execution that works by it is under way.",
			Example: "  slipway provisioner forget cloudformation orders",
		}, p.forget),
	)
	return c
}

// command completes one that takes a provisioner.
func (o *provisioners) command(c *cobra.Command, run func(context.Context, apiclient.Provisioners, apiclient.ProvisionerKey) error) *cobra.Command {
	var workspace string
	c.Args = cobra.ExactArgs(2)
	c.Flags().StringVar(&workspace, "workspace", "", "the workspace, of tools that have such")
	c.RunE = func(c *cobra.Command, args []string) error {
		client, scope, err := o.caller.connect()
		if err != nil {
			return err
		}
		return run(c.Context(), apiclient.Provisioners{Client: client}, apiclient.ProvisionerKey{Scope: scope, Kind: task.Kind(args[0]), Identifier: args[1], Workspace: workspace})
	}
	return c
}

func (o *provisioners) list(ctx context.Context) error {
	client, scope, err := o.caller.connect()
	if err != nil {
		return err
	}
	all, err := apiclient.All(0, func(p apiclient.Page) ([]api.Provisioner, string, error) {
		return apiclient.Provisioners{Client: client}.List(ctx, scope, p)
	})
	if err != nil {
		return err
	}
	return o.shows.print(all, func() error {
		var rows [][]string
		for _, p := range all {
			rows = append(rows, []string{
				string(p.Kind), p.Identifier, cmp.Or(p.Workspace, "-"), string(p.Last.Status), p.Last.Execution, age(p.Last.At, time.Now()), string(p.Place),
			})
		}
		return o.shows.table("KIND IDENTIFIER WORKSPACE STATUS EXECUTION AGE | PLACE", rows)
	})
}

// provisionerName names a provisioner as commands take it.
func provisionerName(p api.Provisioner) string {
	return strings.TrimSuffix(string(p.Kind)+"/"+p.Identifier+"/"+p.Workspace, "/")
}

func (o *provisioners) show(ctx context.Context, kept apiclient.Provisioners, key apiclient.ProvisionerKey) error {
	p, err := kept.Get(ctx, key)
	if err != nil {
		return err
	}
	return o.shows.print(p, func() error {
		fmt.Fprintln(o.shows.people(), provisionerName(p.Provisioner), string(p.Place))
		var rows, sealed [][]string
		for _, h := range p.History {
			rows = append(rows, []string{h.Execution, string(h.Status), age(h.At, time.Now()), string(h.Step)})
			sealed = append(sealed, partRows(h.Execution, "before", h.Before)...)
			sealed = append(sealed, partRows(h.Execution, "inputs", h.Inputs)...)
		}
		if err := o.shows.table("EXECUTION STATUS AGE STEP", rows); err != nil || o.shows.output != "wide" {
			return err
		}
		fmt.Fprintln(o.shows.people())
		return o.shows.table("EXECUTION KEPT BYTES SHA-256", sealed)
	})
}

// partRows tells what is kept of an execution, below a name.
func partRows(of, name string, parts []execution.SealedPart) [][]string {
	var rows [][]string
	for _, p := range parts {
		rows = append(rows, []string{of, name + "." + p.Name, strconv.Itoa(p.Bytes), cmp.Or(p.SHA256, "-")})
	}
	return rows
}

func (o *provisioners) forget(ctx context.Context, kept apiclient.Provisioners, key apiclient.ProvisionerKey) error {
	if err := kept.Forget(ctx, key); err != nil {
		return err
	}
	fmt.Fprintf(o.shows.people(), "%s/%s forgotten\n", key.Kind, key.Identifier)
	return nil
}
