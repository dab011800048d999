package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
)

// linkAge is how long a login link can be opened.
const linkAge = 5 * time.Minute

func (s *sessions) links(server *Server) {
	tags := []string{"Sessions"}
	exempt(server, action.Self, huma.Operation{
		OperationID: "makeLoginLink", Method: http.MethodPost, Path: "/v1/login-links", Tags: tags,
		Summary: "Make a link that opens one session of the console with the caller's token, on the server's own machine",
	}, s.makeLoginLink)
	exempt(server, action.Public, huma.Operation{
		OperationID: "loginByLink", Method: http.MethodPost, Path: loginPaths + "link", Tags: tags,
		Summary: "Open a session of the console with the code of a login link; the answer's cookie is it",
	}, s.loginByLink)
}

func (s *sessions) makeLoginLink(ctx context.Context, _ *struct{}) (*struct{ Body access.LoginLink }, error) {
	t := caller(ctx)
	if err := opens(t); err != nil {
		return nil, err
	}
	meaning, err := json.Marshal(access.MadeOf(t))
	if err != nil {
		return nil, fmt.Errorf("encode a login link: %w", err)
	}
	code, expires, err := s.tickets().Make(ctx, meaning, s.Now())
	return &struct{ Body access.LoginLink }{access.LoginLink{Code: code, ExpiresAt: expires}}, err
}

// tickets are the codes of login links, which mean tokens.
func (s *sessions) tickets() access.Tickets {
	return access.Tickets{Keys: s.Store.Keys, What: "login link", Age: linkAge}
}

func (s *sessions) loginByLink(ctx context.Context, in *struct {
	Origin string `header:"Origin" maxLength:"512" doc:"The console's, as browsers tell it"`
	Body   struct {
		Code string `json:"code" minLength:"1" maxLength:"128"`
	}
}) (*loggedIn, error) {
	if u, err := url.Parse(in.Origin); err != nil || u.Scheme != "http" || !loopback(u.Hostname()) {
		return nil, fault.New(fault.Forbidden, "a login link is for a browser on the server's own machine; log in with a token")
	}
	var t store.AccessToken
	taken, err := s.tickets().Take(ctx, in.Body.Code, s.Now(), func(meaning []byte) error {
		var of access.Made
		if err := json.Unmarshal(meaning, &of); err != nil {
			return fmt.Errorf("decode a login link: %w", err)
		}
		var err error
		t, err = access.Recheck(ctx, s.Store.Keys, of, s.Now())
		return err
	})
	if err == nil && !taken || fault.Is(err, fault.Unauthenticated) || fault.Is(err, fault.ExpiredToken) {
		return nil, deadLink()
	}
	if err != nil {
		return nil, err
	}
	return s.open(ctx, t, in.Origin)
}

func deadLink() error {
	return fault.New(fault.Unauthenticated, "the login link isn't known, was opened before, or is older than %s; make another with slipway console, or log in with a token", linkAge)
}
