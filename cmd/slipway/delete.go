package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// deleteFlags are the flags of delete.
type deleteFlags struct {
	documentFlags

	env     string
	version *int64 // nil: whichever it is
	files   []string
	missing bool // what isn't there is no error
}

func deleteCommand(a *app) *cobra.Command {
	var f deleteFlags
	var version int64
	c := &cobra.Command{
		Use: "delete (KIND ID | -f PATH)", Short: "Delete entities that nothing refers to", GroupID: groupWrite, Args: cobra.MaximumNArgs(2),
		Long: "Delete deletes an entity, or with -f those that documents describe, in the order in which nothing that is left refers to\n" +
			"them. Documents need to be right only as far as they say which entity they are. What isn't there is an error, told\n" +
			"after the others were deleted, unless --ignore-not-found is given.",
		Example:           "  slipway delete pipeline guestbook\n  slipway delete infra dev/cluster\n  slipway delete -f slipway/",
		ValidArgsFunction: a.naming.completeKinds,
	}
	c.Flags().StringVar(&f.env, "env", "", "environment of an infrastructure definition or of overrides; pipeline of a trigger or an input set")
	c.Flags().Int64Var(&version, "version", 0, "delete this version only")
	c.Flags().StringSliceVarP(&f.files, "filename", "f", nil, "file, folder, https:// address, or - for the standard input; may be repeated")
	c.Flags().BoolVar(&f.missing, "ignore-not-found", false, "take what isn't there for deleted")
	f.add(c)
	c.MarkFlagsMutuallyExclusive("filename", "env")
	c.MarkFlagsMutuallyExclusive("filename", "version")
	c.RunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("version") {
			f.version = &version
		}
		switch {
		case len(f.files) > 0 && len(args) == 0:
			return a.deleteDocuments(c.Context(), f)
		case len(f.files) == 0 && len(args) == 2:
			return a.delete(c.Context(), args, f)
		}
		return fault.New(fault.Invalid, "delete takes a KIND and an ID, or documents with -f; found %q", args)
	}
	return c
}

func (a *app) delete(ctx context.Context, args []string, f deleteFlags) error {
	client, key, err := a.naming.entityArgs(args, f.env)
	if err != nil {
		return err
	}
	return a.deleteOne(ctx, client, key, f)
}

// deleteOne deletes an entity and says so.
func (a *app) deleteOne(ctx context.Context, client *apiclient.Client, key apiclient.EntityKey, f deleteFlags) error {
	err := client.DeleteEntity(ctx, key, f.version)
	if f.missing && fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.shows.people(), "%s/%s deleted\n", key.Kind, key.ID)
	return nil
}
