package artifact_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/artifact"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/shell"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// vendor stands in for one host; who asks must prove who he is.
func vendor(t *testing.T, pattern string, answer func(w http.ResponseWriter, r *http.Request)) testservers.Reroute {
	t.Helper()
	c := testservers.NewCloud(t)
	method, rest, _ := strings.Cut(pattern, " ")
	host, _, _ := strings.Cut(rest, "/")
	c.Mux.HandleFunc(method+" "+rest, func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != testservers.Username || password != testservers.Password {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		answer(w, r)
	})
	return testservers.Reroute{host: c.URL}
}

func basic(url string) task.Server {
	return task.Server{URL: url, Auth: task.AuthBasic, Username: testservers.Username, Password: testservers.Password}
}

// check looks an artifact up by a version and as the newest.
func check(t *testing.T, via http.RoundTripper, p lookup.Artifact, want lookup.Results) {
	t.Helper()
	for _, p.Choice = range []lookup.Choice{{Version: want.Version}, {Pattern: ".*"}} {
		r, got := lookVia(t, via, p)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %+v: %s: results (-want +got):\n%s", p.Name, p.Choice, r.Message, diff)
		}
	}
	p.Choice = lookup.Choice{Version: "4711"}
	if r, _ := lookVia(t, via, p); r.Status != task.Failed || !strings.Contains(r.Message, "the newest of which are "+want.Version) {
		t.Errorf("%s: what isn't there: %s: %s", p.Name, r.Status, r.Message)
	}
}

// TestNexus: pages of GET /service/rest/v1/search (REST API of Nexus 3).
func TestNexus(t *testing.T) {
	t.Parallel()
	const asset = `{"downloadUrl":"https://nexus.example.com/repository/r/%[1]s","path":"%[1]s","checksum":{"sha256":"ab%[3]s"},"lastModified":"2026-01-0%[2]sT00:00:00.000+00:00"}`
	page := func(items ...[4]string) string { // name, version, path, day
		var list []string
		for _, i := range items {
			list = append(list, fmt.Sprintf(`{"name":%q,"version":%q,"assets":[%s]}`, i[0], i[1], fmt.Sprintf(asset, i[2], i[3], i[3])))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	answers := map[string][]string{ // by what is asked for: pages
		"format=maven2&maven.artifactId=web&maven.extension=war&maven.groupId=com.acme&repository=r": {
			page([4]string{"web", "1.9", "com/acme/web/1.9/web-1.9.war", "1"}), page([4]string{"web", "1.10", "com/acme/web/1.10/web-1.10.war", "2"}),
		},
		"format=npm&group=acme&name=web&repository=r": {page([4]string{"web", "2.0.0", "@acme/web/-/web-2.0.0.tgz", "1"})},
		"format=raw&group=%2Fbuilds&repository=r":     {page([4]string{"builds/web.zip", "", "builds/web.zip", "1"})},
		"format=docker&name=team%2Fweb&repository=r":  {page([4]string{"team/web", "1.9", "v2/team/web/manifests/1.9", "1"}, [4]string{"team/web", "1.10", "v2/team/web/manifests/1.10", "2"})},
	}
	via := vendor(t, "GET nexus.example.com/service/rest/v1/search", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		n := len(q.Get("continuationToken"))
		version, name := q.Get("version"), q.Get("name")
		q.Del("continuationToken")
		q.Del("version")
		if q.Get("format") == "raw" {
			q.Del("name")
		}
		pages := answers[q.Encode()]
		var items []map[string]any
		next := "null"
		if n < len(pages) {
			if err := json.Unmarshal([]byte(pages[n]), &items); err != nil {
				t.Error(err)
			}
			if n+1 < len(pages) {
				next = `"` + strings.Repeat("x", n+1) + `"`
			}
		}
		kept := []map[string]any{}
		for _, i := range items {
			if (version == "" || i["version"] == version) && (q.Get("format") != "raw" || name == "" || i["name"] == name) {
				kept = append(kept, i)
			}
		}
		doc, err := json.Marshal(kept)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, `{"items":%s,"continuationToken":%s}`, doc, next)
	})
	of := func(n lookup.Nexus) lookup.Artifact {
		n.Server, n.Repository = basic("https://nexus.example.com/"), "r"
		return lookup.Artifact{Type: "Nexus3Registry", Name: n.Format, Nexus: &n}
	}
	metadata := func(id, path, name string) map[string]string {
		return map[string]string{"version": id, "repository": "r", "path": path, "fileName": name, "url": "https://nexus.example.com/repository/r/" + path}
	}
	check(t, via, of(lookup.Nexus{Format: "maven", Group: "com.acme", Artifact: "web", Extension: "war"}),
		lookup.Results{Version: "1.10", Metadata: metadata("1.10", "com/acme/web/1.10/web-1.10.war", "web-1.10.war")})
	check(t, via, of(lookup.Nexus{Format: "npm", Package: "@acme/web"}),
		lookup.Results{Version: "2.0.0", Metadata: metadata("2.0.0", "@acme/web/-/web-2.0.0.tgz", "web-2.0.0.tgz")})
	check(t, via, of(lookup.Nexus{Format: "raw", Group: "/builds"}),
		lookup.Results{Version: "builds/web.zip", Metadata: metadata("builds/web.zip", "builds/web.zip", "web.zip")})
	image := "docker.example.com/team/web:1.10"
	check(t, via, of(lookup.Nexus{Format: "docker", Package: "team/web", Image: "docker.example.com/team/web"}), lookup.Results{
		Version: "1.10", Image: image, Digest: "sha256:ab2",
		Metadata: map[string]string{"tag": "1.10", "image": image, "url": image, "SHA": "sha256:ab2", "SHAV2": "sha256:ab2"},
	})
	p := of(lookup.Nexus{Format: "nuget", Package: "none"})
	p.Choice = lookup.Choice{Pattern: ".*"}
	if r, _ := lookVia(t, via, p); r.Status != task.Failed || !strings.Contains(r.Message, "repository r has no such component") {
		t.Errorf("no such component: %s: %s", r.Status, r.Message)
	}
}

// TestArtifactory: queries of Artifactory's query language.
func TestArtifactory(t *testing.T) {
	t.Parallel()
	const include = `.include("repo","path","name","modified","sha256").sort({"$desc":["modified"]}).limit(10000)`
	answers := map[string]string{
		`items.find({"$or":[{"path":"builds"},{"path":{"$match":"builds/*"}}],"name":{"$match":"*"},"repo":"files","type":"file"})` + include: `
			{"repo":"files","path":"builds/2","name":"web.zip","modified":"2026-01-02T00:00:00.000Z","sha256":"bb"},
			{"repo":"files","path":"builds","name":"web.zip","modified":"2026-01-01T00:00:00.000Z","sha256":"aa"}`,
		`items.find({"$or":[{"path":"team/web"},{"path":{"$match":"team/web/*"}}],"name":{"$match":"*manifest.json"},"repo":"images","type":"file"})` + include: `
			{"repo":"images","path":"team/web/1.10","name":"list.manifest.json","modified":"2026-01-02T00:00:00.000Z","sha256":"cc"},
			{"repo":"images","path":"team/web/sha256:dd","name":"manifest.json","modified":"2026-01-02T00:00:00.000Z","sha256":"dd"},
			{"repo":"images","path":"team/web/1.9","name":"manifest.json","modified":"2026-01-01T00:00:00.000Z","sha256":"ee"}`,
	}
	via := vendor(t, "POST acme.jfrog.io/artifactory/api/search/aql", func(w http.ResponseWriter, r *http.Request) {
		query, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Content-Type") != "text/plain" {
			t.Errorf("the query is a %s, %v", r.Header.Get("Content-Type"), err)
		}
		fmt.Fprintf(w, `{"results":[%s],"range":{"start_pos":0}}`, answers[string(query)])
	})
	of := func(a lookup.Artifactory) lookup.Artifact {
		a.Server = basic("https://acme.jfrog.io/artifactory")
		return lookup.Artifact{Type: "ArtifactoryRegistry", Name: a.Repository, Artifactory: &a}
	}
	check(t, via, of(lookup.Artifactory{Repository: "files", Path: "/builds/"}), lookup.Results{Version: "2/web.zip", Metadata: map[string]string{
		"artifactPath": "2/web.zip", "path": "builds/2/web.zip", "fileName": "web.zip", "SHA": "bb", "url": "https://acme.jfrog.io/artifactory/files/builds/2/web.zip",
	}})
	image := "acme.jfrog.io/images/team/web:1.10"
	check(t, via, of(lookup.Artifactory{Repository: "images", Path: "team/web", Image: "acme.jfrog.io/images/team/web"}), lookup.Results{
		Version: "1.10", Image: image, Digest: "sha256:cc",
		Metadata: map[string]string{"tag": "1.10", "image": image, "url": image, "SHA": "sha256:cc", "SHAV2": "sha256:cc"},
	})
}

// TestFileOfArtifactory: a generic repository's file by its path, as it is.
func TestFileOfArtifactory(t *testing.T) {
	t.Parallel()
	via := vendor(t, "GET acme.jfrog.io/artifactory/files/builds/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.EscapedPath() != "/artifactory/files/builds/2/web%20app.zip" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprint(w, "PK")
	})
	file := func(version, image string) ([]byte, error) {
		return artifact.File(t.Context(), lookup.Artifact{
			Type: "ArtifactoryRegistry", Choice: lookup.Choice{Version: version},
			Artifactory: &lookup.Artifactory{Server: basic("https://acme.jfrog.io/artifactory"), Repository: "files", Path: "/builds/", Image: image},
		}, via, 2)
	}
	if doc, err := file("2/web app.zip", ""); err != nil || string(doc) != "PK" {
		t.Errorf("got %q, %v", doc, err)
	}
	if _, err := file("3/web.zip", ""); err == nil || !strings.Contains(err.Error(), "GET /artifactory/files/builds/3/web.zip: status 404") {
		t.Errorf("what isn't there: %v", err)
	}
	if _, err := file("2", "acme.jfrog.io/files/web"); err == nil || !strings.Contains(err.Error(), "an artifact of the type ArtifactoryRegistry is no file") {
		t.Errorf("an image: %v", err)
	}
}

// TestFileOfNexus: of a component of Maven the file that is meant, and no other of
// its files; of a raw repository the file itself.
func TestFileOfNexus(t *testing.T) {
	t.Parallel()
	via := vendor(t, "GET nexus.example.com/", func(w http.ResponseWriter, r *http.Request) {
		asset := func(of string, paths ...string) {
			var all []string
			for _, p := range paths {
				all = append(all, fmt.Sprintf(`{"downloadUrl":"https://elsewhere.example.com/%[1]s","path":%[1]q}`, p))
			}
			fmt.Fprintf(w, `{"items":[{%s,"assets":[%s]}]}`, of, strings.Join(all, ","))
		}
		const at = "com/acme/web/1.2/web-1.2"
		switch q := r.URL.Query(); {
		case r.URL.Path == "/service/rest/v1/search" && q.Get("format") == "raw":
			asset(`"name":"/builds/web app.zip"`, "/builds/web app.zip")
		case r.URL.Path == "/service/rest/v1/search":
			asset(`"name":"web","version":"1.2"`, at+".pom", at+".zip.sha1", at+"-sources.jar", at+".zip", at+".war")
		case strings.HasPrefix(r.URL.Path, "/repository/r/"):
			fmt.Fprint(w, strings.TrimPrefix(r.URL.EscapedPath(), "/repository/r/"))
		}
	})
	for name, c := range map[string]struct {
		of      lookup.Nexus
		version string
		want    string
	}{
		"a zip":         {lookup.Nexus{Format: "maven", Group: "com.acme", Artifact: "web"}, "1.2", "com/acme/web/1.2/web-1.2.zip"},
		"an extension":  {lookup.Nexus{Format: "maven", Group: "com.acme", Artifact: "web", Extension: "war"}, "1.2", "com/acme/web/1.2/web-1.2.war"},
		"a classifier":  {lookup.Nexus{Format: "maven", Group: "com.acme", Artifact: "web", Classifier: "sources"}, "1.2", "com/acme/web/1.2/web-1.2-sources.jar"},
		"no such file":  {lookup.Nexus{Format: "maven", Group: "com.acme", Artifact: "web", Extension: "ear"}, "1.2", "version 1.2 of it has no file that ends in .ear"},
		"no version":    {lookup.Nexus{Format: "maven", Group: "com.acme", Artifact: "web"}, "1.3", "it has no version 1.3"},
		"a raw file":    {lookup.Nexus{Format: "raw", Group: "/builds"}, "/builds/web app.zip", "builds/web%20app.zip"},
		"an image":      {lookup.Nexus{Format: "docker", Package: "web", Image: "nexus.example.com/web"}, "1.2", "is no file"},
		"another group": {lookup.Nexus{Format: "raw", Group: "/other"}, "/other/web.zip", "it has no version /other/web.zip"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.of.Server, c.of.Repository = basic("https://nexus.example.com"), "r"
			doc, err := artifact.File(t.Context(), lookup.Artifact{Type: "Nexus3Registry", Name: "it", Choice: lookup.Choice{Version: c.version}, Nexus: &c.of}, via, 100)
			if got := fmt.Sprint(string(doc), err); err == nil && string(doc) != c.want || err != nil && !strings.Contains(got, c.want) {
				t.Errorf("got %q, %v; want %s", doc, err, c.want)
			}
		})
	}
}

// TestJenkins: the remote access API's tree of a job's builds.
func TestJenkins(t *testing.T) {
	t.Parallel()
	builds := map[string]string{
		"9":  `{"number":9,"result":"SUCCESS","timestamp":1000,"artifacts":[{"relativePath":"dist/web app.zip"}]}`,
		"10": `{"number":10,"result":"SUCCESS","timestamp":2000,"artifacts":[{"relativePath":"dist/web app.zip"}]}`,
		"11": `{"number":11,"result":"FAILURE","timestamp":3000,"artifacts":[]}`,
		"12": `{"number":12,"result":"SUCCESS","timestamp":4000,"artifacts":[]}`,
	}
	via := vendor(t, "GET jenkins.example.com/", func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/job/team/job/web"), "/api/json")
		switch one := builds[strings.Trim(path, "/")]; {
		case path == "" && strings.HasPrefix(r.FormValue("tree"), "allBuilds["):
			fmt.Fprintf(w, `{"allBuilds":[%s,%s,%s,%s]}`, builds["12"], builds["11"], builds["10"], builds["9"])
		case one != "":
			fmt.Fprint(w, one)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	p := lookup.Artifact{Type: "Jenkins", Name: "job web", Jenkins: &lookup.JenkinsBuilds{Server: basic("https://jenkins.example.com"), Job: "team/web", Path: "dist/web app.zip"}}
	check(t, via, p, lookup.Results{Version: "10", Metadata: map[string]string{
		"jobName": "team/web", "build": "10", "artifactPath": "dist/web app.zip", "fileName": "web app.zip",
		"url": "https://jenkins.example.com/job/team/job/web/10/artifact/dist/web%20app.zip",
	}})
	for build, want := range map[string]string{
		"11": "build 11 of job web hasn't succeeded: FAILURE", "12": "build 12 of job web has kept no dist/web app.zip", "x": `the build of job web is "x"; want a number`,
	} {
		p.Choice = lookup.Choice{Version: build}
		r, _ := lookVia(t, via, p)
		if build == "12" { // told with what there is
			want = "job web has no version 12"
		}
		if r.Status != task.Failed || !strings.Contains(r.Message, want) {
			t.Errorf("build %s: %s: %s; want %s", build, r.Status, r.Message, want)
		}
	}
}

// TestCloudStorage: objects of the JSON API.
func TestCloudStorage(t *testing.T) {
	t.Parallel()
	c := testservers.NewCloud(t)
	objects := map[string]string{
		"web/1.zip": `{"name":"web/1.zip","updated":"2026-01-01T00:00:00Z","generation":"7"}`,
		"web/2.zip": `{"name":"web/2.zip","updated":"2026-01-02T00:00:00Z","generation":"8"}`,
	}
	c.Mux.HandleFunc("GET storage.googleapis.com/storage/v1/b/builds/", func(w http.ResponseWriter, r *http.Request) {
		name, err := url.PathUnescape(strings.TrimPrefix(r.URL.EscapedPath(), "/storage/v1/b/builds/o"))
		if err != nil || r.Header.Get("Authorization") != "Bearer "+testservers.CloudToken {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch one := objects[strings.TrimPrefix(name, "/")]; {
		case name == "" && r.FormValue("pageToken") == "":
			fmt.Fprintf(w, `{"items":[%s],"nextPageToken":"p2"}`, objects["web/1.zip"])
		case name == "":
			fmt.Fprintf(w, `{"items":[%s]}`, objects["web/2.zip"])
		case one != "":
			fmt.Fprint(w, one)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	via := testservers.Reroute{"oauth2.googleapis.com": c.URL, "storage.googleapis.com": c.URL}
	p := lookup.Artifact{Type: "GoogleCloudStorage", Name: "bucket builds", Bucket: &task.GoogleBucket{Google: task.Google{Key: c.Key}, Bucket: "builds"}}
	check(t, via, p, lookup.Results{Version: "web/2.zip", Metadata: map[string]string{
		"artifactPath": "web/2.zip", "bucket": "builds", "fileName": "2.zip", "generation": "8", "url": "gs://builds/web/2.zip",
	}})
}

func lookCustom(t *testing.T, c lookup.Custom, choice lookup.Choice) (task.Result, lookup.Results) {
	t.Helper()
	env := executortest.New(t, nil)
	p := lookup.Artifact{Type: "CustomArtifact", Name: "the custom artifact", Custom: &c, Choice: choice}
	r, err := artifact.New(nil, shell.New(os.Environ(), t.TempDir()))(t.Context(), executortest.Assignment(t, task.KindArtifact, p), env.Env)
	if err != nil {
		t.Fatal(err)
	}
	return r, primary(t, r)
}

// A version that the service fixes needs no script; others can't be listed then.
func TestACustomArtifactWithoutAScriptHasNoVersions(t *testing.T) {
	t.Parallel()
	p := lookup.Artifact{Type: "CustomArtifact", Name: "the custom artifact"}
	_, err := artifact.New(nil, nil)(t.Context(), executortest.Assignment(t, task.KindArtifact, p), executortest.New(t, nil).Env)
	if !fault.Is(err, fault.Unsupported) || err.Error() != "the custom artifact has no script that lists versions; its version is written in the service" {
		t.Errorf("the error is %v", err)
	}
}

func TestCustomArtifacts(t *testing.T) {
	t.Parallel()
	c := lookup.Custom{
		Script: task.Shell{Shell: "Bash", Script: `cat > "$HARNESS_ARTIFACT_RESULT_PATH" <<END
{"items": [{"tag": "1.9", "by": {"name": "$WHO"}, "size": 3}, {"tag": "1.10", "by": {"name": "bo"}}, {"other": 1}]}
END`, Env: map[string]string{"WHO": "ann"}},
		Array: "$.items", Version: "tag", Attributes: map[string]string{"author": "by.name", "size": "$.size"},
	}
	want := lookup.Results{Version: "1.9", Metadata: map[string]string{"author": "ann", "size": "3"}}
	for _, choice := range []lookup.Choice{{Version: "1.9"}, {Pattern: `1\..*`}} {
		r, got := lookCustom(t, c, choice)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v: %s: results (-want +got):\n%s", choice, r.Message, diff)
		}
	}
	tests := map[string]struct {
		change func(*lookup.Custom)
		want   string
	}{
		"a version that isn't there": {func(*lookup.Custom) {}, "has no version 2: it has 2, the newest of which are 1.9, 1.10"},
		"a script that fails":        {func(c *lookup.Custom) { c.Script.Script = "exit 3" }, "the script of the custom artifact: "},
		"nothing is written":         {func(c *lookup.Custom) { c.Script.Script = "true" }, "has written nothing to $HARNESS_ARTIFACT_RESULT_PATH"},
		"no list":                    {func(c *lookup.Custom) { c.Array = "$.items[0].tag" }, "artifactsArrayPath $.items[0].tag names no list"},
		"no JSON":                    {func(c *lookup.Custom) { c.Script.Script = `echo no > "$HARNESS_ARTIFACT_RESULT_PATH"` }, "isn't JSON"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := c
			tt.change(&c)
			r, _ := lookCustom(t, c, lookup.Choice{Version: "2"})
			if r.Status != task.Failed || !strings.Contains(r.Message, tt.want) {
				t.Errorf("%s: %s; want %s", r.Status, r.Message, tt.want)
			}
		})
	}
}
