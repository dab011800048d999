package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/audit"
)

func auditCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "audit", Short: "Read and verify the audit trail", GroupID: groupAdmin}
	var of apiclient.AuditChoice
	limit := 0
	list := &cobra.Command{
		Use: "list", Short: "List the records: all of the account, oldest first, or those that flags choose, newest first", Args: cobra.NoArgs,
		Long: "List gives all records of the account, oldest first. With a flag that chooses some it gives those, newest first. --org and --project choose, too, and\n" +
			"take core_audit_view there alone.",
		Example: "  slipway audit list --from 2026-11-01 --kind pipeline --id deploy\n  slipway audit list --org retail --project web --actor ada --limit 20",
		RunE:    func(c *cobra.Command, _ []string) error { return a.auditList(c.Context(), of, limit) },
	}
	f := list.Flags()
	f.StringVar(&of.From, "from", "", "of this time and later: 2026-11-28T15:04:05Z, or a day in UTC")
	f.StringVar(&of.To, "to", "", "of before this time, or until the end of this day")
	f.StringVar(&of.Actor, "actor", "", "what this one did")
	f.StringVar(&of.Action, "action", "", "of this sort, e.g. UPDATE")
	f.StringVar(&of.Kind, "kind", "", "of what was changed: a kind of document, execution, token, ...")
	f.StringVar(&of.ID, "id", "", "of what was changed")
	f.IntVar(&limit, "limit", 0, "at most so many, newest first; 0: all")
	c.AddCommand(
		list,
		&cobra.Command{
			Use: "verify [FILE...]", Short: "Check that no record was changed or removed",
			Long: "Verify reads the whole trail and recomputes the chain of hashes. Keep the last hash that it says: a trail that\n" +
				"was cut short or written anew as a whole can only be told by comparing with one. What was removed because it was\n" +
				"older than the retention is told; what is left continues it.\n" +
				"With files it checks those instead: what a streaming destination got, as JSON lines or compressed by gzip.\n" +
				"No server is asked.",
			Example: "  slipway audit verify\n  slipway audit verify audit/default/2026/11/*/*.ndjson.gz",
			RunE: func(c *cobra.Command, files []string) error {
				if len(files) > 0 {
					return trail{a}.verifyFiles(files)
				}
				return trail{a}.verify(c.Context())
			},
		},
		&cobra.Command{
			Use: "destinations", Short: "Tell how far the trail has come to each streaming destination", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return trail{a}.destinations(c.Context()) },
		},
	)
	return c
}

func (a *app) auditList(ctx context.Context, of apiclient.AuditChoice, limit int) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	of.Newest = limit > 0
	if a.caller.changed("org") || a.caller.changed("project") {
		of.Newest, of.Scope = true, scope
	}
	all, err := apiclient.All(limit, func(p apiclient.Page) ([]audit.Record, string, error) { return client.Audit(ctx, of, p) })
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
