package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
)

func canICommand(a *app) *cobra.Command {
	var as apiclient.Who
	c := &cobra.Command{
		Use: "can-i ACTION [KIND] [ID]", Short: "Say whether you may do something, and why", Args: cobra.RangeArgs(1, 3), GroupID: groupAdmin,
		Long: "Can-i tells whether you may do an action, and by which role assignment, or which permission is missing; then it ends with the exit code of a refusal. " +
			"The actions are those of docs/permissions.md. One of documents (entity.view, entity.save, entity.delete) needs a KIND; of the others the second argument is the ID.",
		Example: "  slipway can-i pipeline.run deploy\n  slipway can-i entity.save connector --as-user ada",
		RunE: func(c *cobra.Command, args []string) error {
			client, scope, err := a.caller.connect()
			if err != nil {
				return err
			}
			ask := apiclient.Ask{Scope: scope, Action: action.Action(args[0]), Who: as}
			rest := args[1:]
			if strings.HasPrefix(args[0], "entity.") {
				if len(rest) == 0 {
					return fault.New(fault.Invalid, "%s is done to documents of a kind: slipway can-i %[1]s KIND [ID]", args[0])
				}
				if ask.Kind, err = kindOf(rest[0]); err != nil {
					return err
				}
				rest = rest[1:]
			}
			if len(rest) > 1 {
				return fault.New(fault.Invalid, "%s takes one ID; found %s", args[0], strings.Join(rest, " "))
			}
			if len(rest) == 1 {
				ask.ID = rest[0]
			}
			p, err := client.Can(c.Context(), ask)
			if err != nil {
				return err
			}
			return a.tellPermit(p)
		},
	}
	c.Flags().StringVar(&as.User, "as-user", "", "ask about this user")
	c.Flags().StringVar(&as.ServiceAccount, "as-service-account", "", "ask about this service account, e.g. ci or account.ci")
	c.MarkFlagsMutuallyExclusive("as-user", "as-service-account")
	return c
}

func (a *app) tellPermit(p access.Permit) error {
	if err := a.shows.print(p, func() error {
		if p.Allowed {
			fmt.Fprintln(a.shows.people(), "yes: "+cmp.Or(p.By, "it takes no permission"))
			return nil
		}
		fmt.Fprintln(a.shows.people(), "no: missing", cmp.Or(strings.Join(p.Missing, " or "), "everything: the user or the service account is disabled"))
		return nil
	}); err != nil {
		return err
	}
	if !p.Allowed {
		return failed // it has been told
	}
	return nil
}
