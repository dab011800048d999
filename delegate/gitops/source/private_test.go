package source_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/internal/gitserver/gittest"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
)

// secret is what no message, and no file but git's own for as long as it runs, may
// have.
const secret = "s3cret-of-the-test"

// clientPair is a certificate of a client with its key.
func clientPair(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "agent"}, NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	check(t, err)
	doc, err := x509.MarshalECPrivateKey(private)
	check(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: doc}))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// guarded is a host with TLS before another, that only answers who may ask.
func guarded(t *testing.T, behind string, may func(*http.Request) bool) *httptest.Server {
	t.Helper()
	to, err := url.Parse(behind)
	check(t, err)
	next := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !may(r) {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func authority(s *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

// A private repository is opened by what it is kept with, and by nothing else; what
// that is stands nowhere.
func TestPrivateRepositories(t *testing.T) {
	t.Parallel()
	host := gittest.New(t)
	commit := host.Commit(map[string]string{"app/a.yaml": "kind: Text"})
	behind := strings.TrimSuffix(host.URL, "/app.git")
	cert, key := clientPair(t)
	server := guarded(t, behind, func(r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		return user == "me" && password == secret || r.Header.Get("Authorization") == "Bearer "+secret || len(r.TLS.PeerCertificates) > 0
	})
	var proxied atomic.Int32
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		proxied.Add(1)
		to, _ := url.Parse(behind)
		r.SetURL(to)
	}})
	t.Cleanup(proxy.Close)
	at := server.URL + "/app.git"
	trust := []access.Certificate{{Server: "127.0.0.1", Type: access.CertificateHTTPS, Data: authority(server)}, {Server: "other.example.com", Type: access.CertificateHTTPS, Data: "no certificate"}}
	password := access.Credentials{Username: "me", Password: secret}
	for _, tt := range []struct {
		name  string
		known access.Known
		url   string // empty: at
		want  string // in the error; empty: it opens
	}{
		{"password", access.Known{Repositories: []access.Repository{{URL: at, Credentials: password}}, Certificates: trust}, "", ""},
		{"template", access.Known{Repositories: []access.Repository{{URL: at}, {URL: server.URL, Template: true, Credentials: password}}, Certificates: trust}, "", ""},
		{"bearer", access.Known{Repositories: []access.Repository{{URL: at, Credentials: access.Credentials{BearerToken: secret}}}, Certificates: trust}, "", ""},
		{"insecure", access.Known{Repositories: []access.Repository{{URL: at, Insecure: true, Credentials: password}}}, "", ""},
		{"client certificate", access.Known{Repositories: []access.Repository{{URL: at, Credentials: access.Credentials{ClientCert: cert, ClientKey: key}}}, Certificates: trust}, "", ""},
		{"proxy", access.Known{Repositories: []access.Repository{{URL: "http://git.invalid/app.git", Proxy: proxy.URL}}}, "http://git.invalid/app.git", ""},
		{"a host without proxy", access.Known{Repositories: []access.Repository{{URL: "http://git.invalid/app.git", Proxy: proxy.URL, NoProxy: "git.invalid"}}}, "http://git.invalid/app.git", "git.invalid"},
		{"nobody", access.Known{Certificates: trust}, "", "could not read Username"},
		{"wrong password", access.Known{Repositories: []access.Repository{{URL: at, Credentials: access.Credentials{Username: "me", Password: secret + "x"}}}, Certificates: trust}, "", "ls-remote"},
		{"another project's", access.Known{Repositories: []access.Repository{{URL: at, Project: "blue", Credentials: password}}, Certificates: trust}, "", "is the project blue's alone"},
		{"unknown authority", access.Known{Repositories: []access.Repository{{URL: at, Credentials: password}}}, "", "certificate"},
		{"no PEM", access.Known{Repositories: []access.Repository{{URL: at, Credentials: access.Credentials{ClientCert: cert}}}}, "", "want both"},
		{"two sorts", access.Known{Repositories: []access.Repository{{URL: at, Credentials: access.Credentials{Password: secret, BearerToken: secret}}}}, "", "several sorts of credentials"},
		{"files of LFS", access.Known{Repositories: []access.Repository{{URL: at, EnableLFS: true}}}, "", "enableLfs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cache := t.TempDir()
			s := source.New(gitfetch.New(cache, gitfetch.HostKeys{}), chart.NewRepos(t.TempDir()), t.TempDir())
			src := gitops.Source{RepoURL: at}
			if tt.url != "" {
				src.RepoURL = tt.url
			}
			got, err := s.Resolve(t.Context(), source.Wanted{Project: "red", Sources: []gitops.Source{src}, Known: &tt.known})
			if err == nil {
				_, err = s.Open(t.Context(), "red", &src, &tt.known, got.Revisions[0])
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the error has the secret: %v", err)
			}
			switch {
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("it gave %v; want %q", err, tt.want)
			case tt.want == "" && (err != nil || got.Revisions[0] != commit):
				t.Errorf("it gave %v, %v; want %s", got.Revisions, err, commit)
			}
			noSecretBelow(t, cache)
		})
	}
	t.Cleanup(func() {
		if proxied.Load() == 0 {
			t.Error("nothing went through the proxy")
		}
	})
}

// noSecretBelow looks for the secret in files.
func noSecretBelow(t *testing.T, dir string) {
	t.Helper()
	check(t, filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(file)
		if strings.Contains(string(text), secret) {
			t.Errorf("%s has the secret", file)
		}
		return err
	}))
}

// What goes to one host doesn't go on to where that redirects.
func TestWhatOpensARepositoryStaysWithItsHost(t *testing.T) {
	t.Parallel()
	host := gittest.New(t)
	host.Commit(map[string]string{"a.yaml": "kind: Text"})
	var asked, told atomic.Int32
	elsewhere := guarded(t, strings.TrimSuffix(host.URL, "/app.git"), func(r *http.Request) bool {
		asked.Add(1)
		if r.Header.Get("Authorization") != "" || len(r.TLS.PeerCertificates) > 0 {
			told.Add(1)
		}
		return true
	})
	from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1)+r.URL.RequestURI(), http.StatusMovedPermanently)
	}))
	t.Cleanup(from.Close)
	cert, key := clientPair(t)
	for name, c := range map[string]access.Credentials{"token": {BearerToken: secret}, "certificate": {ClientCert: cert, ClientKey: key}} {
		known := &access.Known{Repositories: []access.Repository{{URL: from.URL + "/app.git", Credentials: c, Insecure: true}}}
		_, err := newSources(t).Resolve(t.Context(), source.Wanted{Sources: []gitops.Source{{RepoURL: from.URL + "/app.git"}}, Known: known})
		if told.Load() > 0 {
			t.Errorf("%s: the other host was told", name)
		}
		if err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%s: it gave %v; want the other host's certificate to be checked", name, err)
		}
	}
}

// An app of GitHub is let in by tokens of its installation, which are asked for once
// while they last.
func TestAppsOfGitHub(t *testing.T) {
	t.Parallel()
	host := gittest.New(t)
	commit := host.Commit(map[string]string{"a.yaml": "kind: Text"})
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	check(t, err)
	var tokens atomic.Int32
	var lasts atomic.Int64
	lasts.Store(int64(time.Hour))
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case len(strings.Split(r.Header.Get("Authorization"), ".")) != 3:
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method == http.MethodGet && r.URL.Path == "/api/v3/repos/app/installation":
			_, _ = fmt.Fprint(w, `{"id": 42}`)
		case r.Method == http.MethodPost && r.URL.Path == "/api/v3/app/installations/42/access_tokens":
			n := tokens.Add(1)
			w.WriteHeader(http.StatusCreated)
			_, _ = fmt.Fprintf(w, `{"token": "%s-%d", "expires_at": %q}`, secret, n, time.Now().Add(time.Duration(lasts.Load())).Format(time.RFC3339))
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"message": "Not Found"}`)
		}
	}))
	t.Cleanup(api.Close)
	server := guarded(t, strings.TrimSuffix(host.URL, "/app.git"), func(r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		return user == "x-access-token" && password == fmt.Sprintf("%s-%d", secret, tokens.Load())
	})
	r := access.Repository{URL: server.URL + "/app.git", Insecure: true, Credentials: access.Credentials{
		GitHubAppID: 7, GitHubAppURL: api.URL + "/api/v3", GitHubAppKey: string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})),
	}}
	s := newSources(t)
	look := func() error {
		got, err := s.Resolve(t.Context(), source.Wanted{Since: time.Now(), Sources: []gitops.Source{{RepoURL: r.URL}}, Known: &access.Known{Repositories: []access.Repository{r}}})
		if err == nil && got.Revisions[0] != commit {
			t.Errorf("it gave %v; want %s", got.Revisions, commit)
		}
		return err
	}
	check(t, look())
	check(t, look())
	if n := tokens.Load(); n != 1 {
		t.Errorf("%d tokens were asked for; want one", n)
	}
	lasts.Store(int64(time.Minute)) // too short to be used again
	r.GitHubAppInstallation = 42
	check(t, look())
	check(t, look())
	if n := tokens.Load(); n != 3 {
		t.Errorf("%d tokens were asked for; want one more for each look", n)
	}
	r.GitHubAppInstallation = 43
	if err := look(); err == nil || !strings.Contains(err.Error(), "no token: status 404: Not Found") {
		t.Errorf("an installation that isn't there gave %v", err)
	}
	r.GitHubAppKey = secret
	if err := look(); err == nil || !strings.Contains(err.Error(), "githubAppPrivateKey is no RSA key") || strings.Contains(err.Error(), secret) {
		t.Errorf("a key that is none gave %v", err)
	}
}
