package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/store"
)

// AuditList is a part of the audit trail.
type AuditList struct {
	Records       []audit.Record `json:"records" nullable:"false"`
	NextPageToken string         `json:"nextPageToken,omitempty"`
}

// readsAudit asks for a part of the trail.
type readsAudit struct {
	ofTheAccount
	Paged
	Newest  bool         `query:"newest" doc:"Newest first. Only then may records be chosen: a chain with gaps couldn't be verified"`
	Org     string       `query:"org" maxLength:"128" doc:"Of this organization and what is in it"`
	Project string       `query:"project" maxLength:"128" doc:"Of this project of the organization"`
	Actor   string       `query:"actor" maxLength:"256" doc:"What this one did"`
	Action  audit.Action `query:"action" maxLength:"64" doc:"Of this sort, e.g. UPDATE"`
	Kind    string       `query:"kind" maxLength:"64" doc:"Of what was changed: a kind of entity, execution, token, ..."`
	ID      string       `query:"id" maxLength:"512" doc:"Of what was changed"`
}

// has says whether a record is one that is asked for.
func (in *readsAudit) has(r audit.Record) bool {
	is := func(wanted, found string) bool { return wanted == "" || wanted == found }
	return is(in.Org, r.Scope.Org) && is(in.Project, r.Scope.Project) && is(in.Actor, r.Actor) &&
		is(string(in.Action), string(r.Action)) && is(in.Kind, r.Kind) && is(in.ID, r.ID)
}

// chooses says whether not all records are asked for.
func (in *readsAudit) chooses() bool {
	return in.Org != "" || in.Project != "" || in.Actor != "" || in.Action != "" || in.Kind != "" || in.ID != ""
}

func (s *Server) audits() {
	handle(s, action.AuditView, huma.Operation{
		OperationID: "listAudit", Method: http.MethodGet, Path: "/v1/audit", Tags: []string{"Audit"},
		Summary: "Read the account's audit trail, oldest first, or newest first what is chosen of it",
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
	from = max(from, 1)
	records, err := s.Store.ListAudit(ctx, caller(ctx).Scope.Account, from, in.Limit)
	if err != nil {
		return nil, err
	}
	out := AuditList{Records: list(records)}
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

// newestAudit gives the records that are chosen, newest first; from is the number
// of the first that is looked at, 0 the last there is.
func newestAudit(ctx context.Context, trail store.Audits, in *readsAudit, from int64) (AuditList, error) {
	account := caller(ctx).Scope.Account
	out := AuditList{Records: []audit.Record{}}
	if from == 0 {
		var err error
		if from, err = trail.LastAudit(ctx, account); err != nil {
			return out, err
		}
	}
	for least := max(0, from-mostAudit); from > least && len(out.Records) < in.Limit; {
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
			if in.has(r) {
				out.Records = append(out.Records, r)
			}
		}
	}
	if from > 0 {
		out.NextPageToken = strconv.FormatInt(from, 10)
	}
	return out, nil
}
