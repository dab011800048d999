package chart_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	containers "github.com/google/go-containerregistry/pkg/registry"
	"helm.sh/helm/v4/pkg/registry"

	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// toMoto sends requests for AWS to moto, which knows the service and the
// bucket by the host that was meant, and those for ECR's registries to one here.
type toMoto struct{ moto, registry *url.URL }

func (m toMoto) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	to := m.moto
	if strings.Contains(r.URL.Host, ".dkr.ecr.") {
		to = m.registry
	}
	r.Host = r.URL.Host
	r.URL.Scheme, r.URL.Host = to.Scheme, to.Host
	return http.DefaultTransport.RoundTrip(r)
}

// asAsked has answers name the host that was asked for, not where the request
// was sent: credentials are for the former.
type asAsked struct{ via http.RoundTripper }

func (a asAsked) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := a.via.RoundTrip(r)
	if err == nil {
		answer.Request = r
	}
	return answer, err
}

func parsed(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	check(t, err)
	return u
}

// charts are the files of a folder of charts, with others between them.
func charts(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{"stable/index.yaml": []byte("entries: {}"), "stable/web-.tgz": nil, "stable/web-1.9.0.tgz.prov": nil}
	for _, v := range []string{"1.0.0", "1.10.0", "1.9.0", "2.0.0-rc.1"} {
		out["stable/web-"+v+".tgz"] = packed(t, "web", v)
	}
	out["stable/web-2-9.0.0.tgz"] = packed(t, "web-2", "9.0.0")
	out["stable/old/web-8.0.0.tgz"] = packed(t, "web", "8.0.0")
	out["web-7.0.0.tgz"] = packed(t, "web", "7.0.0")
	return out
}

// fetched is the version that is chosen for a wish.
func fetched(t *testing.T, via http.RoundTripper, place task.ChartRepo, want string) (string, error) {
	t.Helper()
	m := &origin.Manifest{ID: "app", Type: "HelmChart", Chart: &origin.Chart{Name: "web", Version: want}, Store: task.Store{Charts: &place}}
	repos := chart.NewRepos(t.TempDir())
	repos.Via = via
	files, err := repos.Fetch(t.Context(), source("s"), m, origin.HelmFlags{})
	if err != nil {
		return "", err
	}
	return load(t, m, files).Metadata.Version, nil
}

// inFolders checks what is chosen in a bucket with charts.
func inFolders(t *testing.T, via http.RoundTripper, place task.ChartRepo) {
	t.Helper()
	place.Folder = "stable"
	for want, chosen := range map[string]string{"": "1.10.0", "^1.0.0": "1.10.0", "~1.9": "1.9.0", "1.0.0": "1.0.0", ">=2.0.0-0": "2.0.0-rc.1"} {
		if got, err := fetched(t, via, place, want); err != nil || got != chosen {
			t.Errorf("version %q gave %s, %v; want %s", want, got, err, chosen)
		}
	}
	if _, err := fetched(t, via, place, "3.0.0"); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), `no version "3.0.0"`) {
		t.Errorf("a version that isn't there gave %v", err)
	}
	place.Folder = ""
	if got, err := fetched(t, via, place, ""); err != nil || got != "7.0.0" {
		t.Errorf("the bucket itself gave %s, %v; want 7.0.0", got, err)
	}
}

// account is one of AWS's, on this machine.
func account(t *testing.T) (toMoto, sdk.Config, task.AWS) {
	t.Helper()
	endpoint := testaws.Moto(t, testaws.NewHost(t))
	return toMoto{moto: parsed(t, endpoint)}, testaws.Config(endpoint), task.AWS{Auth: task.AWSKeys, AccessKey: "test", SecretKey: "test", Region: testaws.Region}
}

func TestChartsInS3(t *testing.T) {
	t.Parallel()
	via, cfg, access := account(t)
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	_, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: sdk.String("charts"), CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: testaws.Region},
	})
	check(t, err)
	for key, data := range charts(t) {
		_, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: sdk.String("charts"), Key: &key, Body: bytes.NewReader(data)})
		check(t, err)
	}
	inFolders(t, via, task.ChartRepo{URL: "s3://charts", S3: &task.S3Objects{AWS: access, Bucket: "charts"}})
	access.Region = ""
	if got, err := fetched(t, via, task.ChartRepo{URL: "s3://charts", Folder: "stable", S3: &task.S3Objects{AWS: access, Bucket: "charts"}}, ""); err != nil || got != "1.10.0" {
		t.Errorf("in the bucket's own region: %s, %v", got, err)
	}
	if _, err := fetched(t, via, task.ChartRepo{URL: "s3://none", S3: &task.S3Objects{AWS: access, Bucket: "none"}}, ""); !fault.Is(err, fault.NotFound) {
		t.Errorf("a bucket that isn't there: %v", err)
	}
}

// Cloud Storage's JSON API: "Objects: list", with a prefix and a delimiter, page
// by page, and "Objects: get" with alt=media.
func TestChartsInCloudStorage(t *testing.T) {
	t.Parallel()
	c, objects := testservers.NewCloud(t), charts(t)
	c.Mux.HandleFunc("GET storage.googleapis.com/storage/v1/b/charts/", func(w http.ResponseWriter, r *http.Request) {
		name, err := url.PathUnescape(strings.TrimPrefix(r.URL.EscapedPath(), "/storage/v1/b/charts/o"))
		if err != nil || r.Header.Get("Authorization") != "Bearer "+testservers.CloudToken {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if data, ok := objects[strings.TrimPrefix(name, "/")]; ok && r.FormValue("alt") == "media" {
			_, _ = w.Write(data) // the client tells
			return
		}
		list(w, r, objects)
	})
	via := testservers.Reroute{"oauth2.googleapis.com": c.URL, "storage.googleapis.com": c.URL}
	inFolders(t, via, task.ChartRepo{URL: "gs://charts", GCS: &task.GoogleBucket{Google: task.Google{Key: c.Key}, Bucket: "charts"}})
	if _, err := fetched(t, via, task.ChartRepo{URL: "gs://none", GCS: &task.GoogleBucket{Google: task.Google{Key: c.Key}, Bucket: "none"}}, ""); err == nil {
		t.Error("a bucket that isn't there was read")
	}
}

// list answers with one object a page.
func list(w http.ResponseWriter, r *http.Request, objects map[string][]byte) {
	type item struct {
		Name string `json:"name"`
	}
	var all []item
	for name := range objects {
		if rest, ok := strings.CutPrefix(name, r.FormValue("prefix")); ok && !strings.Contains(rest, r.FormValue("delimiter")) {
			all = append(all, item{name})
		}
	}
	// Maps have no order: a page says what is left by its number alone.
	var page struct {
		Items []item `json:"items"`
		Next  string `json:"nextPageToken,omitempty"`
	}
	page.Items = all
	if r.FormValue("pageToken") == "" {
		page.Items, page.Next = nil, "all"
	}
	_ = json.NewEncoder(w).Encode(page) // the client tells
}

// guarded is a registry with charts below a path that wants a login.
func guarded(t *testing.T, base, user, password string) *httptest.Server {
	t.Helper()
	open := containers.New(containers.Logger(log.New(io.Discard, "", 0)))
	filling := httptest.NewServer(open)
	t.Cleanup(filling.Close)
	client, err := registry.NewClient(registry.ClientOptPlainHTTP(), registry.ClientOptWriter(io.Discard), registry.ClientOptCredentialsFile(path.Join(t.TempDir(), "c.json")))
	check(t, err)
	for _, v := range []string{"1.0.0", "1.2.0"} {
		_, err := client.Push(packed(t, "web", v), strings.TrimPrefix(filling.URL, "http://")+"/"+base+"/web:"+v)
		check(t, err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, _ := r.BasicAuth(); u != user || password != "" && p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		open.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// A registry of ECR is logged in to with what AWS gives; without a registryId
// it is that of the credentials' account.
func TestChartsInECR(t *testing.T) {
	t.Parallel()
	via, _, access := account(t)
	via.registry = parsed(t, guarded(t, "team", "AWS", "").URL)
	for _, place := range []task.ChartRepo{
		{OCI: true, AWS: &access, Folder: "team"},
		{OCI: true, AWS: &access, URL: "oci://123456789012.dkr.ecr." + testaws.Region + ".amazonaws.com/team"},
	} {
		if got, err := fetched(t, asAsked{via}, place, ""); err != nil || got != "1.2.0" {
			t.Errorf("%q: %s, %v; want 1.2.0", place.URL, got, err)
		}
	}
}

func TestChartsInArtifactRegistry(t *testing.T) {
	t.Parallel()
	const host = "europe-west1-docker.pkg.dev"
	c := testservers.NewCloud(t)
	via := testservers.Reroute{"oauth2.googleapis.com": c.URL, host: guarded(t, "acme/charts", "oauth2accesstoken", testservers.CloudToken).URL}
	got, err := fetched(t, asAsked{via}, task.ChartRepo{OCI: true, Google: &task.Google{Key: c.Key}, URL: "oci://" + host + "/acme/charts"}, "^1.0.0")
	if err != nil || got != "1.2.0" {
		t.Errorf("got %s, %v; want 1.2.0", got, err)
	}
}
