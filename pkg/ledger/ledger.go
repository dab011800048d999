// Package ledger keeps what runs where: what steps put into a place, and what
// delegates that watch the place report of it since.
//
// It decides who watches what and what a report changes. How a place is
// looked at is the delegate's (delegate/kubernetes/watching), how the ledger
// is kept is pkg/store's, and who may read it is pkg/api's.
package ledger

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/issuer"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Config is what a Ledger needs.
type Config struct {
	Store  store.Store
	Secret *secret.Keeper
	Issuer *issuer.Issuer // of the tokens that watches come with
	Now    func() time.Time
}

// Ledger holds the use cases.
type Ledger struct{ Config }

// New makes a Ledger.
func New(cfg Config) *Ledger { return &Ledger{cfg} }

// maxRaces bounds how often a change is made again because somebody else
// changed what it was made from.
const maxRaces = 20

// watchID is a placement's key as delegates know it.
func watchID(k store.PlacementKey) string {
	parts := []string{k.Scope.Account, k.Scope.Org, k.Scope.Project, k.Service, k.Environment, k.Infrastructure, k.Target}
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, "\x00")))
}

// parseWatchID reads a key that watchID made. Whose it is must be checked
// still: delegates send it.
func parseWatchID(id string) (store.PlacementKey, error) {
	text, err := base64.RawURLEncoding.DecodeString(id)
	parts := strings.Split(string(text), "\x00")
	if err != nil || len(parts) != 7 {
		return store.PlacementKey{}, fault.New(fault.Invalid, "%q isn't the id of a watch", id)
	}
	return store.PlacementKey{
		Scope:   ref.Scope{Account: parts[0], Org: parts[1], Project: parts[2]},
		Service: parts[3], Environment: parts[4], Infrastructure: parts[5], Target: parts[6],
	}, nil
}

// change changes a placement from what it is now, again if somebody else was
// quicker. fn gets a zero one under the key if there is none, and says false
// where there is nothing to do.
func (l *Ledger) change(ctx context.Context, k store.PlacementKey, fn func(*store.Placement) (*store.Moment, bool, error)) error {
	for range maxRaces {
		p, err := l.Store.Placement(ctx, k)
		if fault.Is(err, fault.NotFound) {
			p, err = store.Placement{Key: k}, nil
		}
		if err != nil {
			return err
		}
		moment, wanted, err := fn(&p)
		if err != nil || !wanted {
			return err
		}
		if _, err = l.Store.SavePlacement(ctx, p, moment); !fault.Is(err, fault.StaleVersion) {
			return err
		}
	}
	return fmt.Errorf("lost the race for %s in %s %d times", k.Service, k.Environment, maxRaces)
}

// Live says whether a placement is in the ledger still: one that has been
// empty for long may not have been removed yet.
func Live(p store.Placement, now time.Time) bool {
	until := p.Expires()
	return until.IsZero() || now.Before(until)
}
