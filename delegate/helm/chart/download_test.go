package chart_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	containers "github.com/google/go-containerregistry/pkg/registry"
	"helm.sh/helm/v4/pkg/registry"

	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// endless writes until nobody reads.
func endless(w http.ResponseWriter) {
	block := make([]byte, 1<<20)
	for range 300 {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// A repository can't send more than a delegate has memory for, and a registry
// can't make it reserve what it announces.
func TestDownloadsAreBounded(t *testing.T) {
	t.Parallel()
	inRepository := func(t *testing.T, handler http.HandlerFunc) (*origin.Manifest, origin.HelmFlags) {
		t.Helper()
		s := httptest.NewServer(handler)
		t.Cleanup(s.Close)
		return &origin.Manifest{ID: "app", Type: "HelmChart", Chart: &origin.Chart{Name: "web", Version: "1.0.0"}, Store: task.Store{Charts: &task.ChartRepo{URL: s.URL}}}, origin.HelmFlags{}
	}
	// A registry that has a chart, and changes what it says of it.
	inRegistry := func(t *testing.T, change func(w http.ResponseWriter, r *http.Request, real http.Handler)) (*origin.Manifest, origin.HelmFlags) {
		t.Helper()
		real := containers.New(containers.Logger(log.New(io.Discard, "", 0)))
		honest := httptest.NewServer(real)
		t.Cleanup(honest.Close)
		client, err := registry.NewClient(registry.ClientOptPlainHTTP(), registry.ClientOptWriter(io.Discard), registry.ClientOptCredentialsFile(filepath.Join(t.TempDir(), "c.json")))
		check(t, err)
		_, err = client.Push(packed(t, "web", "1.0.0"), strings.TrimPrefix(honest.URL, "http://")+"/team/web:1.0.0")
		check(t, err)
		lying := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { change(w, r, real) }))
		t.Cleanup(lying.Close)
		return &origin.Manifest{
			ID: "app", Type: "HelmChart", Chart: &origin.Chart{Name: "web", Version: "1.0.0"},
			Store: task.Store{Charts: &task.ChartRepo{URL: "oci://" + strings.TrimPrefix(lying.URL, "http://") + "/team", OCI: true}},
		}, origin.HelmFlags{PlainHTTP: true}
	}
	for name, serve := range map[string]func(t *testing.T) (*origin.Manifest, origin.HelmFlags){
		"an index": func(t *testing.T) (*origin.Manifest, origin.HelmFlags) {
			t.Helper()
			return inRepository(t, func(w http.ResponseWriter, _ *http.Request) { endless(w) })
		},
		"a chart": func(t *testing.T) (*origin.Manifest, origin.HelmFlags) {
			t.Helper()
			return inRepository(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/index.yaml" {
					fmt.Fprint(w, "apiVersion: v1\nentries: {web: [{apiVersion: v2, name: web, version: 1.0.0, urls: [web.tgz]}]}\n")
					return
				}
				endless(w)
			})
		},
		"a chart of a registry, as its manifest says": func(t *testing.T) (*origin.Manifest, origin.HelmFlags) {
			t.Helper()
			return inRegistry(t, func(w http.ResponseWriter, r *http.Request, real http.Handler) {
				got := httptest.NewRecorder()
				real.ServeHTTP(got, r)
				doc := got.Body.Bytes()
				if strings.Contains(r.URL.Path, "/manifests/") && r.Method == http.MethodGet {
					var m map[string]any
					if err := json.Unmarshal(doc, &m); err != nil {
						t.Error(err)
					}
					m["layers"].([]any)[0].(map[string]any)["size"] = int64(1) << 50
					doc, _ = json.Marshal(m) // it was JSON
				}
				for k, v := range got.Header() {
					w.Header()[k] = v
				}
				w.Header().Set("Content-Length", strconv.Itoa(len(doc)))
				w.WriteHeader(got.Code)
				_, _ = w.Write(doc)
			})
		},
		"a registry's manifest, as its head says": func(t *testing.T) (*origin.Manifest, origin.HelmFlags) {
			t.Helper()
			return inRegistry(t, func(w http.ResponseWriter, r *http.Request, real http.Handler) {
				if strings.Contains(r.URL.Path, "/manifests/") {
					w.Header().Set("Content-Length", strconv.FormatInt(1<<50, 10))
					w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
					w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
					return
				}
				real.ServeHTTP(w, r)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Helper()
			t.Parallel()
			m, flags := serve(t)
			_, err := chart.NewRepos(t.TempDir()).Fetch(t.Context(), source("s"), m, flags)
			if !fault.Is(err, fault.TooLarge) || !strings.Contains(err.Error(), "chart web of") || !strings.Contains(err.Error(), "more than 100 MiB") {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}
