package artifact_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/artifact"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// lookVia runs a task whose requests go to stand-ins.
func lookVia(t *testing.T, via http.RoundTripper, p lookup.Artifact) (task.Result, lookup.Results) {
	t.Helper()
	env := executortest.New(t, nil)
	r, err := artifact.New(via, nil)(t.Context(), executortest.Assignment(t, task.KindArtifact, p), env.Env)
	if err != nil {
		t.Fatal(err)
	}
	return r, primary(t, r)
}

func primary(t *testing.T, r task.Result) lookup.Results {
	t.Helper()
	var out struct {
		Output struct {
			Results struct{ Primary lookup.Results } `json:"artifactResults"`
		}
	}
	if len(r.Outputs) > 0 {
		if err := json.Unmarshal(r.Outputs, &out); err != nil {
			t.Fatal(err)
		}
	}
	return out.Output.Results.Primary
}

// newestOf checks which tags an image has, and which is the newest.
func newestOf(t *testing.T, via http.RoundTripper, p lookup.Artifact, digest string, want ...string) {
	t.Helper()
	p.Choice = lookup.Choice{List: 10}
	r, got := lookVia(t, via, p)
	var tags []string
	for _, v := range got.Versions {
		if tags = append(tags, v.Version); v.Created.IsZero() {
			t.Errorf("nobody says when %s came", v.Version)
		}
	}
	if diff := cmp.Diff(want, tags); diff != "" {
		t.Errorf("%s: tags (-want +got):\n%s", r.Message, diff)
	}
	p.Choice = lookup.Choice{Pattern: ".*"}
	r, got = lookVia(t, via, p)
	if got.Version != want[0] || got.Digest != digest || got.Image != p.Registry.Image+":"+want[0] {
		t.Errorf("%s: chose %+v; want %s of %s", r.Message, got, want[0], p.Registry.Image)
	}
}

func image(host, path string) *lookup.Registry {
	return &lookup.Registry{Server: task.Server{URL: "https://" + host, Auth: task.AuthNone}, Repository: path, Image: host + "/" + path}
}

// TestImagesOfGoogle: tags/list of Google's registries has the images with
// their times (Container Registry and Artifact Registry, "tags/list").
func TestImagesOfGoogle(t *testing.T) {
	t.Parallel()
	const host = "europe-docker.pkg.dev"
	c := testservers.NewCloud(t)
	images := testservers.NewImages(t, false)
	digest := images.Push(t, "acme/apps/web", "1.9", "1.10")
	c.Mux.HandleFunc(host+"/v2/", func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "oauth2accesstoken" || password != testservers.CloudToken {
			w.Header().Set("WWW-Authenticate", `Basic realm="google"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/tags/list") {
			fmt.Fprintf(w, `{"child":[],"name":"acme/apps/web","tags":["1.9","1.10"],"manifest":{
				"sha256:aa":{"tag":["1.9"],"timeUploadedMs":"1000","timeCreatedMs":"9000"},"sha256:bb":{"tag":["1.10"],"timeUploadedMs":"2000","timeCreatedMs":"0"}}}`)
			return
		}
		images.Config.Handler.ServeHTTP(w, r)
	})
	via := testservers.Reroute{"oauth2.googleapis.com": c.URL, host: c.URL}
	p := lookup.Artifact{Type: "GoogleArtifactRegistry", Name: host + "/acme/apps/web", Registry: image(host, "acme/apps/web")}
	p.Registry.Google = &task.Google{Key: c.Key}
	newestOf(t, via, p, digest, "1.10", "1.9")
}

// TestImagesOfAzure: /acr/v1/NAME/_tags has the times of the tags (Azure
// Container Registry REST API, "Tag - Get List").
func TestImagesOfAzure(t *testing.T) {
	t.Parallel()
	const host = "acme.azurecr.io"
	c := testservers.NewCloud(t)
	images := testservers.NewImages(t, true)
	c.Registry(host, images)
	digest := images.Push(t, "team/web", "1.9", "1.10")
	c.Mux.HandleFunc("GET "+host+"/acr/v1/team/web/_tags", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer metadata-token" || r.FormValue("orderby") != "timedesc" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"registry":"acme.azurecr.io","imageName":"team/web","tags":[
			{"name":"1.10","lastUpdateTime":"2026-01-02T00:00:00.1234567Z"},{"name":"1.9","lastUpdateTime":"2026-01-01T00:00:00.1234567Z"}]}`)
	})
	via := testservers.Reroute{"login.microsoftonline.com": c.URL, host: c.URL}
	p := lookup.Artifact{Type: "Acr", Name: host + "/team/web", Registry: image(host, "team/web")}
	p.Registry.Azure = &task.Azure{Tenant: testservers.CloudTenant, Client: testservers.CloudClient, Secret: testservers.Password}
	newestOf(t, via, p, digest, "1.10", "1.9")
}

// github stands in for the packages of api.github.com (REST API, "Packages").
func github(t *testing.T) (testservers.Reroute, *testservers.Images) {
	t.Helper()
	c := testservers.NewCloud(t)
	serve := func(path, doc string) {
		c.Mux.HandleFunc("GET api.github.com"+path, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+testservers.Password {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			fmt.Fprint(w, doc)
		})
	}
	serve("/orgs/acme/packages/container/web/versions", `[
		{"id":2,"name":"sha256:bb","created_at":"2026-01-02T00:00:00Z","metadata":{"package_type":"container","container":{"tags":["1.10"]}}},
		{"id":1,"name":"sha256:aa","created_at":"2026-01-01T00:00:00Z","metadata":{"package_type":"container","container":{"tags":["1.9"]}}}]`)
	serve("/users/ann/packages/maven/com.acme.web/versions", `[{"id":1,"name":"1.2","created_at":"2026-01-01T00:00:00Z","html_url":"https://github.com/p/1"}]`)
	serve("/users/ann/packages/maven/com.acme.web", `{"name":"com.acme.web","repository":{"full_name":"ann/web"}}`)
	serve("/user/packages/npm/web/versions", `[{"id":1,"name":"2.0.0","created_at":"2026-01-01T00:00:00Z","html_url":"https://github.com/p/2"}]`)
	images := testservers.NewImages(t, true)
	return testservers.Reroute{"api.github.com": c.URL, "ghcr.io": images.URL}, images
}

func githubTask(owner, kind, name string) lookup.Artifact {
	return lookup.Artifact{Type: "GithubPackageRegistry", Name: name, Github: &lookup.GithubPackages{
		Server: task.Server{URL: "https://api.github.com", Auth: task.AuthBearer, Token: testservers.Password}, Owner: owner, Type: kind, Package: name,
	}}
}

func TestImagesOfGithub(t *testing.T) {
	t.Parallel()
	via, images := github(t)
	digest := images.Push(t, "acme/web", "1.9", "1.10")
	p := githubTask("orgs/acme", "container", "web")
	p.Registry = image("ghcr.io", "acme/web")
	p.Registry.Server.Auth, p.Registry.Server.Username, p.Registry.Server.Password = task.AuthBasic, testservers.Username, testservers.Password
	newestOf(t, via, p, digest, "1.10", "1.9")
}

func TestPackagesOfGithub(t *testing.T) {
	t.Parallel()
	via, _ := github(t)
	maven := githubTask("users/ann", "maven", "com.acme.web")
	maven.Github.Group, maven.Github.Artifact = "com.acme", "web"
	npm := githubTask("user", "npm", "web")
	tests := map[string]struct {
		p    lookup.Artifact
		want map[string]string
	}{
		"1.2": {maven, map[string]string{
			"version": "1.2", "package": "com.acme.web", "groupId": "com.acme", "artifactId": "web", "extension": "jar", "fileName": "web-1.2.jar",
			"url": "https://maven.pkg.github.com/ann/web/com/acme/web/1.2/web-1.2.jar",
		}},
		"2.0.0": {npm, map[string]string{"version": "2.0.0", "package": "web", "url": "https://github.com/p/2"}},
	}
	for version, tt := range tests {
		for _, choice := range []lookup.Choice{{Version: version}, {Pattern: ".*"}} {
			tt.p.Choice = choice
			r, got := lookVia(t, via, tt.p)
			if diff := cmp.Diff(lookup.Results{Version: version, Metadata: tt.want}, got); diff != "" {
				t.Errorf("%s: results (-want +got):\n%s", r.Message, diff)
			}
		}
	}
	npm.Choice = lookup.Choice{Version: "3"}
	if r, _ := lookVia(t, via, npm); r.Status != task.Failed || !strings.Contains(r.Message, "web has no version 3: it has 1, the newest of which are 2.0.0") {
		t.Errorf("%s: %s", r.Status, r.Message)
	}
	npm.Github.Package = "none"
	if r, _ := lookVia(t, via, npm); r.Status != task.Failed || !strings.Contains(r.Message, "web isn't there, or the connector may not see it") {
		t.Errorf("%s: %s", r.Status, r.Message)
	}
}
