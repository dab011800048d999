package storetest

import (
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func tokenCases() []testCase {
	return []testCase{
		{"a token is read as it was", putToken},
		{"lists have an account's tokens of a kind", listTokens},
		{"the day of a token's use is kept beside what is put", useToken},
	}
}

func (b *bench) token(name string, kind store.TokenKind) store.AccessToken {
	return store.AccessToken{
		ID: b.id(name), Hash: []byte("\x00\xffhash"), Kind: kind, Scope: b.scope(), Name: name, Actor: "ann", CreatedAt: at(1),
	}
}

func putToken(b *bench) {
	t := b.token("t1", store.TokenUser)
	b.ok(b.Store.PutToken(b.ctx(), t))
	got, err := b.Store.Token(b.ctx(), t.ID)
	b.ok(err)
	same(b, "read", t, got)
	t.Of, t.ExpiresAt, t.Principal = "t0", at(9), store.EntityKey{Scope: b.scope(), Kind: ref.ServiceAccount, ID: "ci"}
	t.Login = store.LoggedIn{Provider: "corp", AMR: []string{"pwd", "otp"}}
	t.Revoked, t.Binding = true, &store.Binding{Tags: []string{"eu", "prod"}, NamedSecrets: true}
	b.ok(b.Store.PutToken(b.ctx(), t))
	got, err = b.Store.Token(b.ctx(), t.ID)
	b.ok(err)
	same(b, "read after the second", t, got)
	_, err = b.Store.Token(b.ctx(), b.id("none"))
	b.refused(err, fault.NotFound)
}

func useToken(b *bench) {
	t, day := b.token("t1", store.TokenUser), func(n int) time.Time { return time.Unix(0, 0).UTC().AddDate(0, 0, n) }
	b.ok(b.Store.PutToken(b.ctx(), t))
	old, err := b.Store.Token(b.ctx(), t.ID)
	b.ok(err)
	b.ok(b.Store.UseToken(b.ctx(), t.ID, day(20)))
	b.ok(b.Store.UseToken(b.ctx(), t.ID, day(19))) // from a clock that is late
	t.LastUsed = day(20)
	got, err := b.Store.Token(b.ctx(), t.ID)
	b.ok(err)
	same(b, "read", t, got)
	listed, err := b.Store.ListTokens(b.ctx(), b.account, store.TokenUser)
	b.ok(err)
	same(b, "listed", []store.AccessToken{t}, listed)
	old.Revoked = true // by somebody who had read it before
	b.ok(b.Store.PutToken(b.ctx(), old))
	b.ok(b.Store.UseToken(b.ctx(), t.ID, day(21)))
	got, err = b.Store.Token(b.ctx(), t.ID)
	b.ok(err)
	old.LastUsed = day(21)
	same(b, "read after it was revoked", old, got)
	got.Name = "renamed"
	b.ok(b.Store.PutToken(b.ctx(), got))
	again, err := b.Store.Token(b.ctx(), t.ID)
	b.ok(err)
	same(b, "read after it was put", got, again)
	b.ok(b.Store.UseToken(b.ctx(), b.id("none"), day(21)))
	_, err = b.Store.Token(b.ctx(), b.id("none"))
	b.refused(err, fault.NotFound)
}

func listTokens(b *bench) {
	one, two, three := b.token("t1", store.TokenUser), b.token("t2", store.TokenUser), b.token("t3", store.TokenDelegate)
	elsewhere := b.token("t4", store.TokenUser)
	elsewhere.Scope.Account += "x"
	for _, t := range []store.AccessToken{two, elsewhere, three, one} {
		b.ok(b.Store.PutToken(b.ctx(), t))
	}
	users, err := b.Store.ListTokens(b.ctx(), b.account, store.TokenUser)
	b.ok(err)
	same(b, "user tokens", []store.AccessToken{one, two}, users)
	delegates, err := b.Store.ListTokens(b.ctx(), b.account, store.TokenDelegate)
	b.ok(err)
	same(b, "delegate tokens", []store.AccessToken{three}, delegates)
}
