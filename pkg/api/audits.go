package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/audit"
)

// AuditList is a part of the audit trail.
type AuditList struct {
	Records       []audit.Record `json:"records" nullable:"false"`
	NextPageToken string         `json:"nextPageToken,omitempty"`
}

func (s *Server) audits() {
	handle(s, action.AuditView, huma.Operation{
		OperationID: "listAudit", Method: http.MethodGet, Path: "/v1/audit", Tags: []string{"Audit"},
		Summary: "Read the account's audit trail, oldest first",
	}, s.listAudit)
}

// listAudit gives the records of the whole account, unfiltered: a chain with
// gaps couldn't be verified. So it takes a token of the account.
func (s *Server) listAudit(ctx context.Context, in *struct {
	ofTheAccount
	Paged
}) (*struct{ Body AuditList }, error) {
	from := int64(1)
	if in.PageToken != "" {
		var err error
		if from, err = strconv.ParseInt(in.PageToken, 10, 64); err != nil || from < 1 {
			return nil, invalid("pageToken %q isn't one that was given out", in.PageToken)
		}
	}
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
