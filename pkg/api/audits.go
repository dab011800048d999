package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/store"
)

// AuditList is a part of the audit trail.
type AuditList struct {
	Records       []audit.Record `json:"records" nullable:"false"`
	NextPageToken string         `json:"nextPageToken,omitempty"`
	Removed       *audit.Place   `json:"removed,omitempty" doc:"The last record that was removed from the beginning of the trail, if any was: the first that is left continues it"`
}

// readsAudit asks for a part of the trail.
type readsAudit struct {
	Paged
	Newest  bool         `query:"newest" doc:"Newest first. Only then may records be chosen: a chain with gaps couldn't be verified"`
	Org     string       `query:"org" maxLength:"128" doc:"Of this organization and what is in it"`
	Project string       `query:"project" maxLength:"128" doc:"Of this project of the organization"`
	From    string       `query:"from" maxLength:"40" doc:"Of this time and later: as RFC 3339 has it, or a day in UTC, e.g. 2026-11-28"`
	To      string       `query:"to" maxLength:"40" doc:"Of before this time, or until the end of this day"`
	Actor   string       `query:"actor" maxLength:"256" doc:"What this one did"`
	Action  audit.Action `query:"action" maxLength:"64" doc:"Of this sort, e.g. UPDATE"`
	Kind    string       `query:"kind" maxLength:"64" doc:"Of what was changed: a kind of entity, execution, token, ..."`
	ID      string       `query:"id" maxLength:"512" doc:"Of what was changed"`
}

// about is the scope whose records are asked for: all of them together are the
// account's.
func (in *readsAudit) about(ctx context.Context, _ *Server) (right.Resource, error) {
	of := Scoped{}
	if in.Newest {
		of = Scoped{Org: in.Org, Project: in.Project}
	}
	scope, err := of.scope(ctx)
	return right.Resource{Scope: scope}, err
}

// span is from when on, and until when; zero: whenever.
type span struct{ from, to time.Time }

func (in *readsAudit) span() (span, error) {
	from, _, err := moment("from", in.From)
	if err != nil {
		return span{}, err
	}
	to, day, err := moment("to", in.To)
	if day {
		to = to.AddDate(0, 0, 1)
	}
	return span{from, to}, err
}

// moment reads a time; day: all of a day is meant.
func moment(name, text string) (at time.Time, day bool, err error) {
	if text == "" {
		return time.Time{}, false, nil
	}
	if at, err = time.Parse(time.DateOnly, text); err == nil {
		return at, true, nil
	}
	if at, err = time.Parse(time.RFC3339, text); err != nil {
		return at, false, invalid("%s is %.40q; want a time such as 2026-11-28T15:04:05Z, or a day such as 2026-11-28", name, text)
	}
	return at, false, nil
}

func (s span) has(at time.Time) bool {
	return !at.Before(s.from) && (s.to.IsZero() || at.Before(s.to))
}

// has says whether a record is one that is asked for.
func (in *readsAudit) has(r audit.Record, when span) bool {
	is := func(wanted, found string) bool { return wanted == "" || wanted == found }
	return when.has(r.Time) && is(in.Org, r.Scope.Org) && is(in.Project, r.Scope.Project) && is(in.Actor, r.Actor) &&
		is(string(in.Action), string(r.Action)) && is(in.Kind, r.Kind) && is(in.ID, r.ID)
}

// chooses says whether not all records are asked for.
func (in *readsAudit) chooses() bool {
	return in.Org != "" || in.Project != "" || in.Actor != "" || in.Action != "" || in.Kind != "" || in.ID != "" || in.From != "" || in.To != ""
}

func (s *Server) audits() {
	handle(s, action.AuditView, huma.Operation{
		OperationID: "listAudit", Method: http.MethodGet, Path: "/v1/audit", Tags: []string{"Audit"},
		Summary: "Read the account's audit trail, oldest first, or newest first what is chosen of it and the caller may see",
	}, s.listAudit)
}

// listAudit gives the records of the whole account, which takes a token of the
// account: oldest first all of them, so that the chain can be verified.
func (s *Server) listAudit(ctx context.Context, in *readsAudit) (*struct{ Body AuditList }, error) {
	var from int64
	if in.PageToken != "" {
		var err error
		if from, err = strconv.ParseInt(in.PageToken, 10, 64); err != nil || from < 1 {
			return nil, invalid("pageToken %q isn't one that was given out", in.PageToken)
		}
	}
	if in.Newest {
		out, err := newestAudit(ctx, s.Store.Audits, in, from)
		return &struct{ Body AuditList }{out}, err
	}
	if in.chooses() {
		return nil, invalid("found a choice of records without newest=true; want all of them, oldest first, or newest=true")
	}
	removed, err := s.Store.RemovedAudit(ctx, caller(ctx).Scope.Account)
	if err != nil {
		return nil, err
	}
	from = max(from, removed.Sequence+1)
	records, err := s.Store.ListAudit(ctx, caller(ctx).Scope.Account, from, in.Limit)
	if err != nil {
		return nil, err
	}
	out := AuditList{Records: list(records)}
	if removed.Sequence > 0 {
		out.Removed = &removed
	}
	if len(records) == in.Limit {
		out.NextPageToken = strconv.FormatInt(from+int64(len(records)), 10)
	}
	return &struct{ Body AuditList }{out}, nil
}

// How many records are read at once, and at most for an answer: one in which few
// are chosen says where to go on.
const (
	auditBlock = 100
	mostAudit  = 1000
)

// ordered is how far the times of records may be from their order: what waits to
// enter the trail, and clocks that differ.
const ordered = 10 * time.Minute

// firstAt is the number of the first record of a time or later; behind the last, if
// there is none. The trail is in the order of time, so that it needs to read few.
func firstAt(ctx context.Context, trail store.Audits, account string, last int64, at time.Time) (int64, error) {
	begin, end := int64(1), last+1
	for begin < end {
		mid := begin + (end-begin)/2
		one, err := trail.ListAudit(ctx, account, mid, 1)
		if err != nil {
			return 0, err
		}
		if len(one) == 0 || !one[0].Time.Before(at) {
			end = mid
		} else {
			begin = mid + 1
		}
	}
	return begin, nil
}

// newestAudit gives the records that are chosen and that who asks may see, newest
// first; from is the number of the first that is looked at, 0 the last there is.
func newestAudit(ctx context.Context, trail store.Audits, in *readsAudit, from int64) (AuditList, error) {
	account := caller(ctx).Scope.Account
	out := AuditList{Records: []audit.Record{}}
	when, err := in.span()
	if err != nil {
		return out, err
	}
	last, err := trail.LastAudit(ctx, account)
	if err != nil {
		return out, err
	}
	if from == 0 || from > last {
		from = last
	}
	removed, err := trail.RemovedAudit(ctx, account)
	if err != nil {
		return out, err
	}
	floor := removed.Sequence // none at or below it is asked for
	if !when.from.IsZero() {
		first, err := firstAt(ctx, trail, account, last, when.from.Add(-ordered))
		if err != nil {
			return out, err
		}
		floor = max(floor, first-1)
	}
	if !when.to.IsZero() && in.PageToken == "" {
		beyond, err := firstAt(ctx, trail, account, last, when.to.Add(ordered))
		if err != nil {
			return out, err
		}
		from = min(from, beyond-1)
	}
	who := asker(ctx)
	for least := max(floor, from-mostAudit); from > least && len(out.Records) < in.Limit; {
		begin := max(least, from-auditBlock) + 1
		block, err := trail.ListAudit(ctx, account, begin, int(from-begin)+1)
		if err != nil {
			return out, err
		}
		from = begin - 1
		for _, r := range slices.Backward(block) {
			if len(out.Records) == in.Limit {
				from = r.Sequence
				break
			}
			if !in.has(r, when) {
				continue
			}
			seen, err := who.Decide(ctx, action.AuditView, right.Resource{Scope: r.Scope})
			if err != nil {
				return out, err
			}
			if seen.Allowed {
				out.Records = append(out.Records, r)
			}
		}
	}
	if from > floor {
		out.NextPageToken = strconv.FormatInt(from, 10)
	}
	return out, nil
}
