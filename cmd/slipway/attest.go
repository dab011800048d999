package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/attest"
	"github.com/slipway-cd/slipway/pkg/fault"
)

func attestCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "attest", Short: "Get and verify who approved what, as signed statements", GroupID: groupRun}
	n := notary{a}
	var keys string
	verify := &cobra.Command{
		Use: "verify EXECUTION|FILE...", Short: "Check attestations of approvals", Args: cobra.MinimumNArgs(1),
		Long: "Verify checks the attestations of an execution, or those in files, as \"slipway attest get\" writes them: that each was signed by a\n" +
			"key of the account, and that nothing in it was changed. With --keys no server is asked: the file is what \"slipway attest keys\" gave.",
		Example: "  slipway attest verify x6920f1ab3c0d6e5f7a81\n  slipway attest get guestbook > approvals.json\n  slipway attest keys > keys.json\n  slipway attest verify approvals.json --keys keys.json",
		RunE:    func(c *cobra.Command, args []string) error { return n.verify(c.Context(), args, keys) },
	}
	verify.Flags().StringVar(&keys, "keys", "", "file with the keys that are trusted; without it the server is asked for its own")
	c.AddCommand(
		verify,
		a.naming.onExecution(&cobra.Command{
			Use: "get EXECUTION|PIPELINE", Short: "Write the attestations of an execution's approvals, one to a line", Args: cobra.ExactArgs(1),
			Example: "  slipway attest get guestbook > approvals.json",
		}, newest, func(ctx context.Context, client *apiclient.Client, args []string) error {
			return n.get(ctx, client, args[0])
		}),
		&cobra.Command{
			Use: "keys", Short: "Write the public keys by which attestations are verified", Args: cobra.NoArgs,
			Long: "Keys writes all public keys of the account that have ever signed an attestation, as JSON. Keep them where you verify.",
			RunE: func(c *cobra.Command, _ []string) error { return n.keys(c.Context()) },
		},
	)
	return c
}

// notary is what the commands do with attestations.
type notary struct{ app *app }

func (n notary) get(ctx context.Context, client *apiclient.Client, execution string) error {
	all, err := envelopesOf(ctx, client, execution)
	if err != nil {
		return err
	}
	out := json.NewEncoder(n.app.out)
	for _, one := range all {
		if err := out.Encode(one); err != nil {
			return fmt.Errorf("write an attestation: %w", err)
		}
	}
	return nil
}

func (n notary) keys(ctx context.Context) error {
	keys, err := n.trusted(ctx, "")
	if err != nil {
		return err
	}
	out := json.NewEncoder(n.app.out)
	out.SetIndent("", "  ")
	return out.Encode(keys)
}

func (n notary) verify(ctx context.Context, names []string, keyFile string) error {
	trusted, err := n.trusted(ctx, keyFile)
	if err != nil {
		return err
	}
	var statements []attest.Statement
	for _, name := range names {
		envelopes, err := n.envelopes(ctx, name)
		if err != nil {
			return err
		}
		if len(envelopes) == 0 {
			return fault.New(fault.NotFound, "%s has no attestation", name)
		}
		for i, e := range envelopes {
			st, err := attest.Verify(e, trusted)
			if err != nil {
				return fault.New(fault.Conflict, "attestation %d of %s: %w", i+1, name, err)
			}
			statements = append(statements, st)
		}
	}
	return n.app.shows.print(statements, func() error {
		var rows [][]string
		for _, st := range statements {
			p := st.Predicate
			how := strings.Join(slices.DeleteFunc([]string{p.Approver.Method, p.Approver.Provider, strings.Join(p.Approver.AMR, "+")}, func(s string) bool { return s == "" }), " ")
			rows = append(rows, []string{p.Approver.ID, p.At.Format(time.RFC3339), how, p.Pipeline, p.Execution, string(p.Node), short(p.Digest)})
		}
		return n.app.shows.table("APPROVER AT BY PIPELINE EXECUTION STEP DIGEST", rows)
	})
}

// short is a digest as people compare it.
func short(digest string) string {
	const shown = 12
	digest = strings.TrimPrefix(digest, "sha256:")
	return digest[:min(len(digest), shown)]
}

// trusted are the keys of a file, or those of the server where none is named.
func (n notary) trusted(ctx context.Context, file string) (attest.Trusted, error) {
	var keys attest.Trusted
	if file == "" {
		client, _, err := n.app.caller.connect()
		if err != nil {
			return keys, err
		}
		return apiclient.Attestations{Client: client}.Keys(ctx)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return keys, fault.New(fault.Invalid, "%w", err)
	}
	if err := json.Unmarshal(text, &keys); err != nil || len(keys.Keys) == 0 {
		return keys, fault.New(fault.Invalid, "%s has no keys as \"slipway attest keys\" writes them", file)
	}
	return keys, nil
}

// envelopes are those of a file, or of an execution where there is no such file.
func (n notary) envelopes(ctx context.Context, name string) ([]attest.Envelope, error) {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) && executionIDs.MatchString(name) {
		client, _, err := n.app.caller.connect()
		if err != nil {
			return nil, err
		}
		return envelopesOf(ctx, client, name)
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "%w", err)
	}
	defer func() { _ = f.Close() }() // it was read only
	var out []attest.Envelope
	for in := json.NewDecoder(f); ; {
		var e attest.Envelope
		err := in.Decode(&e)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fault.New(fault.Invalid, "%s isn't of attestations as \"slipway attest get\" writes them: %w", name, err)
		}
		out = append(out, e)
	}
}

func envelopesOf(ctx context.Context, client *apiclient.Client, execution string) ([]attest.Envelope, error) {
	all, err := apiclient.Attestations{Client: client}.Of(ctx, execution)
	out := make([]attest.Envelope, len(all))
	for i, one := range all {
		out[i] = one.Envelope
	}
	return out, err
}
