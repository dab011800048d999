package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/login"
)

// workloadVariable has the token of a program that logs in.
const workloadVariable = "SLIPWAY_WORKLOAD_TOKEN"

// loginLocal logs in by a password that the server keeps, and keeps the token.
func loginLocal(c *cobra.Command, a *app, user string) error {
	client, _, err := a.caller.connect()
	if err != nil {
		return err
	}
	k, in := newKeyboard(c, a), apiclient.LocalLogin{User: user}
	if in.Password, err = k.secret("Password: "); err != nil {
		return err
	}
	made, err := apiclient.ExchangeLocal(c.Context(), client, in)
	if wantsCode(err) {
		if in.Code, err = k.line("Code of your authenticator, or a recovery code: "); err != nil {
			return err
		}
		made, err = apiclient.ExchangeLocal(c.Context(), client, in)
	}
	if err != nil {
		return err
	}
	return loggedIn(c.Context(), a, made)
}

// wantsCode says whether a login lacks the second factor alone.
func wantsCode(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && slices.ContainsFunc(f.Details, func(d fault.Detail) bool { return d.Code == login.SecondWanted })
}

// loginWorkload swaps the token that an issuer gave to this program, and keeps what
// it gets.
func loginWorkload(c *cobra.Command, a *app, rule, path string) error {
	client, _, err := a.caller.connect()
	if err != nil {
		return err
	}
	token, err := workloadToken(c, a, path)
	if err != nil {
		return err
	}
	made, err := apiclient.ExchangeWorkload(c.Context(), client, rule, token)
	if err != nil {
		return err
	}
	return loggedIn(c.Context(), a, made)
}

// workloadToken is the token of a file, of the input, or of the environment.
func workloadToken(c *cobra.Command, a *app, path string) (string, error) {
	const most = 16 << 10
	text := a.env(workloadVariable)
	if path != "" {
		in := c.InOrStdin()
		if path != "-" {
			file, err := os.Open(path)
			if err != nil {
				return "", fault.New(fault.Invalid, "read the token: %s", err)
			}
			defer func() { _ = file.Close() }()
			in = file
		}
		read, err := io.ReadAll(io.LimitReader(in, most+1))
		if err != nil {
			return "", fmt.Errorf("read the token: %w", err)
		}
		text = string(read)
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", fault.New(fault.Invalid, "there is no token to log in with; want it in %s, or in the file that --token-file names", workloadVariable)
	case len(text) > most:
		return "", fault.New(fault.Invalid, "the token has more than %d bytes", most)
	}
	return text, nil
}
