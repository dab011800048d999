package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
)

func consoleCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "console", Short: "Print a link that opens the console, logged in", GroupID: groupAdmin, Args: cobra.NoArgs,
		Long: "Console prints a link to the console of a server on this machine. It logs one browser in, within five minutes, with\n" +
			"the rights of the token that the command calls with. Elsewhere the console's own page takes a token.",
		RunE: func(c *cobra.Command, _ []string) error { return printLoginLink(c.Context(), a) },
	}
}

func printLoginLink(ctx context.Context, a *app) error {
	s, err := a.caller.settings()
	if err != nil {
		return err
	}
	at, err := url.Parse(s.Server)
	if err != nil {
		return fmt.Errorf("the server's address: %w", err)
	}
	if at.Scheme != "http" || !loopback(at.Hostname()) {
		return fault.New(fault.Invalid, "%s isn't a server on this machine by plain http; open it in a browser, and log in with a token", s.Server)
	}
	client, _, err := a.caller.connect()
	if err != nil {
		return err
	}
	link, err := apiclient.LoginLink(ctx, client)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.shows.people(), "%s/login#%s\n", strings.TrimRight(s.Server, "/"), link.Code)
	return nil
}
