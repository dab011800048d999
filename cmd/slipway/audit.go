package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
)

func auditCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "audit", Short: "Read and verify the audit trail", GroupID: groupAdmin}
	c.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List the records, oldest first", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return a.auditList(c.Context()) },
		},
		&cobra.Command{
			Use: "verify", Short: "Check that no record was changed or removed", Args: cobra.NoArgs,
			Long: "Verify reads the whole trail and recomputes the chain of hashes. Keep the last hash that it says: a trail that\n" +
				"was cut short or written anew as a whole can only be told by comparing with one.",
			RunE: func(c *cobra.Command, _ []string) error { return a.auditVerify(c.Context()) },
		},
	)
	return c
}

func (a *app) auditList(ctx context.Context) error {
	client, _, err := a.caller.connect()
	if err != nil {
		return err
	}
	all, err := apiclient.All(0, func(p apiclient.Page) ([]audit.Record, string, error) { return client.Audit(ctx, p) })
	if err != nil {
		return err
	}
	return a.shows.print(all, func() error {
		var rows [][]string
		for _, r := range all {
			rows = append(rows, []string{
				strconv.FormatInt(r.Sequence, 10), r.Time.Format("2006-01-02T15:04:05Z"), r.Actor, string(r.Action), r.Kind + "/" + r.ID, r.Scope.String(),
			})
		}
		return a.shows.table("NUMBER TIME ACTOR ACTION WHAT SCOPE", rows)
	})
}

func (a *app) auditVerify(ctx context.Context) error {
	client, _, err := a.caller.connect()
	if err != nil {
		return err
	}
	var v audit.Verifier
	var last audit.Record
	_, err = apiclient.All(0, func(p apiclient.Page) ([]audit.Record, string, error) {
		part, next, err := client.Audit(ctx, p)
		for _, r := range part {
			if err := v.Check(r); err != nil {
				return nil, "", fault.New(fault.Conflict, "the audit trail is broken: %w", err)
			}
			last = r
		}
		return nil, next, err
	})
	if err != nil {
		return err
	}
	found := struct {
		Records int64  `json:"records"`
		Hash    string `json:"hash"` // of the last
	}{last.Sequence, last.Hash}
	return a.shows.print(found, func() error {
		fmt.Fprintf(a.shows.people(), "%s, unbroken; the last hash is %s\n", plural(int(found.Records), "record"), found.Hash)
		return nil
	})
}
