package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/login"
	"github.com/slipway-cd/slipway/pkg/login/oidc"
)

// loginSSO logs in by an identity provider of the server, and keeps the token.
func loginSSO(ctx context.Context, a *app, name string, loopback bool) error {
	s, err := a.caller.settings()
	if err != nil {
		return err
	}
	client, _, err := a.caller.connect()
	if err != nil {
		return err
	}
	way, err := chosenWay(ctx, client, name)
	if err != nil {
		return err
	}
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
	if err != nil {
		return err
	}
	made, err := apiclient.ExchangeLogin(ctx, client, way.ID, text)
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
	return tell("logged in to %s as %s, until %s\n", s.Server, made.Token.Actor, made.Token.ExpiresAt.Local().Format(time.DateTime))
}

// chosenWay is the provider that is named, or the only one.
func chosenWay(ctx context.Context, client *apiclient.Client, name string) (login.Way, error) {
	ways, err := apiclient.Logins(ctx, client)
	if err != nil {
		return login.Way{}, err
	}
	var names []string
	for _, w := range ways.Providers {
		if w.ClientID != "" {
			names = append(names, w.ID)
		}
	}
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	at := slices.IndexFunc(ways.Providers, func(w login.Way) bool { return w.ID == name })
	switch {
	case len(names) == 0:
		return login.Way{}, fault.New(fault.NotFound, "no identity provider of the server is for the command line: none has a cliClientId, see docs/access.md")
	case name == "":
		return login.Way{}, fault.New(fault.Invalid, "the server has several identity providers; want one of %s", strings.Join(names, ", "))
	case !slices.Contains(names, name) && at >= 0:
		return login.Way{}, fault.New(fault.Invalid, "the login provider %q is for browsers alone: its document has no cliClientId; want one of %s", name, strings.Join(names, ", "))
	case at < 0:
		return login.Way{}, fault.New(fault.NotFound, "there is no login provider %q; want one of %s", name, strings.Join(names, ", "))
	}
	return ways.Providers[at], nil
}
