package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/issuer"
)

func oidcCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "oidc", Short: "Have clouds trust the tokens of tasks", GroupID: groupAdmin}
	c.AddCommand(oidcKeysCommand(a), oidcRotateCommand(a), oidcTrustCommand(a))
	return c
}

func oidcKeysCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "keys", Short: "Show when which key signs tokens", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, _, err := a.caller.connect()
			if err != nil {
				return err
			}
			status, err := client.Issuer(c.Context())
			if err != nil {
				return err
			}
			return a.shows.issuer(status)
		},
	}
}

func oidcRotateCommand(a *app) *cobra.Command {
	var in api.RotateIssuer
	c := &cobra.Command{
		Use: "rotate", Short: "Make a new key that signs tokens", Args: cobra.NoArgs,
		Long: "Rotate makes a new key. It is published at once and signs in 25 hours, when all who keep keys for a day have read it;\n" +
			"the key before it is published for another 25 hours. Each year Slipway does so by itself.\n\n" +
			"With --leaked the new key signs at once, and those before it are published no more: what they have signed is good\n" +
			"for nothing, as far as clouds don't keep keys. Tasks that run get new tokens when they next ask for them.",
		RunE: func(c *cobra.Command, _ []string) error { return a.rotate(c.Context(), in) },
	}
	c.Flags().BoolVar(&in.Leaked, "leaked", false, "others know the keys that there are")
	return c
}

func (a *app) rotate(ctx context.Context, in api.RotateIssuer) error {
	client, _, err := a.caller.connect()
	if err != nil {
		return err
	}
	status, err := client.RotateIssuer(ctx, in)
	if err != nil {
		return err
	}
	return a.shows.issuer(status)
}

// issuer shows the keys of an issuer.
func (o *output) issuer(s issuer.Status) error {
	return o.print(s, func() error {
		fmt.Fprintln(o.people(), "issuer", s.Issuer)
		rows := make([][]string, len(s.Keys))
		for i, k := range s.Keys {
			state := "published"
			if k.Signs {
				state = "signs"
			}
			rows[i] = []string{k.ID, state}
			for _, at := range []time.Time{k.SignsFrom, k.SignsUntil, k.PublishedUntil} {
				rows[i] = append(rows[i], at.Format(time.RFC3339))
			}
		}
		return o.table("KEY STATE SIGNS-FROM SIGNS-UNTIL PUBLISHED-UNTIL", rows)
	})
}
