package api

import (
	"context"
	"errors"
	"net/netip"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/login"
	"github.com/slipway-cd/slipway/pkg/store"
)

// typed is what somebody types to log in.
type typed struct {
	Provider string `path:"provider" maxLength:"128"`
	Origin   string `header:"Origin" maxLength:"512" doc:"The console's, as browsers tell it"`
	Body     struct {
		User     string `json:"user" maxLength:"256" doc:"The mail address that the directory has of somebody"`
		Password string `json:"password" maxLength:"512"`
	}
	reaches
}

// reaches is the network that a request comes from.
type reaches struct{ from string }

// Resolve keeps it (huma.Resolver).
func (r *reaches) Resolve(ctx huma.Context) []error {
	r.from = network(ctx.RemoteAddr(), ctx.Header("X-Forwarded-For"))
	if at := addressOf(ctx.Context()); at != parseAddress(hostOf(ctx.RemoteAddr())) { // as a proxy says that the server was told of
		r.from = network(at.String(), "")
	}
	return nil
}

func (t *typed) typed(ctx context.Context) login.Typed {
	return login.Typed{User: t.Body.User, Password: login.Password(t.Body.Password), From: t.from, Request: requestID(ctx)}
}

// network is where a request comes from: the /24 of an IPv4 address, the /64 of an
// IPv6 one, as most people have no fewer. A proxy on this machine says for whom it
// asks; of anybody else that is believed by nobody.
func network(remote, forwarded string) string {
	host := hostOf(remote)
	if loopback(host) && forwarded != "" {
		host = strings.TrimSpace(forwarded[strings.LastIndexByte(forwarded, ',')+1:]) // what it has added itself
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return "elsewhere"
	}
	bits := 64
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		bits = 24
	}
	return netip.PrefixFrom(ip, bits).Masked().String()
}

func (s *logins) password(ctx context.Context, in *typed) (*loggedIn, error) {
	if s.Desk == nil {
		return nil, nobodyLogsIn()
	}
	if _, err := cookieFor(in.Origin, "", 0); err != nil {
		return nil, err // the browser wouldn't keep the session
	}
	who, err := s.Desk.Check(ctx, in.Provider, in.typed(ctx))
	if err != nil {
		return nil, sentence(err)
	}
	return s.session(ctx, who, in.Origin)
}

// session is one of the console for who has logged in at a page of some origin.
func (s *logins) session(ctx context.Context, who login.Person, origin string) (*loggedIn, error) {
	t, text, err := s.mintFor(ctx, who, store.TokenSession)
	if err != nil {
		return nil, err
	}
	cookie, err := cookieFor(origin, text, lasts(t))
	if err != nil {
		return nil, err
	}
	return &loggedIn{SetCookie: cookie, Body: s.whoamiOf(t)}, s.begun(ctx, who, t)
}

func (s *logins) exchangePassword(ctx context.Context, in *typed) (*struct{ Body NewToken }, error) {
	if s.Desk == nil {
		return nil, nobodyLogsIn()
	}
	who, err := s.Desk.Check(ctx, in.Provider, in.typed(ctx))
	if err != nil {
		return nil, sentence(err)
	}
	return s.token(ctx, who)
}

// sentence tells people why they aren't logged in, and no more than they need.
func sentence(err error) error {
	var r *login.Refusal
	if !errors.As(err, &r) {
		return err
	}
	told := fault.New(fault.Unauthenticated, "%s", r.Failure.Sentence())
	if r.Failure == login.Second { // so that programs know to ask for it
		return told.With(fault.Detail{Severity: "error", Code: login.SecondWanted, Message: r.Failure.Sentence()})
	}
	return told
}
