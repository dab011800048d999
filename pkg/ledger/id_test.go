package ledger

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func TestWatchIDsAreReadAsTheyWereMade(t *testing.T) {
	t.Parallel()
	for _, k := range []store.PlacementKey{
		{},
		{Scope: ref.Scope{Account: "a", Org: "o", Project: "p"}, Service: "account.web", Environment: "prod", Infrastructure: "i", Target: "kubernetes:ns/rel#1"},
	} {
		if got, err := parseWatchID(watchID(k)); err != nil || got != k {
			t.Errorf("%+v became %+v, %v", k, got, err)
		}
	}
}

// Delegates send ids: whatever they are, one that is read is one that was made.
func FuzzWatchID(f *testing.F) {
	f.Add(watchID(store.PlacementKey{Service: "web"}))
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, id string) {
		k, err := parseWatchID(id)
		if err != nil {
			return
		}
		if again, err := parseWatchID(watchID(k)); err != nil || again != k {
			t.Errorf("%q is %+v, whose id is %+v, %v", id, k, again, err)
		}
	})
}
