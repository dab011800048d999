package testservers

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Images is a registry of images: go-containerregistry's own. A locked one
// wants a token, which the credentials get.
type Images struct {
	*httptest.Server

	Host string // with the port
	// Who gets a token; the package's credentials by default.
	Username, Password string
}

// NewImages starts an empty one.
func NewImages(tb testing.TB, locked bool) *Images {
	tb.Helper()
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	r := &Images{Username: Username, Password: Password}
	mux := http.NewServeMux()
	mux.HandleFunc("/token", func(w http.ResponseWriter, req *http.Request) {
		if u, p, _ := req.BasicAuth(); u != r.Username || p != r.Password {
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED"}]}`, http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"token":"granted"}`)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) {
		if locked && req.Header.Get("Authorization") != "Bearer granted" {
			realm := r.URL
			if req.Host != r.Host { // it stands in for another
				realm = "https://" + req.Host
			}
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s/token",service="images"`, realm))
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED"}]}`, http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, req)
	})
	r.Server = httptest.NewServer(mux)
	tb.Cleanup(r.Close)
	r.Host = strings.TrimPrefix(r.URL, "http://")
	return r
}

// Push puts an image with the label commit=abc under tags and gives its
// digest.
func (r *Images) Push(tb testing.TB, repo string, tags ...string) string {
	tb.Helper()
	image, err := random.Image(64, 1)
	if err != nil {
		tb.Fatal(err)
	}
	if image, err = mutate.Config(image, v1.Config{Labels: map[string]string{"commit": "abc"}}); err != nil {
		tb.Fatal(err)
	}
	for _, tag := range tags {
		ref, err := name.ParseReference(r.Host + "/" + repo + ":" + tag)
		if err != nil {
			tb.Fatal(err)
		}
		if err := remote.Write(ref, image, remote.WithAuth(&authn.Basic{Username: r.Username, Password: r.Password})); err != nil {
			tb.Fatal(err)
		}
	}
	digest, err := image.Digest()
	if err != nil {
		tb.Fatal(err)
	}
	return digest.String()
}
