package http_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	delegatehttp "github.com/slipway-cd/slipway/delegate/http"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

func send(ctx context.Context, t *testing.T, via http.RoundTripper, p task.HTTP) (task.Result, *executortest.Env, error) {
	t.Helper()
	env := executortest.New(t, nil)
	r, err := delegatehttp.New(via)(ctx, executortest.Assignment(t, task.KindHTTP, p), env.Env)
	return r, env, err
}

type output struct {
	URL    string `json:"httpUrl"`
	Method string `json:"httpMethod"`
	Code   int    `json:"httpResponseCode"`
	Body   string `json:"httpResponseBody"`
	Status string `json:"status"`
}

func read(t *testing.T, r task.Result) output {
	t.Helper()
	var got struct{ Output output }
	if err := json.Unmarshal(r.Outputs, &got); err != nil {
		t.Fatalf("outputs %s: %v", r.Outputs, err)
	}
	return got.Output
}

// echo answers with what it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/moved":
		http.Redirect(w, r, "/here", http.StatusFound)
		return
	case "/forbidden":
		w.WriteHeader(http.StatusForbidden)
	}
	body, _ := io.ReadAll(r.Body)
	_, _ = io.WriteString(w, r.Method+" "+r.URL.RequestURI()+" "+r.Host+" "+strings.Join(r.Header.Values("X-A"), ",")+" "+string(body))
}

func TestRequest(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	for name, c := range map[string]struct {
		in   task.HTTP
		want output
	}{
		"a GET": {
			task.HTTP{Method: "GET", URL: "/things?a=b%20c"},
			output{Method: "GET", Code: 200, Body: "GET /things?a=b%20c " + host + "  "},
		},
		"headers and a body": {
			task.HTTP{Method: "POST", URL: "/", Body: "{}", Headers: []task.HTTPHeader{{Key: "x-a", Value: "1"}, {Key: "X-A", Value: "2"}}},
			output{Method: "POST", Code: 200, Body: "POST / " + host + " 1,2 {}"},
		},
		"another host's name": {
			task.HTTP{Method: "GET", URL: "/", Headers: []task.HTTPHeader{{Key: "host", Value: "web.example"}}},
			output{Method: "GET", Code: 200, Body: "GET / web.example  "},
		},
		"no method": {task.HTTP{URL: "/"}, output{Method: "GET", Code: 200, Body: "GET / " + host + "  "}},
		"redirects are followed": {
			task.HTTP{Method: "GET", URL: "/moved"},
			output{Method: "GET", Code: 200, Body: "GET /here " + host + "  "},
		},
		"pipeline §7.5 403 is a response like any other": {
			task.HTTP{Method: "DELETE", URL: "/forbidden"},
			output{Method: "DELETE", Code: 403, Body: "DELETE /forbidden " + host + "  "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.in.URL = server.URL + c.in.URL
			r, _, err := send(t.Context(), t, nil, c.in)
			if err != nil || r.Status != task.Succeeded {
				t.Fatalf("got %s %q, %v; want %s", r.Status, r.Message, err, task.Succeeded)
			}
			c.want.URL, c.want.Status = c.in.URL, "SUCCESS"
			if diff := cmp.Diff(c.want, read(t, r)); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // the handshake's failure is what is wanted
	secure.StartTLS()
	t.Cleanup(secure.Close)
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "short")
	}))
	t.Cleanup(broken.Close)
	transient := []fault.FailureType{fault.Connectivity, fault.RetryableTransientFailure}
	for name, c := range map[string]struct {
		url   string
		types []fault.FailureType
		says  string
	}{
		"nobody listens":               {"http://127.0.0.1:1", transient, "connection refused"},
		"the certificate is verified":  {secure.URL, []fault.FailureType{fault.Connectivity}, "isn't trusted by this delegate"},
		"the response isn't complete":  {broken.URL, transient, "unexpected EOF"},
		"the URL isn't one":            {"ftp://example.com", []fault.FailureType{fault.ConfigurationFailure, fault.Unknown}, `the URL is "ftp://example.com"`},
		"the URL can't be read at all": {"http://[", []fault.FailureType{fault.ConfigurationFailure, fault.Unknown}, "the URL can't be read: missing ']' in host"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _, err := send(t.Context(), t, nil, task.HTTP{Method: "GET", URL: c.url})
			got, types := r.Message, r.FailureTypes
			if err != nil {
				got, types = err.Error(), fault.Failures(err)
			} else if r.Status != task.Failed {
				t.Errorf("status %s, want %s", r.Status, task.Failed)
			}
			if !strings.Contains(got, c.says) {
				t.Errorf("said %q, want %q in it", got, c.says)
			}
			if diff := cmp.Diff(c.types, types); diff != "" {
				t.Errorf("failure types (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLongBodiesAreCut(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]string{"plain": "x", "quotes": `"`, "control characters": "\x01", "of several bytes": "é", "not UTF-8": "\xffx"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, strings.Repeat(part, 400<<10))
			}))
			defer server.Close()
			r, env, err := send(t.Context(), t, nil, task.HTTP{Method: "GET", URL: server.URL})
			if err != nil || r.Status != task.Succeeded {
				t.Fatalf("got %s %q, %v", r.Status, r.Message, err)
			}
			if doc, _ := json.Marshal(r); len(doc) > task.MaxResult || len(doc) < task.MaxResult/2 {
				t.Errorf("the result has %d bytes, want at most %d and not much less", len(doc), task.MaxResult)
			}
			if got := env.Text(delegatehttp.Unit, executor.Error); !strings.Contains(got, "only its beginning is kept") {
				t.Errorf("the log says %q, want that the body was cut", got)
			}
		})
	}
}

func TestProxies(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "proxied "+r.URL.String())
	}))
	t.Cleanup(proxy.Close)
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := send(t.Context(), t, &http.Transport{Proxy: http.ProxyURL(at)}, task.HTTP{Method: "GET", URL: "http://inside.example/x"})
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, r).Body; got != "proxied http://inside.example/x" {
		t.Errorf("body %q, want the proxy's", got)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-asked; cancel(executor.ErrCancelled) }()
	_, _, err := send(ctx, t, nil, task.HTTP{Method: "GET", URL: server.URL})
	if !errors.Is(err, executor.ErrCancelled) {
		t.Errorf("error %v, want the cause %v", err, executor.ErrCancelled)
	}
}

// A server that wants to know who asks gets the certificate of the step, and
// nobody else's.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	certificate, key := selfSigned(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	with := func(certificate, key string) task.HTTP {
		return task.HTTP{Method: "GET", URL: server.URL, Certificate: certificate, Key: key}
	}
	for range 2 {
		r, _, err := send(t.Context(), t, server.Client().Transport, with(certificate, key))
		if err != nil || r.Status != task.Succeeded || read(t, r).Body != "ada" {
			t.Errorf("%s %s %v", r.Status, r.Message, err)
		}
		if r, _, err = send(t.Context(), t, server.Client().Transport, with("", "")); err != nil || r.Status != task.Failed {
			t.Errorf("without the certificate: %s %v", r.Status, err)
		}
	}
	_, other := selfSigned(t)
	if _, _, err := send(t.Context(), t, nil, with(certificate, other)); !fault.Is(err, fault.Invalid) || strings.Contains(err.Error(), "PRIVATE") {
		t.Errorf("with another key: %v", err)
	}
}

// selfSigned makes a client's certificate and its key.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ada"}, NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, about, about, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return text("CERTIFICATE", cert), text("PRIVATE KEY", secret)
}

// TestHeadersStayOnTheirHost: a token in a header is for the host that the
// step names.
func TestHeadersStayOnTheirHost(t *testing.T) {
	t.Parallel()
	var got http.Header
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	t.Cleanup(elsewhere.Close)
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/next?key=hunter2", http.StatusTemporaryRedirect)
			return
		}
		if r.Header.Get("X-Api-Key") != "hunter2" {
			t.Error("the redirect on the host itself had no token")
		}
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(here.Close)
	p := task.HTTP{Method: "POST", URL: here.URL + "/?key=hunter2", Body: "{}", Headers: []task.HTTPHeader{
		{Key: "x-api-key", Value: "hunter2"}, {Key: "Authorization", Value: "Bearer hunter2"}, {Key: "content-type", Value: "application/json"},
	}}
	if r, _, err := send(t.Context(), t, nil, p); err != nil || r.Status != task.Succeeded {
		t.Fatalf("got %s %q, %v; want %s", r.Status, r.Message, err, task.Succeeded)
	}
	if got.Get("X-Api-Key") != "" || got.Get("Authorization") != "" || got.Get("Referer") != "" || got.Get("Content-Type") != "application/json" {
		t.Errorf("the other host got %v; want no token", got)
	}
}
