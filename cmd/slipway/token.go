package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func tokenCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "token", Aliases: []string{"tokens"}, Short: "Make, list, rotate and revoke tokens", GroupID: groupAdmin}
	c.AddCommand(tokenCreateCommand(a), tokenListCommand(a), tokenRotateCommand(a), tokenRevokeCommand(a))
	return c
}

func tokenRevokeCommand(a *app) *cobra.Command {
	var found bool
	c := &cobra.Command{
		Use: "revoke ID", Short: "Revoke a token", Args: cobra.MaximumNArgs(1),
		Long: "Revoke ends the token ID. With --found it ends the token whose text is the first line of the input, which is all that this takes:\n" +
			"who finds a token somewhere needs none of the server's.",
		RunE: func(c *cobra.Command, args []string) error {
			if found != (len(args) == 0) {
				return fault.New(fault.Invalid, "want the ID of a token, or --found and the token's text on the input")
			}
			client, _, err := a.caller.connect()
			if err != nil {
				return err
			}
			if found {
				return revokeFound(c, a, client)
			}
			if err := client.RevokeToken(c.Context(), args[0]); err != nil {
				return err
			}
			fmt.Fprintln(a.shows.people(), args[0], "revoked")
			return nil
		},
	}
	c.Flags().BoolVar(&found, "found", false, "the token whose text is the first line of the input")
	return c
}

// revokeFound ends the token that is typed.
func revokeFound(c *cobra.Command, a *app, client *apiclient.Client) error {
	text, err := newKeyboard(c, a).secret("The token: ")
	if err != nil {
		return err
	}
	if err := apiclient.RevokeFound(c.Context(), client, strings.TrimSpace(text)); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.shows.people(), "the token opens nothing any more")
	return err
}

func tokenCreateCommand(a *app) *cobra.Command {
	in := api.CreateToken{Kind: store.TokenUser}
	var delegate bool
	var binding store.Binding
	var lasts time.Duration
	c := &cobra.Command{
		Use: "create NAME", Short: "Make a token and show it, once", Args: cobra.ExactArgs(1),
		Long: "Create makes a token for the account, or for what --org and --project name, and shows it. It can't be shown again.\n\n" +
			"With --user or --service-account its bearer may what that one may by roles, within that scope, for 30 days or as --expires says. " +
			"Without them it is of whoever makes it: a token that is nobody's makes others that are, and those may do everything within their scope.\n\n" +
			"The delegates of a token with --tags have its name, and of these tags some, or all if they say none. Without it they say what they like.",
		Example: "  slipway token create --delegate my-cluster --tags my-cluster,prod\n  slipway token create ci --actor ci --org default --project default_project\n  slipway token create ci --service-account ci --org default --project web --expires 720h",
		RunE: func(c *cobra.Command, args []string) error {
			in.Name = args[0]
			if c.Flags().Changed("expires") {
				if in.Hours = int(lasts / time.Hour); in.Hours < 1 || lasts%time.Hour != 0 {
					return fault.New(fault.Invalid, "--expires is %s; want whole hours, e.g. 720h", lasts)
				}
			}
			if delegate {
				in.Kind = store.TokenDelegate
			}
			if c.Flags().Changed("tags") || binding.NamedSecrets {
				binding.Tags = append([]string{}, binding.Tags...) // none is no null
				in.Binding = &binding
			}
			return a.createToken(c.Context(), in)
		},
	}
	c.Flags().BoolVar(&delegate, "delegate", false, "for a delegate, not for the API")
	c.Flags().StringSliceVar(&binding.Tags, "tags", nil, "of a delegate's token: the only tags that its delegates have, and NAME their only name; \"\" for no tags")
	c.Flags().BoolVar(&binding.NamedSecrets, "named-secrets", false, "of a delegate's token, bound as with --tags: of the secrets that fetched files name, its delegates get only those that documents name too")
	c.Flags().StringVar(&in.User, "user", "", "the user whose it is")
	c.Flags().StringVar(&in.ServiceAccount, "service-account", "", "the service account whose it is: of the token's scope, or e.g. account.ci")
	c.Flags().DurationVar(&lasts, "expires", 0, "how long it opens anything, e.g. 720h")
	c.Flags().StringVar(&in.Actor, "actor", "", "who the bearer is, for audits; you if empty")
	return c
}

// tokenScope is what a token is for: what flags name, else the account.
func (c *caller) tokenScope(scope ref.Scope) ref.Scope {
	if c.changed("org") || c.changed("project") {
		return scope
	}
	return ref.Scope{}
}

func (a *app) createToken(ctx context.Context, in api.CreateToken) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	t, err := client.CreateToken(ctx, a.caller.tokenScope(scope), in)
	if err != nil {
		return err
	}
	return showToken(a, t)
}

// showToken shows a token that was just made.
func showToken(a *app, t api.NewToken) error {
	return a.shows.print(t, func() error {
		fmt.Fprintln(a.shows.people(), t.Secret)
		fmt.Fprintln(a.err, "This is shown once; keep it safe.")
		return nil
	})
}

func tokenRotateCommand(a *app) *cobra.Command {
	var keep time.Duration
	c := &cobra.Command{
		Use: "rotate ID", Short: "Make a token like another one, and end that one", Args: cobra.ExactArgs(1),
		Long: "Rotate makes a token of the same bearer, scope, binding and length of life, and shows it, once. The token ID is revoked, or goes on for\n" +
			"as long as --keep says, in which its bearers get the new one.",
		Example: "  slipway token rotate 4KQ2XNB7T0AB --keep 24h",
		RunE: func(c *cobra.Command, args []string) error {
			hours := int(keep / time.Hour)
			if keep < 0 || keep%time.Hour != 0 || hours > 168 {
				return fault.New(fault.Invalid, "--keep is %s; want whole hours, 168h at most", keep)
			}
			client, _, err := a.caller.connect()
			if err != nil {
				return err
			}
			t, err := apiclient.RotateToken(c.Context(), client, args[0], hours)
			if err != nil {
				return err
			}
			return showToken(a, t)
		},
	}
	c.Flags().DurationVar(&keep, "keep", 0, "how long the token that was there goes on, e.g. 24h; it is revoked at once if none is said")
	return c
}

func tokenListCommand(a *app) *cobra.Command {
	var delegate, all bool
	c := &cobra.Command{
		Use: "list", Short: "List tokens", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			kind := store.TokenUser
			if delegate {
				kind = store.TokenDelegate
			}
			return a.tokens(c.Context(), kind, all)
		},
	}
	c.Flags().BoolVar(&delegate, "delegate", false, "those of delegates")
	c.Flags().BoolVar(&all, "all", false, "also those that were revoked")
	return c
}

func (a *app) tokens(ctx context.Context, kind store.TokenKind, revoked bool) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	all, err := tokensOf(ctx, client, a.caller.tokenScope(scope), kind)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(t api.Token) bool { return t.Revoked && !revoked })
	return a.shows.print(all, func() error {
		var rows [][]string
		for _, t := range all {
			state := "valid"
			switch {
			case t.Revoked:
				state = "revoked"
			case t.ExpiresAt.IsZero():
			case t.ExpiresAt.Before(time.Now()):
				state = "ended"
			default:
				state = "until " + t.ExpiresAt.Local().Format(time.DateOnly)
			}
			rows = append(rows, []string{t.ID, t.Name, t.Actor, scopeName(ref.Scope{Org: t.Org, Project: t.Project}), state, boundTo(t), age(t.CreatedAt, time.Now()), cmp.Or(t.LastUsed, "never")})
		}
		return a.shows.table("ID NAME ACTOR SCOPE STATE BOUND AGE USED", rows)
	})
}

// tokensOf are the tokens of a kind, of a scope and within it.
func tokensOf(ctx context.Context, client *apiclient.Client, scope ref.Scope, kind store.TokenKind) ([]api.Token, error) {
	return apiclient.All(0, func(p apiclient.Page) ([]api.Token, string, error) { return client.Tokens(ctx, scope, kind, p) })
}

// boundTo says to what a token's delegates are bound.
func boundTo(t api.Token) string {
	switch {
	case t.Binding == nil:
		return "-"
	case len(t.Binding.Tags) == 0:
		return "no tags"
	}
	return strings.Join(t.Binding.Tags, ",")
}
