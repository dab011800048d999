package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/api"
)

func TestDoctorNamesTokens(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	ago := func(days int) time.Time { return now.AddDate(0, 0, -days) }
	tests := []struct {
		name  string
		token api.Token
		found []string
	}{
		{"one in use", api.Token{CreatedAt: ago(400), LastUsed: "2026-05-31"}, nil},
		{"a new one", api.Token{CreatedAt: ago(89)}, nil},
		{"one that never was used", api.Token{CreatedAt: ago(91)}, []string{"nobody has used it since 2026-03-02"}},
		{"one that was, long ago", api.Token{CreatedAt: ago(400), LastUsed: "2026-03-02"}, []string{"nobody has used it since 2026-03-02"}},
		{"one that ends", api.Token{CreatedAt: ago(17), ExpiresAt: now.AddDate(0, 0, 13)}, []string{"it ends at 2026-06-14T12:00:00Z"}},
		{"one that doesn't end soon", api.Token{CreatedAt: ago(16), ExpiresAt: now.AddDate(0, 0, 14)}, nil},
		{"one for an hour", api.Token{CreatedAt: now, ExpiresAt: now.Add(time.Hour)}, nil},
		{"one that has ended", api.Token{CreatedAt: ago(400), ExpiresAt: ago(1)}, nil},
		{"one that was revoked", api.Token{CreatedAt: ago(400), Revoked: true}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var found []string
			for _, d := range checkTokens([]api.Token{tt.token}, now) {
				if d.Bad || d.Cure == "" {
					t.Errorf("found %+v; want none that is bad, and a cure each", d)
				}
				found = append(found, d.Found)
			}
			if diff := cmp.Diff(tt.found, found); diff != "" {
				t.Error("(-want +got):\n" + diff)
			}
		})
	}
}
