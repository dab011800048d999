package send

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/notify/message"
)

func TestPostSendsTheDocument(t *testing.T) {
	t.Parallel()
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Method+" "+r.URL.Path, r.Header.Get("Content-Type"), r.Header.Get("X-Token"), string(body))
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	post := message.Post{URL: " " + server.URL + "/hook ", Headers: map[string]string{"X-Token": "t"}, Type: "application/json", Body: []byte(`{"a":1}`)}
	if err := New(mail.Sender{}, true).Send(t.Context(), message.Outgoing{Post: &post}, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"POST /hook", "application/json", "t", `{"a":1}`}, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

// answers is a client's transport that gives one answer after the other.
type answers struct {
	list []answer
	at   []time.Time // of each request
}

type answer struct {
	status int
	after  string // Retry-After
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	now := a.list[len(a.at)]
	a.at = append(a.at, time.Now())
	if now.status == 0 {
		return nil, fmt.Errorf("dial %s: refused", r.URL.Host)
	}
	header := http.Header{}
	if now.after != "" {
		header.Set("Retry-After", now.after)
	}
	return &http.Response{StatusCode: now.status, Status: fmt.Sprint(now.status), Header: header, Body: io.NopCloser(strings.NewReader("no\n")), Request: r}, nil
}

func TestSendTriesAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		answers []answer
		message string // of the error; empty: it is sent
		waited  [2]time.Duration
	}{
		{"at once", []answer{{200, ""}}, "", [2]time.Duration{0, 0}},
		{"out of reach twice", []answer{{}, {}, {204, ""}}, "", [2]time.Duration{2500 * time.Millisecond, 7500 * time.Millisecond}},
		{"broken three times", []answer{{500, ""}, {503, ""}, {502, ""}}, `hook.example.com answered 502: "no"`, [2]time.Duration{2500 * time.Millisecond, 7500 * time.Millisecond}},
		{"told when", []answer{{429, "7"}, {200, ""}}, "", [2]time.Duration{7 * time.Second, 7 * time.Second}},
		{"told when, as a date", []answer{{503, "Sat, 01 Jan 2000 00:00:09 GMT"}, {200, ""}}, "", [2]time.Duration{9 * time.Second, 9 * time.Second}},
		{"told to wait too long", []answer{{429, "600"}}, "answered 429", [2]time.Duration{0, 0}},
		{"no for good", []answer{{404, ""}}, "answered 404", [2]time.Duration{0, 0}},
		{"moved", []answer{{302, ""}}, "answered 302", [2]time.Duration{0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := &answers{list: c.answers}
				s := New(mail.Sender{}, true)
				s.client.Transport = a
				began := time.Now()
				err := s.Send(t.Context(), message.Outgoing{Post: &message.Post{URL: "https://hook.example.com/secret-path"}}, nil)
				if (err == nil) != (c.message == "") || err != nil && (!strings.Contains(err.Error(), c.message) || strings.Contains(err.Error(), "secret-path")) {
					t.Errorf("got %v; want %q and no path", err, c.message)
				}
				if len(a.at) != len(c.answers) {
					t.Errorf("%d requests, want %d", len(a.at), len(c.answers))
				}
				if took := time.Since(began); took < c.waited[0] || took > c.waited[1] {
					t.Errorf("it took %s, want %s to %s", took, c.waited[0], c.waited[1])
				}
			})
		})
	}
}

func TestSendWantsAURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "null", "ftp://example.com/token", "https://", "<+secrets.getValue('x')>", "http://exa mple.com/token"} {
		err := New(mail.Sender{}, true).Send(t.Context(), message.Outgoing{Post: &message.Post{URL: url}}, nil)
		if !fault.Is(err, fault.Invalid) || strings.Contains(err.Error(), "token") {
			t.Errorf("%q: got %v", url, err)
		}
	}
}

// What the guard refuses isn't tried again, and no request reaches it.
func TestGuardedAddressesGetNothing(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer server.Close()
	err := New(mail.Sender{}, false).Send(t.Context(), message.Outgoing{Post: &message.Post{URL: strings.Replace(server.URL, "127.0.0.1", "localhost", 1)}}, nil)
	if !fault.Is(err, fault.Forbidden) || requests.Load() != 0 {
		t.Errorf("got %v and %d requests", err, requests.Load())
	}
}

func TestMailWithoutAServer(t *testing.T) {
	t.Parallel()
	if err := New(mail.Sender{}, true).Send(t.Context(), message.Outgoing{Mail: &mail.Message{}}, nil); !fault.Is(err, fault.Invalid) {
		t.Errorf("got %v", err)
	}
}
