package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func describeCommand(a *app) *cobra.Command {
	var env string
	c := &cobra.Command{
		Use: "describe KIND ID", Short: "Show an entity or an execution with what belongs to it", GroupID: groupWrite, Args: cobra.ExactArgs(2),
		Long: "Describe shows an entity with its document; for a pipeline also its runtime inputs and latest executions.\n" +
			"\"describe execution EXECUTION|PIPELINE\" shows an execution's stages and steps.",
		Example: "  slipway describe pipeline guestbook\n  slipway describe execution x6920f1ab",
		ValidArgsFunction: func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 && strings.EqualFold(args[0], "execution") {
				return a.naming.completeExecutions(c, len(args) > 1, newest)
			}
			return a.naming.completeKinds(c, args, word)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if strings.EqualFold(args[0], "execution") {
				return a.describeExecution(c.Context(), args[1])
			}
			return a.describe(c.Context(), args, env)
		},
	}
	c.Flags().StringVar(&env, "env", "", "environment of an infrastructure definition or of overrides; pipeline of a trigger or an input set")
	return c
}

func (a *app) describeExecution(ctx context.Context, name string) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	id, err := a.naming.executionID(ctx, client, scope, name, newest)
	if err != nil {
		return err
	}
	return a.shows.showExecution(ctx, client, id, apiclient.Part{})
}

func (a *app) describe(ctx context.Context, args []string, env string) error {
	client, key, err := a.naming.entityArgs(args, env)
	if err != nil {
		return err
	}
	e, err := client.Entity(ctx, key)
	if err != nil {
		return err
	}
	var runs []api.Execution
	if e.Kind == ref.Pipeline {
		const latest = 5
		if runs, _, err = client.Executions(ctx, key.Scope, apiclient.ExecutionFilter{Pipeline: e.ID}, apiclient.Page{Limit: latest}); err != nil {
			return err
		}
	}
	return a.shows.print(e, func() error {
		fmt.Fprintf(a.shows.people(), "%s %s in %s\nname:     %s\nversion:  %d\nupdated:  %s ago by %s\n",
			e.Kind, e.ID, scopeName(key.Scope), e.Name, e.Version, age(e.UpdatedAt, time.Now()), e.UpdatedBy)
		a.describeInputs(e)
		if len(runs) > 0 {
			fmt.Fprintln(a.shows.people(), "latest executions:")
			for _, r := range runs {
				fmt.Fprintf(a.shows.people(), "  %s  #%d  %s  %s ago\n", r.ID, r.Sequence, r.Status, age(r.StartedAt, time.Now()))
			}
		}
		fmt.Fprintln(a.shows.people(), "document:")
		for line := range strings.Lines(e.YAML) {
			fmt.Fprint(a.shows.people(), "  ", line)
		}
		if !bytes.HasSuffix([]byte(e.YAML), []byte("\n")) {
			fmt.Fprintln(a.out)
		}
		return nil
	})
}

// describeInputs lists what a run of a pipeline asks for.
func (a *app) describeInputs(e api.Entity) {
	docs, _ := yamldoc.Parse(e.ID, []byte(e.YAML)) // it was read when it was saved
	if e.Kind != ref.Pipeline || len(docs) != 1 {
		return
	}
	inputs := input.Find(docs[0].Get(string(ref.Pipeline)))
	if len(inputs) == 0 {
		return
	}
	fmt.Fprintln(a.shows.people(), "runtime inputs (slipway inputs", e.ID+"):")
	for _, in := range inputs {
		fmt.Fprintf(a.shows.people(), "  %s  (%s)\n", in.Path, in.Describe())
	}
}
