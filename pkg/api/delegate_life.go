package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/mirror"
	"github.com/slipway-cd/slipway/pkg/ledger"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
	"github.com/slipway-cd/slipway/pkg/trigger/firing"
)

// OfDelegate names a delegate in the path.
type OfDelegate struct {
	ID string `path:"id" maxLength:"128" doc:"The id that the delegate made at its start"`
}

// delegateOp describes an endpoint for delegates. Bodies aren't checked
// against a schema: a newer delegate may say more than this server knows.
func delegateOp(id, method, path, summary string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: "/v1/delegate" + path, Summary: summary, Tags: []string{"Delegate protocol"},
		SkipValidateBody: true,
	}
}

func (s *Server) delegateLife() {
	exempt(s, action.Delegate, delegateOp("registerDelegate", http.MethodPost, "/register", "Say hello"), s.station.registerDelegate)
	exempt(s, action.Delegate, delegateOp("delegateHeartbeat", http.MethodPost, "/{id}/heartbeat", "Renew leases, hear of cancels"), s.station.heartbeat)
	exempt(s, action.Delegate, delegateOp("delegateSessions", http.MethodPost, "/{id}/sessions", "Ask which open sessions are over"), s.station.sessions)
	exempt(s, action.Delegate, delegateOp("delegateGoodbye", http.MethodDelete, "/{id}", "Say goodbye"), s.station.goodbye)
}

// station is what delegates call: it registers them, and gives and takes tasks.
type station struct {
	Store    store.Store
	Tasks    *execution.Tasks
	Ledger   *ledger.Ledger
	Triggers *firing.Service
	GitOps   *mirror.Mirror
	Catalog  *catalog.Catalog
	Timing   protocol.Registered
	Now      func() time.Time
	Log      *slog.Logger
}

func (s *station) registerDelegate(ctx context.Context, in *struct{ Body protocol.Register }) (*struct{ Body protocol.Registered }, error) {
	r, t := in.Body, caller(ctx)
	if err := checkHello(r); err != nil {
		return nil, err
	}
	tags, err := boundTags(t, r)
	if err != nil {
		return nil, err
	}
	known, err := s.Store.Delegate(ctx, t.Scope.Account, r.ID)
	if err == nil && known.TokenID != t.ID {
		return nil, fault.New(fault.Forbidden, "delegate %s registered with another token", r.ID)
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	d := store.Delegate{
		ID: r.ID, Scope: t.Scope, Name: r.Name, Host: r.Host, Tags: tags, Binding: t.Binding, Version: r.Version, Kinds: r.Kinds,
		Capacity: r.Capacity, TokenID: t.ID, LastSeen: s.Now(), StartedAt: s.Now(), Machine: r.Machine, Tools: r.Tools,
	}
	if err := s.Store.PutDelegate(ctx, d); err != nil {
		return nil, err
	}
	s.Log.InfoContext(ctx, "delegate registered", "delegate", d.Name, "id", d.ID, "host", d.Host, "tags", d.Tags)
	return &struct{ Body protocol.Registered }{s.Timing}, nil
}

// boundTags are the tags that a delegate gets: those that it says, or those of
// its token if it says none. A token that is bound lets it say nothing else.
func boundTags(t store.AccessToken, r protocol.Register) ([]string, error) {
	if t.Binding == nil {
		return r.Tags, nil
	}
	if r.Name != t.Name {
		return nil, fault.New(fault.Forbidden, "this token is for delegates with the name %s, and this one says %s; start it with --name %s, or make a token for it",
			t.Name, r.Name, t.Name)
	}
	for _, tag := range r.Tags {
		if !slices.ContainsFunc(t.Binding.Tags, func(own string) bool { return strings.EqualFold(own, tag) }) {
			return nil, fault.New(fault.Forbidden, "the token of delegate %s doesn't have the tag %s; it has %s. Leave the tag out, or make a token with it",
				t.Name, tag, cmp.Or(strings.Join(t.Binding.Tags, ", "), "none"))
		}
	}
	if len(r.Tags) == 0 {
		return t.Binding.Tags, nil
	}
	return r.Tags, nil
}

// delegate reads the delegate that a request speaks for: one that registered
// with the token that it uses.
func (s *station) delegate(ctx context.Context, id string) (store.Delegate, error) {
	t := caller(ctx)
	d, err := s.Store.Delegate(ctx, t.Scope.Account, id)
	if err == nil && d.TokenID != t.ID {
		err = fault.New(fault.Forbidden, "delegate %s registered with another token", id)
	}
	return d, err
}

func (s *station) heartbeat(ctx context.Context, in *struct {
	OfDelegate
	Body protocol.Heartbeat
}) (*struct{ Body protocol.HeartbeatAnswer }, error) {
	d, err := s.delegate(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := checkBeat(in.Body); err != nil {
		return nil, err
	}
	out, err := s.Tasks.Heartbeat(ctx, d, in.Body)
	return &struct{ Body protocol.HeartbeatAnswer }{out}, err
}

func (s *station) sessions(ctx context.Context, in *struct {
	OfDelegate
	Body task.Sessions
}) (*struct{ Body task.SessionsOver }, error) {
	d, err := s.delegate(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if len(in.Body.Open) > task.MaxSessions {
		return nil, fault.New(fault.Invalid, "found %d sessions; want %d at most", len(in.Body.Open), task.MaxSessions)
	}
	out, err := execution.SessionsOver(ctx, s.Store, d, in.Body.Open)
	return &struct{ Body task.SessionsOver }{out}, err
}

func (s *station) goodbye(ctx context.Context, in *OfDelegate) (*nothing, error) {
	d, err := s.delegate(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	s.Log.InfoContext(ctx, "delegate said goodbye", "delegate", d.Name, "id", d.ID)
	return nil, s.Tasks.Goodbye(ctx, d)
}
