package api

import (
	"context"
	"net/http"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
	"github.com/slipway-cd/slipway/pkg/trigger/firing"
)

func (s *Server) delegateWatches() {
	exempt(s, action.Delegate, delegateOp("watches", http.MethodPost, "/{id}/watches", "Ask for releases to watch"), s.station.watches)
	exempt(s, action.Delegate, delegateOp("freshWatchToken", http.MethodPost, "/{id}/watches/token", "Ask for another token before one that came with a watch has ended"), s.station.freshWatchToken)
	observe := delegateOp("observe", http.MethodPost, "/{id}/instances", "Report what runs of a watched release")
	observe.MaxBodyBytes = maxDelegateBody
	exempt(s, action.Delegate, observe, s.station.observe)
}

func (s *station) watches(ctx context.Context, in *struct {
	OfDelegate
	Body protocol.Watching
}) (*struct{ Body protocol.Watches }, error) {
	d, err := s.delegate(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := checkWatching(in.Body); err != nil {
		return nil, err
	}
	var places, polls protocol.Watching
	for _, w := range in.Body.Held {
		if firing.IsPoll(w.ID) {
			polls.Held = append(polls.Held, w)
		} else {
			places.Held = append(places.Held, w)
		}
	}
	out, err := s.Ledger.Watches(ctx, d, places)
	if err != nil {
		return nil, err
	}
	more, err := s.Triggers.Polls(ctx, d, polls)
	out.Watch, out.Drop = append(out.Watch, more.Watch...), append(out.Drop, more.Drop...)
	return &struct{ Body protocol.Watches }{out}, err
}

func (s *station) freshWatchToken(ctx context.Context, in *struct {
	OfDelegate
	Body protocol.WatchToken
}) (*struct{ Body task.IdentityToken }, error) {
	d, err := s.delegate(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	sign := s.Ledger.WatchToken
	if firing.IsPoll(in.Body.ID) {
		sign = s.Triggers.PollToken
	}
	t, err := sign(ctx, d, in.Body)
	return &struct{ Body task.IdentityToken }{t}, err
}

func (s *station) observe(ctx context.Context, in *struct {
	OfDelegate
	Body task.Observed
}) (*nothing, error) {
	d, err := s.delegate(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := checkObserved(in.Body); err != nil {
		return nil, err
	}
	if firing.IsPoll(in.Body.ID) {
		return nil, s.Triggers.News(ctx, d, in.Body)
	}
	return nil, s.Ledger.Observe(ctx, d, in.Body)
}
