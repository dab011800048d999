package access

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// BindingKey is where it is kept how a user logs in (sso.Binding).
func BindingKey(account, user string) store.EntityKey {
	return store.EntityKey{Scope: ref.Scope{Account: account}, Kind: ref.LoginBinding, ID: user}
}

// SubjectKey is where it is kept which user somebody is whom a provider names.
func SubjectKey(account, provider, issuer, subject string) store.EntityKey {
	text, err := json.Marshal([]string{provider, issuer, subject})
	if err != nil { // texts always encode
		return store.EntityKey{}
	}
	sum := sha256.Sum256(text)
	return BindingKey(account, sso.BySubject+hex.EncodeToString(sum[:]))
}

// CredentialKey is where it is kept by which password of Slipway's own a user logs
// in. It is no user's identifier, nor whom a provider names.
func CredentialKey(account, user string) store.EntityKey {
	return BindingKey(account, sso.BySubject+"local="+user)
}
