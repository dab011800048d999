package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/printable"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Token is a credential without its secret part.
type Token struct {
	ID        string          `json:"id"`
	Kind      store.TokenKind `json:"kind" enum:"user,delegate"`
	Name      string          `json:"name"`
	Actor     string          `json:"actor" doc:"Who the bearer is, for audits"`
	Org       string          `json:"org,omitempty"`
	Project   string          `json:"project,omitempty"`
	Revoked   bool            `json:"revoked"`
	CreatedAt time.Time       `json:"createdAt"`
	Principal string          `json:"principal,omitempty" doc:"The user or the service account whose roles say what the token may, e.g. user ada; none: everything within its scope"`
	ExpiresAt time.Time       `json:"expiresAt,omitzero" doc:"When it opens nothing any more; none: never"`
	LastUsed  string          `json:"lastUsedDay,omitempty" format:"date" doc:"The day, in UTC, on which it opened something last; none: it never did"`
	Binding   *store.Binding  `json:"binding,omitempty" doc:"What the delegates of the token may be: its name is theirs, and these tags. None: what they say"`
}

// NewToken is a token that was just made: the only time that it is shown.
type NewToken struct {
	Token
	Secret string `json:"secret" doc:"The whole token. It is shown once and kept nowhere"`
}

// TokenList is a part of the list of tokens.
type TokenList struct {
	Tokens        []Token `json:"tokens" nullable:"false"`
	NextPageToken string  `json:"nextPageToken,omitempty"`
}

func tokenOf(t store.AccessToken) Token {
	used := ""
	if !t.LastUsed.IsZero() {
		used = t.LastUsed.UTC().Format(time.DateOnly)
	}
	return Token{
		LastUsed: used,
		ID:       t.ID, Kind: t.Kind, Name: t.Name, Actor: t.Actor, Org: t.Scope.Org, Project: t.Scope.Project,
		Revoked: t.Revoked, CreatedAt: t.CreatedAt, Binding: t.Binding, Principal: principalText(t.Principal), ExpiresAt: t.ExpiresAt,
	}
}

// principalText names a principal, e.g. "user ada" or "serviceAccount
// default/web/ci"; empty: there is none.
func principalText(p store.EntityKey) string {
	switch p.Kind {
	case "":
		return ""
	case ref.User:
		return "user " + p.ID
	default:
		return string(p.Kind) + " " + p.Scope.String() + "/" + p.ID
	}
}

// principalOf is the user, or else the service account, that a request names.
func principalOf(user, serviceAccount string, scope ref.Scope) (store.EntityKey, error) {
	if user != "" {
		return store.EntityKey{Scope: ref.Scope{Account: scope.Account}, Kind: ref.User, ID: user}, nil
	}
	r, err := ref.Parse(serviceAccount, scope)
	if err != nil {
		return store.EntityKey{}, invalid("serviceAccount: %w", err)
	}
	return store.EntityKey{Scope: r.Scope, Kind: ref.ServiceAccount, ID: r.ID}, nil
}

func (s *Server) tokens() {
	tags := []string{"Tokens"}
	handle(s, action.TokenCreate, huma.Operation{
		OperationID: "createToken", Method: http.MethodPost, Path: "/v1/tokens", Tags: tags, Summary: "Make a token for a scope",
	}, inTurn(s, s.createToken))
	handle(s, action.TokenView, huma.Operation{
		OperationID: "listTokens", Method: http.MethodGet, Path: "/v1/tokens", Tags: tags, Summary: "List tokens",
	}, s.listTokens)
	handle(s, action.TokenRevoke, huma.Operation{
		OperationID: "revokeToken", Method: http.MethodDelete, Path: "/v1/tokens/{token}", Tags: tags, Summary: "Revoke a token",
	}, s.revokeToken)
	handle(s, action.TokenRotate, huma.Operation{
		OperationID: "rotateToken", Method: http.MethodPost, Path: "/v1/tokens/{token}/rotate", Tags: tags,
		Summary: "Make a token like another one, for as long again, and end that one",
	}, inTurn(s, func(ctx context.Context, in *rotatesToken) (*struct{ Body NewToken }, error) {
		return rotateToken(ctx, s, in)
	}))
}

// CreateToken is the body of a request for a token.
type CreateToken struct {
	Kind  store.TokenKind `json:"kind" enum:"user,delegate"`
	Name  string          `json:"name" minLength:"1" maxLength:"128"`
	Actor string          `json:"actor,omitempty" maxLength:"128" doc:"Who the bearer will be; none means who asks. Only an account's token may name another"`
	// User and ServiceAccount say whose it is.
	User           string `json:"user,omitempty" maxLength:"128" doc:"The user whose roles say what the token may; only who may do everything in the account makes one for another user"`
	ServiceAccount string `json:"serviceAccount,omitempty" maxLength:"160" doc:"The service account whose roles say what the token may: of the token's scope, or of one around it, e.g. ci or account.ci"`
	Hours          int    `json:"hours,omitempty" minimum:"1" maximum:"8760" doc:"How long it opens anything; none means 30 days for a user's or a service account's, and else for ever"`

	Binding *store.Binding `json:"binding,omitempty" doc:"Of a delegate's token: its delegates have its name, and of these tags some, or all if they say none. None: they say what they like"`
}

func (s *Server) createToken(ctx context.Context, in *struct {
	Scoped
	Keyed
	Body    CreateToken
	RawBody []byte
}) (*struct{ Body NewToken }, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	if !printable.Clean(in.Body.Name) || !printable.Clean(in.Body.Actor) {
		return nil, invalid("a token's name and its actor are shown in lists; %q and %q aren't all of characters that can be seen", in.Body.Name, in.Body.Actor)
	}
	if err := checkBinding(in.Body); err != nil {
		return nil, err
	}
	grant, err := granted(ctx, s, scope, in.Body)
	if err != nil {
		return nil, err
	}
	// What is remembered for the key has no secret in it, so that a repetition
	// can't show it again.
	t, secret := access.Mint(grant, s.Now())
	made, err := once(ctx, s.kept, in.Keyed, in.RawBody, "createToken", func(string) (Token, error) {
		if err := s.Store.PutToken(ctx, t); err != nil {
			return Token{}, err
		}
		return tokenOf(t), s.auditToken(ctx, audit.CreateToken, t)
	})
	if err != nil {
		return nil, err
	}
	if made.ID != t.ID {
		return nil, fault.New(fault.Conflict, "this request made token %s before, and a token is shown once; revoke it and make another", made.ID)
	}
	return &struct{ Body NewToken }{NewToken{Token: made, Secret: secret}}, nil
}

// defaultAge is how long the token of a principal lasts if nobody says.
const defaultAge = 30 * 24 * time.Hour

// granted is what a new token is for, if the caller may make it: one of the same
// principal, or of nobody where the caller is nobody; a delegate's; a service
// account's, which may no more than the caller; or anybody's, by who may do
// everything.
func granted(ctx context.Context, s *Server, scope ref.Scope, c CreateToken) (access.Grant, error) {
	by := caller(ctx)
	g := access.Grant{Kind: c.Kind, Scope: scope, Name: c.Name, Actor: cmp.Or(c.Actor, by.Actor), Binding: c.Binding, Principal: by.Principal}
	named := c.User != "" || c.ServiceAccount != ""
	switch {
	case named && c.Kind != store.TokenUser:
		return g, invalid("a delegate's token is no user's and no service account's")
	case c.User != "" && c.ServiceAccount != "":
		return g, invalid("found user and serviceAccount; want one of the two")
	case c.Kind == store.TokenDelegate:
		g.Principal = store.EntityKey{}
	case named:
		var err error
		if g.Principal, err = principalOf(c.User, c.ServiceAccount, scope); err != nil {
			return g, err
		}
	}
	if g.Principal.Kind != "" {
		if c.Actor != "" {
			return g, invalid("the token is the %s's, and so has its name; want no actor", principalText(g.Principal))
		}
		g.Actor, g.ExpiresAt = access.ActorOf(g.Principal), s.Now().Add(defaultAge)
	}
	if c.Hours > 0 {
		g.ExpiresAt = s.Now().Add(time.Duration(c.Hours) * time.Hour)
	}
	g, err := lastsWithin(ctx, s, g, c.Hours > 0)
	if err != nil {
		return g, err
	}
	if g, err = bounded(ctx, s, g); err != nil {
		return g, err
	}
	return g, hasRoom(ctx, s, g, maxTokens-1)
}

// maxTokens is how many tokens a user or a service account has that open anything.
const maxTokens = 100

// hasRoom refuses a token of somebody who has more than so many.
func hasRoom(ctx context.Context, s *Server, g access.Grant, most int) error {
	if g.Principal.Kind == "" || g.Kind != store.TokenUser {
		return nil
	}
	all, err := s.Store.ListTokens(ctx, g.Scope.Account, store.TokenUser)
	if err != nil {
		return err
	}
	there := 0
	for _, t := range all {
		if t.Principal == g.Principal && !t.Revoked && access.Ended(t, s.Now()) == nil {
			there++
		}
	}
	if there > most {
		return fault.New(fault.TooLarge, "the %s has %d tokens that open something, and %d is the limit; revoke those that nobody uses: slipway token list shows when each was used", principalText(g.Principal), there, maxTokens)
	}
	return nil
}

// bounded is what a new token is for as far as the caller may make it.
func bounded(ctx context.Context, s *Server, g access.Grant) (access.Grant, error) {
	by := caller(ctx)
	if g.Kind == store.TokenDelegate {
		if err := asker(ctx).Allow(ctx, action.DelegateToken, right.Resource{Scope: g.Scope}); err != nil {
			return g, err
		}
	}
	if g.Principal.Kind == "" && g.Actor != by.Actor && (by.Scope.Org != "" || by.Principal.Kind != "" && asker(ctx).Everything(ctx) != nil) {
		return g, fault.New(fault.Forbidden, "a token for %s can't make one for the actor %q", by.Scope, g.Actor)
	}
	if g.Principal == by.Principal && g.Kind != store.TokenDelegate {
		until, err := until(ctx, s.Store.Keys, by)
		if err != nil {
			return g, err
		}
		if !until.IsZero() && (g.ExpiresAt.IsZero() || g.ExpiresAt.After(until)) {
			g.ExpiresAt = until // a token doesn't outlive itself by another
		}
	}
	return g, givesAway(ctx, s, g)
}

// until is when a token ends, or the one that a session was opened with; zero:
// never. What was begun by logging in at a provider ends by itself, so that who
// is let in there no more has nothing that goes on.
func until(ctx context.Context, keys store.Keys, t store.AccessToken) (time.Time, error) {
	if t.Kind != store.TokenSession || t.Of == "" {
		return t.ExpiresAt, nil
	}
	of, err := keys.Token(ctx, t.Of)
	return of.ExpiresAt, err
}

// givesAway refuses a token by which somebody would have more than the caller.
func givesAway(ctx context.Context, s *Server, g access.Grant) error {
	by, who := caller(ctx), asker(ctx)
	if g.Principal.Kind == "" || g.Principal == by.Principal {
		return nil
	}
	if _, err := s.Store.Entity(ctx, g.Principal); err != nil {
		return err
	}
	if g.Principal.Kind == ref.User {
		if err := who.Everything(ctx); err != nil {
			return fault.Wrap(err, "only who may do everything in the account makes a token for another user")
		}
		return nil
	}
	if err := who.Allow(ctx, action.ServiceAccountKey, right.Resource{Scope: g.Principal.Scope, ID: g.Principal.ID}); err != nil {
		return err
	}
	given, err := s.Catalog.Given(ctx, g.Principal)
	if err != nil {
		return err
	}
	return who.Covers(ctx, within(given, g.Scope))
}

// within are rights as far as a token's scope reaches.
func within(rights []right.Right, scope ref.Scope) []right.Right {
	var out []right.Right
	for _, r := range rights {
		cut := r
		cut.Within = nil
		for _, e := range r.Within {
			switch {
			case scope.Covers(e.Scope):
				cut.Within = append(cut.Within, e)
			case e.Children && e.Scope.Covers(scope):
				cut.Within = append(cut.Within, right.Extent{Scope: scope, Children: true})
			}
		}
		if len(cut.Within) > 0 {
			out = append(out, cut)
		}
	}
	return out
}

// checkBinding says what is wrong with the binding that is asked for.
func checkBinding(c CreateToken) error {
	if c.Binding == nil {
		return nil
	}
	if c.Kind != store.TokenDelegate {
		return invalid("a token of the kind %s has no binding; only delegates have tags", c.Kind)
	}
	if slices.Contains(c.Binding.Tags, "") {
		return invalid("the token %s has an empty tag", c.Name)
	}
	return checkTags("the token "+c.Name, c.Binding.Tags)
}

func (s *Server) auditToken(ctx context.Context, a audit.Action, t store.AccessToken) error {
	_, err := s.Store.AppendAudit(ctx, audit.Record{
		Time: s.Now(), Actor: caller(ctx).Actor, Scope: t.Scope, Action: a, Kind: "token", ID: t.ID,
		After: string(t.Kind) + " " + t.Name + " for " + t.Actor + endText(t.ExpiresAt) + bindingText(t.Binding), Request: requestID(ctx),
	})
	return err
}

// endText tells in the audit trail when a token ends.
func endText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return ", until " + at.UTC().Format(time.RFC3339)
}

// bindingText tells of a binding in the audit trail.
func bindingText(b *store.Binding) string {
	if b == nil {
		return ""
	}
	text := ", bound to the tags [" + strings.Join(b.Tags, ", ") + "]"
	if b.NamedSecrets {
		text += " and the secrets that documents name"
	}
	return text
}

func (s *Server) listTokens(ctx context.Context, in *struct {
	Scoped
	Paged
	Kind store.TokenKind `query:"kind" enum:"user,delegate" default:"user"`
}) (*struct{ Body TokenList }, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.Store.ListTokens(ctx, scope.Account, in.Kind)
	if err != nil {
		return nil, err
	}
	var mine []store.AccessToken
	for _, t := range all {
		if !scope.Covers(t.Scope) {
			continue
		}
		managed, err := manages(ctx, t)
		if err != nil {
			return nil, err
		}
		if managed {
			mine = append(mine, t)
		}
	}
	part, next, err := paginate(mine, func(t store.AccessToken) string { return t.Name + " " + t.ID }, in.Paged)
	if err != nil {
		return nil, err
	}
	out := TokenList{Tokens: make([]Token, len(part)), NextPageToken: next}
	for i, t := range part {
		out.Tokens[i] = tokenOf(t)
	}
	return &struct{ Body TokenList }{out}, nil
}

// ofToken names a token in the path.
type ofToken struct {
	ID string `path:"token" maxLength:"128"`
}

// about is the token's scope. A token of another is as good as none.
func (in ofToken) about(ctx context.Context, s *Server) (right.Resource, error) {
	t, err := s.Store.Token(ctx, in.ID)
	if err == nil && !caller(ctx).Scope.Covers(t.Scope) {
		err = notFound("no token %q", in.ID)
	}
	if err == nil {
		var mine bool
		if mine, err = manages(ctx, t); err == nil && !mine {
			err = notFound("no token %q", in.ID)
		}
	}
	return right.Resource{Scope: t.Scope}, err
}

// manages says whether the caller sees a token and may revoke it: its own, one
// that it could make by the kind's permission, or any if it may do everything in
// the token's scope.
func manages(ctx context.Context, t store.AccessToken) (bool, error) {
	by, who := caller(ctx), asker(ctx)
	if t.Principal.Kind != "" && t.Principal == by.Principal {
		return true, nil
	}
	var do action.Action
	on := right.Resource{Scope: t.Scope}
	switch {
	case t.Kind == store.TokenDelegate:
		do = action.DelegateToken
	case t.Principal.Kind == ref.ServiceAccount:
		do, on = action.ServiceAccountKey, right.Resource{Scope: t.Principal.Scope, ID: t.Principal.ID}
		if by.Principal.Kind == "" && by.Scope.Covers(t.Scope) {
			return true, nil
		}
	case t.Principal.Kind == ref.User:
		do, on = action.EntityDelete, right.Resource{Type: action.TypeOf(ref.User), Scope: t.Principal.Scope, ID: t.Principal.ID}
	default: // nobody's
		missing, err := who.Lacks(ctx, right.Legacy(t.Scope))
		return !missing, err
	}
	d, err := who.Decide(ctx, do, on)
	return d.Allowed, err
}

func (s *Server) revokeToken(ctx context.Context, in *ofToken) (*nothing, error) {
	t, err := s.Store.Token(ctx, in.ID)
	if err != nil || t.Revoked {
		return nil, err
	}
	t.Revoked = true
	if err := s.Store.PutToken(ctx, t); err != nil {
		return nil, err
	}
	return nil, s.auditToken(ctx, audit.RevokeToken, t)
}

// rotatesToken is a request to rotate a token.
type rotatesToken struct {
	ID string `path:"token" maxLength:"128"`
	Keyed
	Body *struct {
		KeepHours int `json:"keepHours,omitempty" minimum:"0" maximum:"168" doc:"How long the token that was there goes on; none: it is revoked at once"`
	}
}

func (in *rotatesToken) about(ctx context.Context, s *Server) (right.Resource, error) {
	return ofToken{in.ID}.about(ctx, s)
}

// rotateToken makes a token like another one, then ends that one, at once or in some
// hours, in which its bearers get the new one.
func rotateToken(ctx context.Context, s *Server, in *rotatesToken) (*struct{ Body NewToken }, error) {
	old, err := s.Store.Token(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	now := s.Now()
	if err := access.Ended(old, now); err != nil || old.Revoked || old.Kind == store.TokenSession {
		return nil, fault.New(fault.Conflict, "the token %q was revoked or has ended; make another", old.Name)
	}
	grant := access.Grant{Kind: old.Kind, Scope: old.Scope, Name: old.Name, Actor: old.Actor, Binding: old.Binding, Principal: old.Principal}
	if !old.ExpiresAt.IsZero() {
		grant.ExpiresAt = now.Add(old.ExpiresAt.Sub(old.CreatedAt))
	}
	if grant, err = lastsWithin(ctx, s, grant, false); err != nil {
		return nil, err
	}
	if grant, err = bounded(ctx, s, grant); err != nil {
		return nil, err
	}
	keep, most := 0, maxTokens // the old one makes room
	if in.Body != nil && in.Body.KeepHours > 0 {
		keep, most = in.Body.KeepHours, maxTokens-1
	}
	if err := hasRoom(ctx, s, grant, most); err != nil {
		return nil, err
	}
	t, secret := access.Mint(grant, now)
	made, err := once(ctx, s.kept, in.Keyed, fmt.Append(nil, keep), "rotateToken "+in.ID, func(string) (Token, error) {
		if err := s.Store.PutToken(ctx, t); err != nil {
			return Token{}, err
		}
		if err := s.auditToken(ctx, audit.RotateToken, t); err != nil {
			return Token{}, err
		}
		if keep == 0 {
			old.Revoked = true
			if err := s.Store.PutToken(ctx, old); err != nil {
				return Token{}, err
			}
			return tokenOf(t), s.auditToken(ctx, audit.RevokeToken, old)
		}
		until := now.Add(time.Duration(keep) * time.Hour)
		if old.ExpiresAt.IsZero() || until.Before(old.ExpiresAt) {
			old.ExpiresAt = until
		}
		return tokenOf(t), s.Store.PutToken(ctx, old)
	})
	if err != nil {
		return nil, err
	}
	if made.ID != t.ID {
		return nil, fault.New(fault.Conflict, "this request made token %s before, and a token is shown once; rotate that one", made.ID)
	}
	return &struct{ Body NewToken }{NewToken{Token: made, Secret: secret}}, nil
}
