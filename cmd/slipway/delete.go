package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func deleteCommand(a *app) *cobra.Command {
	var env string
	var version int64
	c := &cobra.Command{
		Use: "delete KIND ID", Short: "Delete an entity that nothing refers to", GroupID: groupWrite, Args: cobra.ExactArgs(2),
		Example:           "  slipway delete pipeline guestbook\n  slipway delete infra dev/cluster",
		ValidArgsFunction: a.completeKinds,
	}
	c.Flags().StringVar(&env, "env", "", "environment of an infrastructure definition or of overrides; pipeline of a trigger or an input set")
	c.Flags().Int64Var(&version, "version", 0, "delete this version only")
	c.RunE = func(c *cobra.Command, args []string) error {
		var only *int64
		if c.Flags().Changed("version") {
			only = &version
		}
		return a.delete(c.Context(), args, env, only)
	}
	return c
}

func (a *app) delete(ctx context.Context, args []string, env string, version *int64) error {
	client, key, err := a.entityArgs(args, env)
	if err != nil {
		return err
	}
	if err := client.DeleteEntity(ctx, key, version); err != nil {
		return err
	}
	fmt.Fprintf(a.people(), "%s/%s deleted\n", key.Kind, key.ID)
	return nil
}
