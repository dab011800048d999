package restapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// An access token is fetched once with the refresh token (RFC 6749 §6).
func TestRefreshToken(t *testing.T) {
	t.Parallel()
	var forms []url.Values
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			_ = r.ParseForm()
			forms = append(forms, r.PostForm)
			_, _ = w.Write([]byte(`{"access_token":"a1","token_type":"Bearer"}`))
			return
		}
		_, _ = w.Write([]byte(`{"saw":"` + r.Header.Get("Authorization") + `"}`))
	})
	c := restapi.New(task.Server{URL: address, Auth: task.AuthRefreshToken, OAuth: &task.OAuth{
		TokenURL: address + "/token", RefreshToken: "r1", ClientID: "c1", ClientSecret: "s1", Scope: "read",
	}}, nil)
	for range 2 {
		var got struct{ Saw string }
		if err := c.Get(t.Context(), "/x", nil, &got); err != nil || got.Saw != "Bearer a1" {
			t.Errorf("%v, authorization %q", err, got.Saw)
		}
	}
	want := []url.Values{{"grant_type": {"refresh_token"}, "refresh_token": {"r1"}, "client_id": {"c1"}, "client_secret": {"s1"}, "scope": {"read"}}}
	if diff := cmp.Diff(want, forms); diff != "" {
		t.Errorf("token requests (-want +got):\n%s", diff)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, body string
		status, requests   int
		says               string
		types              []fault.FailureType
	}{
		{"what Spot says", "POST", `{"request":{"id":"r"},"response":{"status":{"code":400},"errors":[{"code":"X","message":"Too big","field":"capacity"},{"code":"Y","message":"No."}]}}`, 400, 1, "status 400 Bad Request: capacity: Too big; No.", []fault.FailureType{fault.Unknown}},
		{"what Spot says of too many", "POST", `{"response":{"status":{"code":429},"data":"Rate limit exceeded"}}`, 429, 1, "status 429 Too Many Requests: Rate limit exceeded", []fault.FailureType{fault.Connectivity, fault.RetryableTransientFailure}},
		{"what Jira says", "POST", `{"errorMessages":["No."],"errors":{"b":"bad","a":"worse"}}`, 400, 1, "status 400 Bad Request: No.; a: worse; b: bad", []fault.FailureType{fault.Unknown}},
		{"what ServiceNow says", "POST", `{"error":{"message":"No Record","detail":"gone"},"status":"failure"}`, 404, 1, "No Record; gone", []fault.FailureType{fault.Unknown}},
		{"a text", "GET", "nope", 403, 1, "status 403 Forbidden: nope", []fault.FailureType{fault.Authorization}},
		{"a page", "GET", "<html>", 401, 1, "status 401 Unauthorized", []fault.FailureType{fault.Authentication}},
		{"busy, read", "GET", "", 503, 4, "status 503", []fault.FailureType{fault.Connectivity, fault.RetryableTransientFailure}},
		{"busy, change", "POST", "", 503, 1, "status 503", []fault.FailureType{fault.Connectivity, fault.RetryableTransientFailure}},
		{"broken", "GET", "", 500, 1, "status 500", []fault.FailureType{fault.Unknown}},
		{"no JSON", "GET", "hello", 200, 1, "the answer isn't the JSON that was expected", []fault.FailureType{fault.Unknown}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			requests := 0
			address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				requests++
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			})
			c := restapi.New(task.Server{URL: address, Auth: task.AuthNone}, nil)
			var out struct{}
			err := c.JSON(t.Context(), restapi.Request{Method: tt.method, Path: "/x"}, &out)
			if err == nil || !strings.Contains(err.Error(), tt.says) || requests != tt.requests {
				t.Errorf("after %d requests: %v; want after %d …%s", requests, err, tt.requests, tt.says)
			}
			if diff := cmp.Diff(tt.types, fault.Failures(err)); diff != "" {
				t.Errorf("failure types (-want +got):\n%s", diff)
			}
		})
	}
}

// Credentials go to the connector's server alone.
func TestAnotherServer(t *testing.T) {
	t.Parallel()
	other := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the other server was asked") })
	c := restapi.New(task.Server{URL: serve(t, nil), Auth: task.AuthBasic, Username: "u", Password: "p"}, nil)
	if err := c.Get(t.Context(), other+"/x", nil, nil); !fault.Is(err, fault.Invalid) {
		t.Errorf("%v; want that it is refused", err)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(nil)
	s.Close()
	c := restapi.New(task.Server{URL: s.URL, Auth: task.AuthNone}, nil)
	err := c.JSON(t.Context(), restapi.Request{Method: http.MethodPost, Path: "/x"}, nil)
	if diff := cmp.Diff([]fault.FailureType{fault.Connectivity, fault.RetryableTransientFailure}, fault.Failures(err)); diff != "" {
		t.Errorf("%v: failure types (-want +got):\n%s", err, diff)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("not wanted any more")
	cancel(why)
	if err := c.Get(ctx, "/x", nil, nil); !errors.Is(err, why) {
		t.Errorf("cancelled: %v; want the cause", err)
	}
}

// An address that is no web server's is refused before anything is sent.
func TestOtherSchemesAreRefused(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"file:///etc", "ftp://host", "unix:///run/docker.sock", "host"} {
		for _, server := range []task.Server{
			{URL: address, Auth: task.AuthNone},
			{URL: "https://host", Auth: task.AuthRefreshToken, OAuth: &task.OAuth{TokenURL: address}},
		} {
			err := restapi.New(server, none{t}).Get(t.Context(), "/passwd", nil, nil)
			if fault.CodeOf(err) != fault.Invalid || !strings.Contains(err.Error(), `is "`+address+`"; want https:// or http://`) {
				t.Errorf("%+v: %v", server, err)
			}
		}
	}
}

// none is a transport that nothing goes over.
type none struct{ t *testing.T }

func (n none) RoundTrip(r *http.Request) (*http.Response, error) {
	n.t.Errorf("%s was asked", r.URL)
	return nil, errors.New("nothing goes here")
}
