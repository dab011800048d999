package session_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/session"
)

// asked gives the secret key that is lent at an address; empty if it isn't given.
func asked(t *testing.T, url, token string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return ""
	}
	var own session.Credentials
	if err := json.NewDecoder(resp.Body).Decode(&own); err != nil {
		t.Fatal(err)
	}
	return own.SecretAccessKey
}

// Credentials are lent to who has the token, newer ones at the same address, and
// only as long as the attempt runs.
func TestLendsCredentials(t *testing.T) {
	t.Parallel()
	c, _, _ := host(t)
	lend := func(step, key string) session.Lent {
		t.Helper()
		at, err := c.Lend(t.Context(), step, 1, session.Credentials{AccessKeyID: "AKIA", SecretAccessKey: key, Token: "t", Expiration: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	first, other := lend("a", "one"), lend("b", "two")
	if got := asked(t, first.URL, first.Token); got != "one" {
		t.Errorf("who has the token is given %q", got)
	}
	for _, token := range []string{"", other.Token, first.Token + "x"} {
		if got := asked(t, first.URL, token); got != "" {
			t.Errorf("who has the token %q is given %q", token, got)
		}
	}
	if again := lend("a", "newer"); again != first || asked(t, first.URL, first.Token) != "newer" {
		t.Errorf("newer ones are at %+v; want %+v", again, first)
	}
	if _, err := c.Start(t.Context(), "a", 1, shell("true")); err != nil {
		t.Fatal(err)
	}
	follow(t, c, "a", 1)
	if got := asked(t, first.URL, first.Token); got != "" {
		t.Errorf("after the end somebody is given %q", got)
	}
	if _, err := c.Lend(t.Context(), "a", 1, session.Credentials{}); !fault.Is(err, fault.Conflict) {
		t.Errorf("credentials for what has ended give %v", err)
	}
	if got := asked(t, other.URL, other.Token); got != "two" {
		t.Errorf("the other is given %q", got)
	}
}
