package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/login"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// localPath is where people log in by a password that Slipway keeps.
const localPath = loginPaths + "local"

// locals adds what has to do with passwords that Slipway keeps.
func (s *logins) locals(server *Server) {
	tags := []string{"Sessions"}
	open := []map[string][]string{{}}
	exempt(server, action.Public, huma.Operation{
		OperationID: "loginByLocalPassword", Method: http.MethodPost, Path: localPath, Tags: tags, Security: open,
		Summary: "Open a session of the console with a password that Slipway keeps; the answer's cookie is it",
	}, s.localPassword)
	exempt(server, action.Public, huma.Operation{
		OperationID: "exchangeLocalPassword", Method: http.MethodPost, Path: localPath + exchangePath, Tags: tags, Security: open,
		Summary: "Swap a password that Slipway keeps for a token of the API, at a terminal",
	}, s.exchangeLocal)
	tags = []string{"Access"}
	const second = "/v1/users/{user}/totp"
	handle(server, action.UserPassword, huma.Operation{
		OperationID: "setPassword", Method: http.MethodPut, Path: "/v1/users/{user}/password", Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Set a user's password; another than the first ends the user's sessions and tokens",
	}, s.setPassword)
	handle(server, action.UserPassword, huma.Operation{
		OperationID: "beginSecondFactor", Method: http.MethodPost, Path: second, Tags: tags,
		Summary: "Begin a second factor of one's own, with the password; what the authenticator is told is shown once",
	}, s.beginSecond)
	handle(server, action.UserPassword, huma.Operation{
		OperationID: "confirmSecondFactor", Method: http.MethodPost, Path: second + "/confirm", Tags: tags,
		Summary: "Show a code of the second factor that was begun, which is asked for from then on; the recovery codes are shown once",
	}, s.confirmSecond)
	handle(server, action.UserPassword, huma.Operation{
		OperationID: "removeSecondFactor", Method: http.MethodDelete, Path: second, Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Take a user's second factor away",
	}, s.removeSecond)
}

// locally is what somebody types to log in by a password that Slipway keeps.
type locally struct {
	Origin string `header:"Origin" maxLength:"512" doc:"The console's, as browsers tell it"`
	Body   struct {
		User     string `json:"user" maxLength:"256" doc:"The mail address or the identifier of a user"`
		Password string `json:"password" maxLength:"512"`
		Code     string `json:"code,omitempty" maxLength:"64" doc:"Of who has a second factor: the code of now, or a recovery code"`
	}
	reaches
}

func (l *locally) typed(ctx context.Context) login.Typed {
	return login.Typed{User: l.Body.User, Password: login.Password(l.Body.Password), Code: login.Password(l.Body.Code), From: l.from, Request: requestID(ctx)}
}

func (s *logins) localPassword(ctx context.Context, in *locally) (*loggedIn, error) {
	if !s.keeps() {
		return nil, noPasswords()
	}
	if _, err := cookieFor(in.Origin, "", 0); err != nil {
		return nil, err // the browser wouldn't keep the session
	}
	who, err := s.Desk.Local(ctx, in.typed(ctx))
	if err != nil {
		return nil, sentence(err)
	}
	return s.session(ctx, who, in.Origin)
}

func (s *logins) exchangeLocal(ctx context.Context, in *locally) (*struct{ Body NewToken }, error) {
	if !s.keeps() {
		return nil, noPasswords()
	}
	who, err := s.Desk.Local(ctx, in.typed(ctx))
	if err != nil {
		return nil, sentence(err)
	}
	return s.token(ctx, who)
}

// keeps says whether people log in here by passwords that Slipway keeps.
func (s *logins) keeps() bool { return s.Desk != nil && !s.Desk.NoPasswords }

func noPasswords() error { return fault.New(fault.Unsupported, "%s", login.NoPasswords) }

// person is the user by whose login a request is about, as the caller sees that one.
type person struct {
	id   string
	from string
}

// self says whether the caller asks about itself.
func (p person) self(ctx context.Context) bool {
	t := caller(ctx)
	return t.Principal == store.EntityKey{Scope: ref.Scope{Account: t.Scope.Account}, Kind: ref.User, ID: p.id}
}

// typed is what the caller shows of itself.
func (p person) typed(ctx context.Context, password, code string) login.Typed {
	return login.Typed{User: p.id, Password: login.Password(password), Code: login.Password(code), From: p.from, Request: requestID(ctx)}
}

// others refuses who may not be everybody.
func others(ctx context.Context) error {
	if err := asker(ctx).Everything(ctx); err != nil {
		return fault.Wrap(err, "only who may do everything in the account says by what a user logs in; who has a password changes that one, as the user and with it")
	}
	return nil
}

func (s *logins) setPassword(ctx context.Context, in *struct {
	ofTheAccount
	reaches
	User string `path:"user" maxLength:"128"`
	Body struct {
		Password string `json:"password" maxLength:"2048" doc:"The new one, of 12 characters at least"`
		Old      string `json:"old,omitempty" maxLength:"512" doc:"The one that there is: who changes one's own shows it"`
	}
}) (*nothing, error) {
	if p := (person{in.User, in.from}); s.keeps() && p.self(ctx) {
		has, err := s.Desk.HasPassword(ctx, in.User)
		if err != nil {
			return nil, err
		}
		if has {
			return nil, shown(s.Desk.ChangePassword(ctx, p.typed(ctx, in.Body.Old, ""), login.Password(in.Body.Password)))
		}
	}
	if err := others(ctx); err != nil {
		return nil, err
	}
	if !s.keeps() {
		return nil, noPasswords()
	}
	return nil, s.Desk.SetPassword(ctx, in.User, login.Password(in.Body.Password), author(ctx))
}

// shown tells who is logged in that what was shown besides isn't right: the token
// that the request came with is.
func shown(err error) error {
	if told := sentence(err); fault.Is(told, fault.Unauthenticated) {
		return fault.New(fault.Forbidden, "%s", fault.Told(told))
	}
	return err
}

func (s *logins) beginSecond(ctx context.Context, in *struct {
	ofTheAccount
	reaches
	User string `path:"user" maxLength:"128"`
	Body struct {
		Password string `json:"password" maxLength:"512"`
	}
}) (*struct{ Body login.Enrolment }, error) {
	p := person{in.User, in.from}
	if err := s.own(ctx, p); err != nil {
		return nil, err
	}
	out, err := s.Desk.Enrol(ctx, p.typed(ctx, in.Body.Password, ""))
	return &struct{ Body login.Enrolment }{out}, shown(err)
}

// own refuses a second factor of somebody else: only who has the authenticator sets
// it up.
func (s *logins) own(ctx context.Context, p person) error {
	switch {
	case !s.keeps():
		return noPasswords()
	case !p.self(ctx):
		return fault.New(fault.Forbidden, "a second factor is set up by the user whose it is, logged in as that one; the caller is %s", caller(ctx).Actor)
	}
	return nil
}

func (s *logins) confirmSecond(ctx context.Context, in *struct {
	ofTheAccount
	reaches
	User string `path:"user" maxLength:"128"`
	Body struct {
		Code string `json:"code" maxLength:"64" doc:"That the authenticator shows"`
	}
}) (*struct{ Body login.Recovery }, error) {
	p := person{in.User, in.from}
	if err := s.own(ctx, p); err != nil {
		return nil, err
	}
	codes, err := s.Desk.Confirm(ctx, p.typed(ctx, "", in.Body.Code))
	return &struct{ Body login.Recovery }{login.Recovery{Codes: codes}}, shown(err)
}

func (s *logins) removeSecond(ctx context.Context, in *struct {
	ofTheAccount
	User string `path:"user" maxLength:"128"`
}) (*nothing, error) {
	if err := others(ctx); err != nil {
		return nil, err
	}
	if !s.keeps() {
		return nil, noPasswords()
	}
	return nil, s.Desk.RemoveSecond(ctx, in.User, author(ctx))
}
