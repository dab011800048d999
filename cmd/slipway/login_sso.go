package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/login"
	"github.com/slipway-cd/slipway/pkg/login/oidc"
	"github.com/slipway-cd/slipway/pkg/printable"
)

// ssoFlags are those of a login by an identity provider.
type ssoFlags struct {
	loopback bool
	user     string
}

// loginSSO logs in by an identity provider of the server, and keeps the token.
func loginSSO(c *cobra.Command, a *app, name string, f ssoFlags) error {
	ctx := c.Context()
	client, _, err := a.caller.connect()
	if err != nil {
		return err
	}
	way, err := chosenWay(ctx, client, name)
	if err != nil {
		return err
	}
	made, err := made(c, a, client, way, f)
	if err != nil {
		return err
	}
	return loggedIn(c.Context(), a, made)
}

// loggedIn keeps the token that the server made of who logs in.
func loggedIn(ctx context.Context, a *app, made api.NewToken) error {
	s, err := a.caller.settings()
	if err != nil {
		return err
	}
	file, err := a.caller.readConfig()
	if err != nil {
		return err
	}
	file.Server, file.Token = s.Server, made.Secret
	if err := a.caller.writeConfig(file); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.shows.people(), "logged in to %s as %s, until %s\n", s.Server, made.Token.Actor, made.Token.ExpiresAt.Local().Format(time.DateTime))
	if err != nil {
		return err
	}
	return tellBanner(ctx, a)
}

// tellBanner tells what the account's settings tell people. Who is logged in is so
// without it, too.
func tellBanner(ctx context.Context, a *app) error {
	client, _, err := a.caller.connect()
	if err != nil {
		return err
	}
	who, err := apiclient.Whoami(ctx, client)
	if err != nil || who.Banner == nil {
		return nil //nolint:nilerr // it is only told
	}
	_, err = fmt.Fprintf(a.shows.people(), "\n%s\n", printable.Text(who.Banner.Text))
	return err
}

// made is the token that the server makes of who logs in.
func made(c *cobra.Command, a *app, client *apiclient.Client, way login.Way, f ssoFlags) (api.NewToken, error) {
	if way.Type == sso.LDAP {
		user, password, err := typed(c, a, f.user)
		if err != nil {
			return api.NewToken{}, err
		}
		return apiclient.ExchangePassword(c.Context(), client, way.ID, user, password)
	}
	if f.user != "" {
		return api.NewToken{}, fault.New(fault.Invalid, "--user is for an LDAP directory, and %s is none", way.ID)
	}
	text, err := asked(c.Context(), a, way, f.loopback)
	if err != nil {
		return api.NewToken{}, err
	}
	return apiclient.ExchangeLogin(c.Context(), client, way.ID, text)
}

// typed is what somebody types at the terminal.
func typed(c *cobra.Command, a *app, user string) (name, password string, err error) {
	k := newKeyboard(c, a)
	if user == "" {
		if !k.hides {
			return "", "", fault.New(fault.Invalid, "want --user with the mail address where the password comes from the input")
		}
		if user, err = k.line("Mail address: "); err != nil {
			return "", "", err
		}
	}
	password, err = k.secret("Password: ")
	return user, password, err
}

// asked is the token that a provider gives who logs in in a browser.
func asked(ctx context.Context, a *app, way login.Way, loopback bool) (string, error) {
	asker := oidc.New(true, time.Now)
	at := oidc.Terminal{Issuer: way.Issuer, ClientID: way.ClientID, Scopes: way.Scopes}
	tell := func(format string, args ...any) error {
		_, err := fmt.Fprintf(a.shows.people(), format, args...)
		return err
	}
	text, err := "", oidc.ErrNoDevice
	if !loopback {
		text, err = asker.Device(ctx, at, func(page, code string) error {
			return tell("Open %s in a browser, and check that it shows the code %s\n", page, code)
		})
	}
	if errors.Is(err, oidc.ErrNoDevice) {
		text, err = asker.Loopback(ctx, at, func(page string) error { return tell("Open this page in a browser of this machine:\n%s\n", page) })
	}
	return text, err
}

// chosenWay is the provider that is named, or the only one.
func chosenWay(ctx context.Context, client *apiclient.Client, name string) (login.Way, error) {
	ways, err := apiclient.Logins(ctx, client)
	if err != nil {
		return login.Way{}, err
	}
	var names []string
	for _, w := range ways.Providers {
		if w.ClientID != "" || w.Type == sso.LDAP {
			names = append(names, w.ID)
		}
	}
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	at := slices.IndexFunc(ways.Providers, func(w login.Way) bool { return w.ID == name })
	switch {
	case len(names) == 0:
		return login.Way{}, fault.New(fault.NotFound, "no identity provider of the server is for the command line: none is an LDAP directory or has a cliClientId, see docs/access.md")
	case name == "":
		return login.Way{}, fault.New(fault.Invalid, "the server has several identity providers; want one of %s", strings.Join(names, ", "))
	case !slices.Contains(names, name) && at >= 0:
		return login.Way{}, fault.New(fault.Invalid, "the login provider %q is for browsers alone: it is no LDAP directory, and its document has no cliClientId; want one of %s", name, strings.Join(names, ", "))
	case at < 0:
		return login.Way{}, fault.New(fault.NotFound, "there is no login provider %q; want one of %s", name, strings.Join(names, ", "))
	}
	return ways.Providers[at], nil
}
