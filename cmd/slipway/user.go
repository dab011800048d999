package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
)

func userCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "user", Aliases: []string{"users"}, Short: "Set users' passwords and second factors", GroupID: groupAdmin}
	second := &cobra.Command{Use: "totp", Short: "Set up a second factor, or take one away"}
	second.AddCommand(&cobra.Command{
		Use: "add", Short: "Set up a second factor of your own", Args: cobra.NoArgs,
		Long: "Add asks for your password, shows what your authenticator is told, asks for a code that this shows, and shows ten recovery codes.\n" +
			"Each of them logs in once, without the authenticator. All of it is shown once.",
		RunE: func(c *cobra.Command, _ []string) error { return addSecondFactor(c, a) },
	}, &cobra.Command{
		Use: "remove ID", Short: "Take a user's second factor away, as who may do everything in the account", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, _, err := a.caller.connect()
			if err != nil {
				return err
			}
			if err := apiclient.RemoveSecondFactor(c.Context(), client, args[0]); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.shows.people(), "user %s has no second factor\n", args[0])
			return err
		},
	})
	c.AddCommand(&cobra.Command{
		Use: "password [ID]", Short: "Set a user's password, or change your own", Args: cobra.MaximumNArgs(1),
		Long: "Password sets the password of the user ID, which takes who may do everything in the account. Without an ID, or with your own, it\n" +
			"changes yours, and asks for the old one first if you have one. Where there is no terminal, each is a line of the input.\n" +
			"Another password than the first ends the user's sessions and tokens: log in again.",
		Example: "  slipway user password ada\n  slipway login --user ada@example.com",
		RunE:    func(c *cobra.Command, args []string) error { return setPassword(c, a, strings.Join(args, "")) },
	}, second)
	return c
}

// me is the caller, and the user whose token it has; empty: nobody's.
func me(c *cobra.Command, a *app) (client *apiclient.Client, user string, err error) {
	if client, _, err = a.caller.connect(); err != nil {
		return nil, "", err
	}
	who, err := apiclient.Whoami(c.Context(), client)
	if id, ok := strings.CutPrefix(who.Principal, "user "); ok {
		user = id
	}
	return client, user, err
}

func setPassword(c *cobra.Command, a *app, user string) error {
	client, own, err := me(c, a)
	if err != nil {
		return err
	}
	if user = cmp.Or(user, own); user == "" {
		return fault.New(fault.Invalid, "your token is no user's; want the ID of one")
	}
	k, old := newKeyboard(c, a), ""
	if user == own {
		if old, err = k.secret("Old password (empty if you have none): "); err != nil {
			return err
		}
	}
	next, err := k.secret("New password: ")
	if err != nil {
		return err
	}
	if k.hides {
		again, err := k.secret("New password, again: ")
		if err != nil {
			return err
		}
		if again != next {
			return fault.New(fault.Invalid, "the two aren't the same")
		}
	}
	if err := apiclient.SetPassword(c.Context(), client, user, old, next); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.shows.people(), "user %s has a new password\n", user)
	return err
}

func addSecondFactor(c *cobra.Command, a *app) error {
	client, user, err := me(c, a)
	if err != nil {
		return err
	}
	if user == "" {
		return fault.New(fault.Invalid, "your token is no user's; log in as the user whose second factor it is")
	}
	k := newKeyboard(c, a)
	password, err := k.secret("Password: ")
	if err != nil {
		return err
	}
	begun, err := apiclient.BeginSecondFactor(c.Context(), client, user, password)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(a.shows.people(), "Tell your authenticator %s\nor the secret %s\n", begun.URI, begun.Secret); err != nil {
		return err
	}
	code, err := k.line("The code that it shows: ")
	if err != nil {
		return err
	}
	made, err := apiclient.ConfirmSecondFactor(c.Context(), client, user, code)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.shows.people(), "You have a second factor. Each of these codes logs in once without it; they are shown once:\n%s\n", strings.Join(made.Codes, "\n"))
	return err
}
