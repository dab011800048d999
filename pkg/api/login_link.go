package api

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
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
	link := access.LoginLink{Code: rand.Text(), ExpiresAt: s.Now().Add(linkAge)}
	_, _, err := s.Store.PutAnswer(ctx, store.Answer{Key: linkKey(link.Code, "made"), Body: []byte(t.ID), Expires: link.ExpiresAt})
	return &struct{ Body access.LoginLink }{link}, err
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
	made, err := s.Store.Answer(ctx, linkKey(in.Body.Code, "made"), s.Now())
	if fault.Is(err, fault.NotFound) {
		return nil, deadLink()
	}
	if err != nil {
		return nil, err
	}
	t, err := s.Store.Token(ctx, string(made.Body))
	if err == nil {
		err = access.Recheck(ctx, s.Store.Keys, t, s.Now())
	}
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unauthenticated) || fault.Is(err, fault.ExpiredToken) {
		return nil, deadLink()
	}
	if err != nil {
		return nil, err
	}
	// Of two who open it at once the store lets one be the first. The mark outlives the link.
	_, first, err := s.Store.PutAnswer(ctx, store.Answer{Key: linkKey(in.Body.Code, "opened"), Expires: made.Expires.Add(linkAge)})
	if err != nil {
		return nil, err
	}
	if !first {
		return nil, deadLink()
	}
	return s.open(ctx, t, in.Origin)
}

func deadLink() error {
	return fault.New(fault.Unauthenticated, "the login link isn't known, was opened before, or is older than %s; make another with slipway console, or log in with a token", linkAge)
}

// linkKey is where a link's making or opening is noted. It doesn't tell the code.
func linkKey(code, what string) string {
	return fmt.Sprintf("login link %s %x", what, sha256.Sum256([]byte(code)))
}
