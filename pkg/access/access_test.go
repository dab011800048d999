package access_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// kept is a store of one token, or of several.
type kept struct {
	store.Keys
	token store.AccessToken
	all   []store.AccessToken
	err   error
}

func (k kept) Token(_ context.Context, id string) (store.AccessToken, error) {
	if k.err != nil {
		return store.AccessToken{}, k.err
	}
	for _, t := range k.all {
		if t.ID == id {
			return t, nil
		}
	}
	if id != k.token.ID {
		return store.AccessToken{}, fault.New(fault.NotFound, "no token %q", id)
	}
	return k.token, nil
}

func mint(kind store.TokenKind) (store.AccessToken, string) {
	return access.Mint(access.Grant{
		Kind: kind, Scope: ref.Scope{Account: "acme", Org: "default"}, Name: "ci", Actor: "ada",
	}, time.Unix(0, 0))
}

func ending(t store.AccessToken, at int64) store.AccessToken {
	t.ExpiresAt = time.Unix(at, 0)
	return t
}

func TestVerify(t *testing.T) {
	t.Parallel()
	token, text := mint(store.TokenUser)
	other, otherText := mint(store.TokenUser)
	revoked := token
	revoked.Revoked = true
	relabelled := token
	relabelled.Kind = store.TokenDelegate
	parts := strings.Split(text, ".")
	broken := errors.New("disk is gone")
	for _, c := range []struct {
		name string
		kept kept
		text string
		want fault.Code
	}{
		{"the token itself", kept{token: token}, text, ""},
		{"unknown id", kept{token: other}, text, fault.Unauthenticated},
		{"known id, wrong random part", kept{token: token}, strings.Join(append(parts[:3:3], "AAAA"), "."), fault.Unauthenticated},
		{"another's random part", kept{token: token}, strings.Join(append(parts[:3:3], strings.Split(otherText, ".")[3]), "."), fault.Unauthenticated},
		{"revoked", kept{token: revoked}, text, fault.Unauthenticated},
		{"of the other kind", kept{token: relabelled}, text, fault.Unauthenticated},
		{"no token at all", kept{token: token}, "hello", fault.Unauthenticated},
		{"before its end", kept{token: ending(token, 101)}, text, ""},
		{"at its end", kept{token: ending(token, 100)}, text, fault.ExpiredToken},
		{"ended, and not known", kept{token: ending(other, 100)}, text, fault.Unauthenticated},
		{"empty", kept{token: token}, "", fault.Unauthenticated},
		{"a store that can't answer isn't a refusal", kept{err: broken}, text, fault.Internal},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := access.Verify(t.Context(), c.kept, c.text, time.Unix(100, 0))
			if fault.CodeOf(err) != c.want {
				t.Fatalf("error is %v; want code %q", err, c.want)
			}
			if err == nil && got.Actor != "ada" {
				t.Errorf("the bearer is %q; want ada", got.Actor)
			}
		})
	}
}

func TestMintKeepsOnlyAHash(t *testing.T) {
	t.Parallel()
	token, text := mint(store.TokenDelegate)
	if !strings.HasPrefix(text, "dlg.acme."+token.ID+".") {
		t.Errorf("the token is %q; want dlg.acme.%s.<random>", text, token.ID)
	}
	random := text[strings.LastIndex(text, ".")+1:]
	if strings.Contains(string(token.Hash), random) || len(random) < 26 {
		t.Errorf("the random part %q must be long and not in the record", random)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	token, _ := mint(store.TokenUser)
	for _, c := range []struct {
		scope ref.Scope
		want  fault.Code
	}{
		{ref.Scope{Account: "acme", Org: "default"}, ""},
		{ref.Scope{Account: "acme", Org: "default", Project: "web"}, ""},
		{ref.Scope{Account: "acme"}, fault.Forbidden},
		{ref.Scope{Account: "acme", Org: "other", Project: "web"}, fault.Forbidden},
		{ref.Scope{Account: "evil", Org: "default"}, fault.Forbidden},
	} {
		if err := access.Check(token, c.scope); fault.CodeOf(err) != c.want {
			t.Errorf("%s: %v; want code %q", c.scope, err, c.want)
		}
	}
}

// Ids of what has ended are used again: who has another's id isn't that one, and opens no
// session of that one's.
func TestAnotherOfTheIDIsntTheSame(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	token, _ := access.Mint(access.Grant{Kind: store.TokenUser, ID: "t1"}, now.Add(-time.Hour))
	session, text := access.Mint(access.Grant{Kind: store.TokenSession, ID: "s1", Of: "t1", ExpiresAt: now.Add(time.Hour)}, now.Add(-time.Minute))
	later := func(t store.AccessToken) store.AccessToken { t.CreatedAt = now.Add(-time.Second); return t }
	for name, tt := range map[string]struct {
		keys     []store.AccessToken
		same     bool // the session that was found
		verified bool
	}{
		"as it was":                       {[]store.AccessToken{token, session}, true, true},
		"another session":                 {[]store.AccessToken{token, later(session)}, false, true},
		"another token that it was of":    {[]store.AccessToken{later(token), session}, false, false},
		"the token that it was of is out": {[]store.AccessToken{session}, false, false},
	} {
		if _, err := access.Recheck(t.Context(), kept{all: tt.keys}, access.MadeOf(session), now); (err == nil) != tt.same || err != nil && !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%s: it is looked at again: %v", name, err)
		}
		if _, err := access.VerifySession(t.Context(), kept{all: tt.keys}, text, now); (err == nil) != tt.verified {
			t.Errorf("%s: it is shown again: %v", name, err)
		}
	}
}
