package e2e_test

import (
	"net"
	"net/http"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// An IP allow list of the account keeps out who comes from another address, with a token
// and where people log in; a delegate goes on from where it is. All of 127.0.0.0/8 is this
// machine's on Linux.
func TestIPAllowlists(t *testing.T) {
	t.Parallel()
	onEveryHost(t, ipAllowlists)
}

func ipAllowlists(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	from := func(address, path string) int {
		t.Helper()
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
		transport := &http.Transport{DialContext: dialer.DialContext}
		defer transport.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.Token)
		r.Header.Set("X-Forwarded-For", "127.0.0.1")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		resp, err := (&http.Client{Transport: transport}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		return resp.StatusCode
	}
	both := func(address string, want int) {
		t.Helper()
		for _, path := range []string{"/v1/whoami", "/v1/login"} {
			if got := from(address, path); got != want {
				t.Errorf("%s answers %d to %s; want %d", path, got, address, want)
			}
		}
	}
	account := *s
	account.Org, account.Project = "", ""
	both("127.0.0.2", http.StatusOK)
	wantRefused(t, account.Call(t.Context(), "PUT", "/v1/entities", "ipAllowlist: {identifier: other, name: Other, ipAddress: 127.0.0.2}", nil), "this would keep you out: you come from 127.0.0.1")
	account.Apply(t, "ipAllowlist: {identifier: own, name: Own, ipAddress: 127.0.0.1}")
	both("127.0.0.2", http.StatusForbidden)
	both("127.0.0.1", http.StatusOK)
	account.Apply(t, "ipAllowlist: {identifier: other, name: Other, ipAddress: 127.0.0.2/32}")
	both("127.0.0.2", http.StatusOK)
	both("127.0.0.3", http.StatusForbidden)
}
