// Package githubapp has a GitHub app let in: it asks GitHub for a token of one of the
// app's installations, as docs.github.com/apps says.
//
// What the token is used for, and for how long it is kept, is the caller's to know.
package githubapp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/slipway-cd/slipway/delegate/transport"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// App is a GitHub app and how its API is reached.
type App struct {
	ID           int64
	Installation int64  // 0: it is asked for
	Key          string // PEM
	URL          string // of the API; empty: GitHub's own
	Over         *task.Over
}

// User is the name beside a token where a name and a password are wanted.
const User = "x-access-token"

// Token is a token of an installation.
type Token struct {
	Text  string
	Until time.Time // for how long it may be used
}

// useFor is how long a token is used at most, of the hour that it is good for, and
// early how long before its end it isn't any more.
const useFor, early = 40 * time.Minute, 5 * time.Minute

// Token asks for a token. Where the app doesn't say which installation of it is meant it
// is that of a repository or an organization, as repos/acme/web or orgs/acme.
func (a App) Token(ctx context.Context, of string) (Token, error) {
	signed, err := a.signed()
	if err != nil {
		return Token{}, err
	}
	api := strings.TrimRight(cmp.Or(a.URL, "https://api.github.com"), "/")
	installation := a.Installation
	if installation == 0 {
		var found struct{ ID int64 }
		if err := a.ask(ctx, http.MethodGet, api+"/"+of+"/installation", signed, &found); err != nil {
			return Token{}, err
		}
		installation = found.ID
	}
	var got struct {
		Token   string    `json:"token"`
		Expires time.Time `json:"expires_at"`
	}
	if err := a.ask(ctx, http.MethodPost, fmt.Sprintf("%s/app/installations/%d/access_tokens", api, installation), signed, &got); err != nil {
		return Token{}, err
	}
	until := time.Now().Add(useFor)
	if end := got.Expires.Add(-early); !got.Expires.IsZero() && end.Before(until) {
		until = end
	}
	return Token{Text: got.Token, Until: until}, nil
}

// signed says, signed, which app asks.
func (a App) signed() (string, error) {
	wrong := fault.New(fault.Invalid, "githubAppPrivateKey is no RSA key; want one in PEM")
	block, _ := pem.Decode([]byte(a.Key))
	if block == nil {
		return "", wrong
	}
	var key any
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		if key, err = x509.ParsePKCS8PrivateKey(block.Bytes); err != nil {
			return "", wrong
		}
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, nil)
	if err != nil {
		return "", wrong
	}
	now := time.Now()
	const late, long = time.Minute, 9 * time.Minute // of clocks that differ; GitHub takes ten minutes
	token, err := jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: strconv.FormatInt(a.ID, 10), IssuedAt: jwt.NewNumericDate(now.Add(-late)), Expiry: jwt.NewNumericDate(now.Add(long)),
	}).Serialize()
	if err != nil {
		return "", wrong
	}
	return token, nil
}

// maxAnswer is how much of GitHub's answer is read, in bytes.
const maxAnswer = 1 << 20

func (a App) ask(ctx context.Context, method, at, token string, into any) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, method, at, nil)
	if err != nil {
		return fault.New(fault.Invalid, "githubAppEnterpriseBaseUrl is no address")
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/vnd.github+json")
	over := task.Over{}
	if a.Over != nil {
		over = *a.Over
	}
	via, err := transport.New(&over)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: via, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
	if err != nil {
		return fault.New(fault.Unavailable, "ask GitHub for a token: %w", err).Causing(fault.Connectivity)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fault.New(fault.Unavailable, "read GitHub's answer: %w", err).Causing(fault.Connectivity)
	}
	if resp.StatusCode/100 != 2 {
		var said struct{ Message string }
		_ = json.Unmarshal(text, &said) // it says nothing else
		return fault.New(fault.Unavailable, "GitHub gives the app no token: status %d: %s", resp.StatusCode, said.Message).Causing(fault.Authentication)
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(into); err != nil {
		return fault.New(fault.Unavailable, "GitHub's answer can't be read").Causing(fault.Connectivity)
	}
	return nil
}
