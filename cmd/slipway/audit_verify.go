package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// trail is what the commands do with the audit trail.
type trail struct{ app *app }

// verified is what is known of a chain that holds.
type verified struct {
	Records int64  `json:"records"`
	First   int64  `json:"first"` // the number of the first
	Last    int64  `json:"last"`
	Hash    string `json:"hash"` // of the last
}

// of is a chain that continues one place and ends with another.
func chainOf(before, last audit.Place) verified {
	v := verified{Records: last.Sequence - before.Sequence, Last: last.Sequence, Hash: last.Hash}
	if v.Records > 0 {
		v.First = before.Sequence + 1
	}
	return v
}

func (a trail) tell(v verified) error {
	return a.app.shows.print(v, func() error {
		from := ""
		if v.First > 1 {
			from = fmt.Sprintf(" from record %d", v.First)
		}
		fmt.Fprintf(a.app.shows.people(), "%s%s, unbroken; the last hash is %s\n", plural(int(v.Records), "record"), from, v.Hash)
		return nil
	})
}

func broken(err error) error {
	return fault.New(fault.Conflict, "the audit trail is broken: %w", err)
}

func (a trail) verify(ctx context.Context) error {
	client, _, err := a.app.caller.connect()
	if err != nil {
		return err
	}
	var v audit.Verifier
	var before audit.Place // what was removed
	var told []audit.Record
	for page := (apiclient.Page{Limit: 500}); ; {
		part, err := apiclient.AuditTrail(ctx, client, page)
		if err != nil {
			return err
		}
		if p := part.Removed; p != nil && p.Sequence > v.Last().Sequence {
			before = *p // perhaps only now
			v.From(before)
		}
		for _, r := range part.Records {
			if err := v.Check(r); err != nil {
				return broken(err)
			}
			if r.Action == audit.Expire {
				told = append(told, r)
			}
		}
		if page.Token = part.NextPageToken; page.Token == "" {
			break
		}
	}
	if before != (audit.Place{}) && !slices.ContainsFunc(told, func(r audit.Record) bool { return r.Tells(before) }) {
		return broken(fmt.Errorf("the records up to %d are gone, and none of those that are left tells of it", before.Sequence))
	}
	return a.tell(chainOf(before, v.Last()))
}

// verifyFiles checks what a destination got. The same record may be there more
// than once.
func (a trail) verifyFiles(names []string) error {
	type file struct {
		name  string
		first int64
	}
	var files []file
	for _, name := range names {
		f := file{name: name}
		err := a.eachLine(name, func(r audit.Record) error {
			f.first = r.Sequence
			return io.EOF // it is enough
		})
		if err != nil && f.first == 0 {
			return err
		}
		files = append(files, f)
	}
	slices.SortStableFunc(files, func(x, y file) int { return cmp.Compare(x.first, y.first) })
	var v audit.Verifier
	var before audit.Place
	account, known := "", map[int64]string{} // the hashes
	for _, f := range files {
		err := a.eachLine(f.name, func(r audit.Record) error {
			if account == "" {
				account, before = r.Scope.Account, audit.Place{Sequence: r.Sequence - 1, Hash: r.Previous}
				v.From(before)
			}
			if r.Scope.Account != account {
				return fault.New(fault.Invalid, "%s has a record of the account %q, and another one of %q; want those of one", f.name, r.Scope.Account, account)
			}
			if r.Sequence <= v.Last().Sequence { // it came again
				if err := r.Genuine(); err != nil {
					return fault.New(fault.Conflict, "%s: %w", f.name, err)
				}
				if had := known[r.Sequence]; had != r.Hash {
					return fault.New(fault.Conflict, "%s: audit record %d is there twice, and isn't the same", f.name, r.Sequence)
				}
				return nil
			}
			if err := v.Check(r); err != nil {
				return fault.New(fault.Conflict, "%s: %w", f.name, err)
			}
			known[r.Sequence] = r.Hash
			return nil
		})
		if err != nil {
			return err
		}
	}
	return a.tell(chainOf(before, v.Last()))
}

// eachLine gives the records of a file to fn.
func (a trail) eachLine(name string, fn func(audit.Record) error) error {
	f, err := os.Open(name)
	if err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	defer func() { _ = f.Close() }() // it was read only
	var in io.Reader = bufio.NewReader(f)
	if head, _ := in.(*bufio.Reader).Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		if in, err = gzip.NewReader(in); err != nil {
			return fault.New(fault.Invalid, "%s: %w", name, err)
		}
	}
	if err = audit.ReadLines(in, fn); err != nil && fault.CodeOf(err) == fault.Internal {
		err = fault.New(fault.Invalid, "%s: %w", name, err)
	}
	return err
}

func (a trail) destinations(ctx context.Context) error {
	client, _, err := a.app.caller.connect()
	if err != nil {
		return err
	}
	all, err := apiclient.AuditStreams(ctx, client)
	if err != nil {
		return err
	}
	return a.app.shows.print(all, func() error {
		moment := func(t time.Time) string {
			if t.IsZero() {
				return "-"
			}
			return t.Format("2006-01-02T15:04:05Z")
		}
		var rows [][]string
		for _, s := range all {
			rows = append(rows, []string{
				s.Identifier, string(s.Type), s.Status, strconv.FormatInt(s.Sequence, 10), moment(s.Sent), strconv.FormatInt(s.Lag, 10), moment(s.Next), cmp.Or(s.Error, "-"),
			})
		}
		return a.app.shows.table("DESTINATION TYPE STATUS RECORD SENT LAG NEXT ERROR", rows)
	})
}
