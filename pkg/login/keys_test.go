package login

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
)

// ring is a keyring whose time the test sets.
func ring(t *testing.T, now *time.Time) keyring {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	kept, err := sqlite.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	key, err := secret.LoadKey(filepath.Join(t.TempDir(), "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return *now }
	return keyring{account: "default", store: kept, secret: secret.New(key, kept, clock), now: clock}
}

// A pair signs for four years; the next one is told of before, and the one before
// reads for a year.
func TestPairsFollowEachOther(t *testing.T) {
	t.Parallel()
	change := time.Unix(15*int64(term/time.Second), 0)
	now := change.Add(-soon - time.Hour)
	k := ring(t, &now)
	// serials are those of the pairs; of one that only reads it is negative.
	serials := func() []int64 {
		t.Helper()
		pairs, err := k.pairs(t.Context(), "corp 1")
		if err != nil {
			t.Fatal(err)
		}
		var out []int64
		for _, p := range pairs {
			n := p.Certificate.SerialNumber.Int64()
			if !p.Key.PublicKey.Equal(p.Certificate.PublicKey) || now.After(p.Certificate.NotAfter) || now.Before(p.Certificate.NotBefore) {
				t.Errorf("at %s the certificate %d isn't the key's, or isn't of now", now, n)
			}
			if p.Past {
				n = -n
			}
			out = append(out, n)
		}
		return out
	}
	for _, c := range []struct {
		at   time.Duration // from the change on
		want []int64
	}{
		{-soon - time.Hour, []int64{14}}, {-soon, []int64{14, 15}}, {-time.Second, []int64{14, 15}}, {0, []int64{15, -14}}, {after - time.Second, []int64{15, -14}}, {after, []int64{15}},
	} {
		now = change.Add(c.at)
		if got := serials(); len(got) != len(c.want) || got[0] != c.want[0] || got[len(got)-1] != c.want[len(c.want)-1] {
			t.Errorf("%s from the change: %v; want %v", c.at, got, c.want)
		}
	}
}

// Of several pairs that are made at once one is kept, and another provider of the
// same name has another.
func TestOnePairIsMade(t *testing.T) {
	t.Parallel()
	now := time.Unix(14*int64(term/time.Second), 0).Add(after)
	k := ring(t, &now)
	var wait sync.WaitGroup
	made := make([]Pair, 3)
	for i := range made {
		wait.Go(func() {
			pairs, err := k.pairs(t.Context(), "corp 1")
			if err != nil {
				t.Error(err)
				return
			}
			made[i] = pairs[0]
		})
	}
	wait.Wait()
	other, err := k.pairs(t.Context(), "corp 2")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range made {
		if !p.Key.Equal(made[0].Key) || p.Key.Equal(other[0].Key) {
			t.Error("there isn't one pair for each provider")
		}
	}
}
