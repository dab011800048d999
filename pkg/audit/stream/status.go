package stream

import (
	"context"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
)

// AuditStream is how far the trail has come to a destination.
type AuditStream struct {
	Identifier string                `json:"identifier"`
	Name       string                `json:"name"`
	Status     string                `json:"status" enum:"ACTIVE,INACTIVE"`
	Type       audit.DestinationType `json:"type" enum:"AWS_S3,HTTP"`
	Sequence   int64                 `json:"sequence" doc:"The number of the last record that it has taken; 0: none"`
	Sent       time.Time             `json:"sent,omitzero" doc:"When it has taken one"`
	Lag        int64                 `json:"lag" doc:"How many records of the trail it hasn't got yet"`
	Failures   int                   `json:"failures,omitempty" doc:"How often on end it hasn't taken what was sent"`
	Since      time.Time             `json:"failingSince,omitzero"`
	Error      string                `json:"error,omitempty" doc:"Of the last time"`
	Next       time.Time             `json:"next,omitzero" doc:"When it is tried again, unless its document changes"`
	Missed     int64                 `json:"missed,omitempty" doc:"How many records it never gets, for they were removed while it was inactive"`
}

// AuditStreams are those to all destinations of the account.
type AuditStreams struct {
	Destinations []AuditStream `json:"destinations" nullable:"false"`
}

// Destinations tells of all of them, by their identifiers.
func (s *Streamer) Destinations(ctx context.Context) (AuditStreams, error) {
	all := AuditStreams{Destinations: []AuditStream{}}
	list, err := s.destinations(ctx)
	if err != nil {
		return all, err
	}
	last, err := s.Store.LastAudit(ctx, s.Account)
	if err != nil {
		return all, err
	}
	removed, err := s.Store.RemovedAudit(ctx, s.Account)
	if err != nil {
		return all, err
	}
	for _, d := range list {
		st, err := s.position(ctx, d)
		if err != nil {
			return all, err
		}
		one := AuditStream{
			Identifier: d.ID, Name: d.Name, Status: "INACTIVE", Type: d.Type, Sequence: st.Sequence, Sent: st.Sent,
			Lag: max(last-max(st.Sequence, removed.Sequence), 0), Failures: st.Failures, Since: st.Failed, Error: st.Error, Next: st.Next,
		}
		if d.Active {
			one.Status = "ACTIVE"
		}
		if st.Sequence > 0 {
			one.Missed = max(removed.Sequence-st.Sequence, 0)
		}
		if !d.decoded {
			one.Error = "its document can't be read any more"
		}
		all.Destinations = append(all.Destinations, one)
	}
	return all, nil
}
