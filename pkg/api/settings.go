package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/access/setting"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// settingList are the settings as they hold in a scope.
type settingList struct {
	Settings []setting.Holds `json:"settings" nullable:"false"`
}

// looksAtSettings is a request about the settings of a scope.
type looksAtSettings struct{ Scoped }

func (in looksAtSettings) about(ctx context.Context, _ *Server) (right.Resource, error) {
	scope, err := in.scope(ctx)
	return right.Resource{Type: action.TypeOf(ref.Setting), Scope: scope}, err
}

func settingsEndpoint(s *Server) {
	handle(s, action.EntityView, huma.Operation{
		OperationID: "listSettings", Method: http.MethodGet, Path: "/v1/settings", Tags: []string{"Settings"},
		Summary: "List the settings as they hold in a scope, with where each is set",
	}, func(ctx context.Context, in *looksAtSettings) (*struct{ Body settingList }, error) {
		scope, err := in.scope(ctx)
		if err != nil {
			return nil, err
		}
		around, err := s.grants.Set(ctx, scope)
		if err != nil {
			return nil, err
		}
		return &struct{ Body settingList }{settingList{setting.Held(scope.Around(), around)}}, nil
	})
}

// lastsWithin keeps the time of a new token within what the settings of its scope say. What
// was asked for by name is refused, what nobody asked for is cut. Delegates' tokens
// last: nobody has them in a file of one's own.
func lastsWithin(ctx context.Context, s *Server, g access.Grant, asked bool) (access.Grant, error) {
	if g.Kind != store.TokenUser {
		return g, nil
	}
	set, err := s.grants.Settings(ctx, g.Scope)
	if err != nil || set.MaxTokenLifetime == 0 {
		return g, err
	}
	last := s.Now().Add(set.MaxTokenLifetime)
	if g.ExpiresAt.IsZero() || g.ExpiresAt.After(last) {
		if asked {
			return g, invalid("hours: the setting %s of %s lets a token last %s at most", setting.MaxTokenLifetime, g.Scope, setting.Shown(set.MaxTokenLifetime))
		}
		g.ExpiresAt = last
	}
	return g, nil
}

// marks refuses to mark steps as failed where the settings say so.
func marks(ctx context.Context, scope ref.Scope) error {
	set, err := asker(ctx).Settings(ctx, scope)
	if err == nil && set.MarkAsFailed == setting.No {
		err = fault.New(fault.Forbidden, "the setting %s of %s says that nobody marks running steps as failed", setting.AllowMarkAsFailed, scope)
	}
	return err
}

const (
	// idleHeader is in requests that the console makes by itself, while nobody touches it.
	idleHeader = "X-Slipway-Idle"
	// seenEvery is how often it is kept that somebody has done something by a session.
	seenEvery = 5 * time.Minute
)

// idles says whether a request is none that somebody has made just now.
func idles(r *http.Request) bool {
	return r.Header.Get(idleHeader) != "" || strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// sees keeps that somebody does something by a session, now and then, and where it
// matters. What fails is tried again by the next request.
func sees(r *http.Request, keys store.Keys, t store.AccessToken, set setting.Settings, now time.Time) error {
	if t.Kind != store.TokenSession || set.SessionInactivity == 0 || idles(r) || now.Sub(t.Seen()) < seenEvery {
		return nil
	}
	if err := keys.UseToken(r.Context(), t.ID, now); err != nil {
		return fmt.Errorf("keep that the session %s was used: %w", t.ID, err)
	}
	return nil
}
