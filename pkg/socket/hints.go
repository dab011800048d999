package socket

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/apigatewaymanagementapi"
	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/allowlist"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/live"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Hints tells pages which executions have changed. What somebody may see is found out
// when it is told.
type Hints struct {
	Account string // of the installation
	Store   store.Store
	Viewers store.Viewers
	Grants  *grants.Reader
	Gateway *apigatewaymanagementapi.Client
	Now     func() time.Time
	Log     *slog.Logger
}

const (
	// hintTimeout bounds what is told of one batch of changes. A function is billed while
	// it waits, and pages look by themselves after half a minute.
	hintTimeout = 5 * time.Second
	// mostHinted is how many executions a hint names: a page that hears of more reads
	// all that it shows.
	mostHinted = 20
)

// Tell says to every page that executions have changed which it shows and whose caller
// may see them. Who isn't reached reads them a while later, so nothing is tried again.
func (h *Hints) Tell(ctx context.Context, executions []string) {
	if len(executions) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, hintTimeout)
	defer cancel()
	pages, err := h.Viewers.Viewers(ctx, h.Account)
	if err != nil || len(pages) == 0 {
		h.complain(ctx, "all", err)
		return
	}
	changed, err := h.read(ctx, executions)
	if err != nil {
		h.complain(ctx, "all", err)
		return
	}
	bearers := map[bearing][]store.Viewer{}
	for _, v := range pages {
		if len(shown(v, changed)) > 0 {
			by := bearing{access.Made{ID: v.Token, At: v.Since}, v.Address}
			bearers[by] = append(bearers[by], v)
		}
	}
	var calls errgroup.Group
	calls.SetLimit(wakeAtOnce)
	for by, theirs := range bearers {
		calls.Go(func() error {
			h.complain(ctx, "some", h.tell(ctx, by, theirs, changed))
			return nil
		})
	}
	_ = calls.Wait() // complain has said it
}

// bearing is a token and from where it comes: what may be seen is the same for all its
// pages.
type bearing struct {
	token   access.Made
	address string
}

// read gives the executions that there still are.
func (h *Hints) read(ctx context.Context, ids []string) ([]store.Execution, error) {
	var out []store.Execution
	for _, id := range ids {
		e, err := h.Store.Execution(ctx, id)
		if fault.Is(err, fault.NotFound) {
			continue // deleted since
		}
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// tell says to a bearer's pages what has changed of what they show. If the bearer may
// no longer ask anything, they hear that nothing more comes.
func (h *Hints) tell(ctx context.Context, by bearing, pages []store.Viewer, changed []store.Execution) error {
	who, err := h.caller(ctx, by)
	over := ended(err)
	if err != nil && !over {
		return err
	}
	var failed error
	for _, v := range pages {
		hint := live.Hint{Executions: []string{}, Bye: true}
		if !over {
			if hint, err = hintFor(ctx, who, v, changed); err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			if len(hint.Executions) == 0 {
				continue
			}
		}
		failed = errors.Join(failed, h.send(ctx, v, hint))
	}
	return failed
}

// shown are those of changed executions that a page shows, if its caller may see them.
// Previews are in no list.
func shown(v store.Viewer, changed []store.Execution) []store.Execution {
	var out []store.Execution
	for _, e := range changed {
		if v.Scope.Covers(e.Scope) && (v.Execution == e.ID || v.Execution == "" && !e.Preview) {
			out = append(out, e)
		}
	}
	return out
}

// hintFor is what a page hears of changed executions.
func hintFor(ctx context.Context, who grants.Caller, v store.Viewer, changed []store.Execution) (live.Hint, error) {
	hint, err := live.Of(ctx, who, shown(v, changed))
	if len(hint.Executions) > mostHinted {
		hint.Executions, hint.All = hint.Executions[:mostHinted], true
	}
	return hint, err
}

// caller is who a bearer is now.
func (h *Hints) caller(ctx context.Context, by bearing) (grants.Caller, error) {
	t, err := access.Recheck(ctx, h.Store.Keys, by.token, h.Now())
	if err != nil {
		return grants.Caller{}, err
	}
	from := allowlist.Origin{Source: allowlist.API}
	if t.Kind == store.TokenSession {
		from.Source = allowlist.UI
	}
	from.Address, _ = netip.ParseAddr(by.address) // nobody's, if API Gateway says none
	who := h.Grants.Caller(t.Identity(), t.Actor).From(from)
	if err := who.Admitted(ctx); err != nil {
		return grants.Caller{}, err
	}
	if _, err := who.Open(ctx, t, h.Now()); err != nil {
		return grants.Caller{}, err
	}
	active, err := who.Active(ctx)
	if err == nil && !active {
		err = fault.New(fault.Unauthenticated, "%s is disabled, or was deleted", t.Actor)
	}
	return who, err
}

// ended says whether an error means that a bearer may no longer ask anything.
func ended(err error) bool {
	return slices.Contains([]fault.Code{fault.NotFound, fault.Unauthenticated, fault.ExpiredToken, fault.Forbidden}, fault.CodeOf(err))
}

// send says a hint to a page, and forgets one that has gone or that was the last.
func (h *Hints) send(ctx context.Context, v store.Viewer, hint live.Hint) error {
	doc, err := json.Marshal(hint)
	if err != nil {
		return err
	}
	gone, err := post(ctx, h.Gateway, v.ID, doc)
	if err != nil {
		return err
	}
	if hint.Bye || gone && h.Now().Sub(v.Opened) >= opening {
		_, err = h.Viewers.DeleteViewer(ctx, h.Account, v.ID)
	}
	return err
}

// complain says that pages weren't told.
func (h *Hints) complain(ctx context.Context, which string, err error) {
	if err != nil {
		h.Log.WarnContext(ctx, "pages weren't told of changed executions", "which", which, "error", err)
	}
}
