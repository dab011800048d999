package testservers

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Cloud is a server for the hosts of clouds: it hands out their access tokens
// and serves what is added to its mux, by the host that was asked for.
type Cloud struct {
	*httptest.Server

	Mux *http.ServeMux
	// Key is a service account's key, whose tokens come from here.
	Key string
	// Certificate is PEM with a private key.
	Certificate string
}

// The tokens and names that a Cloud knows.
const (
	CloudToken  = "cloud-access-token"
	CloudTenant = "tenant-1"
	CloudClient = "client-1"
)

// NewCloud starts one.
func NewCloud(tb testing.TB) *Cloud {
	tb.Helper()
	c := &Cloud{Mux: http.NewServeMux()}
	c.Server = httptest.NewServer(c.Mux)
	tb.Cleanup(c.Close)
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		tb.Fatal(err)
	}
	c.google(tb, private)
	c.azure(tb, private)
	return c
}

func pemOf(tb testing.TB, private *rsa.PrivateKey) string {
	tb.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		tb.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// google hands out tokens for signed assertions (RFC 7523).
func (c *Cloud) google(tb testing.TB, private *rsa.PrivateKey) {
	tb.Helper()
	doc, err := json.Marshal(map[string]string{ //nolint:gosec // made for this test
		"type": "service_account", "project_id": "acme-prod", "private_key_id": "k1", "private_key": pemOf(tb, private),
		"client_email": "deployer@acme-prod.iam.gserviceaccount.com", "token_uri": "https://oauth2.googleapis.com/token",
	})
	if err != nil {
		tb.Fatal(err)
	}
	c.Key = string(doc)
	c.Mux.HandleFunc("POST oauth2.googleapis.com/token", func(w http.ResponseWriter, r *http.Request) {
		claims := claimsOf(r.PostFormValue("assertion"))
		if r.PostFormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" || claims["iss"] != "deployer@acme-prod.iam.gserviceaccount.com" {
			http.Error(w, `{"error":"invalid_grant","error_description":"Invalid JWT"}`, http.StatusBadRequest)
			return
		}
		say(w, `{"access_token":"`+CloudToken+`","token_type":"Bearer","expires_in":3600}`)
	})
}

// azure hands out tokens for a secret, for assertions of a certificate, and to
// the identity of a machine.
func (c *Cloud) azure(tb testing.TB, private *rsa.PrivateKey) {
	tb.Helper()
	template := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "slipway"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private)
	if err != nil {
		tb.Fatal(err)
	}
	c.Certificate = pemOf(tb, private) + string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	for _, host := range []string{"login.microsoftonline.com", "login.microsoftonline.us"} {
		c.Mux.HandleFunc("POST "+host+"/"+CloudTenant+"/oauth2/v2.0/token", func(w http.ResponseWriter, r *http.Request) {
			signed := claimsOf(r.PostFormValue("client_assertion"))
			proved := r.PostFormValue("client_secret") == Password || signed["sub"] == CloudClient && signed["aud"] == "https://"+host+r.URL.Path
			if r.PostFormValue("client_id") != CloudClient || !proved || !strings.HasSuffix(r.PostFormValue("scope"), "/.default") {
				w.WriteHeader(http.StatusUnauthorized)
				say(w, `{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret provided.\nTrace ID: 1"}`)
				return
			}
			say(w, `{"access_token":"`+CloudToken+`","token_type":"Bearer"}`)
		})
	}
	c.Mux.HandleFunc("GET 169.254.169.254/metadata/identity/oauth2/token", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Metadata") != "true" || r.FormValue("api-version") == "" || r.FormValue("resource") == "" {
			w.WriteHeader(http.StatusBadRequest)
			say(w, `{"error":"invalid_request","error_description":"Required metadata header not specified"}`)
			return
		}
		say(w, `{"access_token":"`+CloudToken+r.FormValue("client_id")+`","token_type":"Bearer"}`)
	})
}

// Registry makes a locked registry a container registry of Azure.
func (c *Cloud) Registry(host string, images *Images) {
	images.Username, images.Password = "00000000-0000-0000-0000-000000000000", "refresh-token"
	c.Mux.HandleFunc("POST "+host+"/oauth2/exchange", func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("grant_type") != "access_token" || r.PostFormValue("access_token") != CloudToken || r.PostFormValue("service") != host {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		say(w, `{"refresh_token":"refresh-token"}`)
	})
	c.Mux.HandleFunc("POST "+host+"/oauth2/token", func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("refresh_token") != "refresh-token" || !strings.HasSuffix(r.PostFormValue("scope"), ":metadata_read") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		say(w, `{"access_token":"metadata-token"}`)
	})
	c.Mux.Handle(host+"/v2/", images.Config.Handler)
	c.Mux.Handle("GET "+host+"/token", images.Config.Handler)
}

func say(w http.ResponseWriter, doc string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, doc) //nolint:gosec // made by the server for its test
}

// claimsOf reads a JWT's claims; its signature is the client's library's.
func claimsOf(token string) map[string]any {
	var claims map[string]any
	if parts := strings.Split(token, "."); len(parts) == 3 {
		doc, _ := base64.RawURLEncoding.DecodeString(parts[1])
		_ = json.Unmarshal(doc, &claims)
	}
	return claims
}

// Metadata makes it the metadata server of a machine of Google's, too.
func (c *Cloud) Metadata() {
	host := strings.TrimPrefix(c.URL, "http://")
	host, _, _ = strings.Cut(host, ":")
	serve := func(path, text string) {
		c.Mux.HandleFunc("GET "+host+path, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Metadata-Flavor") != "Google" {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			w.Header().Set("Metadata-Flavor", "Google")
			say(w, text)
		})
	}
	serve("/computeMetadata/v1/project/project-id", "acme-prod")
	serve("/computeMetadata/v1/universe/universe-domain", "googleapis.com")
	serve("/computeMetadata/v1/instance/service-accounts/default/token", `{"access_token":"`+CloudToken+`","token_type":"Bearer","expires_in":3600}`)
}
