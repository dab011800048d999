package artifact_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/artifact"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// toMoto sends requests for AWS to moto, which knows the service and the
// bucket by the host that was meant.
type toMoto struct{ at *url.URL }

func (m toMoto) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = r.URL.Host
	r.URL.Scheme, r.URL.Host = m.at.Scheme, m.at.Host
	return http.DefaultTransport.RoundTrip(r)
}

// account is one of AWS's, on this machine.
func account(t *testing.T) (toMoto, sdk.Config) {
	t.Helper()
	endpoint := testaws.Moto(t, testaws.NewHost(t))
	at, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return toMoto{at}, testaws.Config(endpoint)
}

// keys are those that testaws.Config has.
func keys(region string) task.AWS {
	return task.AWS{Auth: task.AWSKeys, AccessKey: "test", SecretKey: "test", Region: region}
}

// ask runs a task.
func ask(t *testing.T, over http.RoundTripper, p lookup.Artifact) (task.Result, lookup.Results) {
	t.Helper()
	env := executortest.New(t, nil)
	r, err := artifact.New(over, nil)(t.Context(), executortest.Assignment(t, task.KindArtifact, p), env.Env)
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Output struct {
			Results struct{ Primary lookup.Results } `json:"artifactResults"`
		}
	}
	if r.Status == task.Succeeded {
		if err := json.Unmarshal(r.Outputs, &out); err != nil {
			t.Fatal(err)
		}
	}
	return r, out.Output.Results.Primary
}

func TestImagesOfECR(t *testing.T) {
	t.Parallel()
	over, cfg := account(t)
	client := ecr.NewFromConfig(cfg)
	if _, err := client.CreateRepository(t.Context(), &ecr.CreateRepositoryInput{RepositoryName: sdk.String("acme/web")}); err != nil {
		t.Fatal(err)
	}
	for i, tag := range []string{"1.9", "1.10", "latest"} {
		manifest := fmt.Sprintf(`{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json","config":{"digest":"sha256:%064d","size":1},"layers":[]}`, i)
		if _, err := client.PutImage(t.Context(), &ecr.PutImageInput{RepositoryName: sdk.String("acme/web"), ImageTag: &tag, ImageManifest: &manifest}); err != nil {
			t.Fatal(err)
		}
	}
	image := func(repository string, c lookup.Choice) lookup.Artifact {
		return lookup.Artifact{Type: "Ecr", Name: repository, Choice: c, ECR: &lookup.ECRImages{AWS: keys(testaws.Region), Repository: repository}}
	}
	host := "123456789012.dkr.ecr." + testaws.Region + ".amazonaws.com/acme/web:"
	for _, tt := range []struct {
		name, repository string
		choice           lookup.Choice
		tag, says        string
	}{
		{"a tag", "acme/web", lookup.Choice{Version: "1.9"}, "1.9", ""},
		{"the newest that matches", "acme/web", lookup.Choice{Pattern: `1\.\d`}, "1.9", ""},
		{"a tag that isn't there", "acme/web", lookup.Choice{Version: "2"}, "", "has no version 2"},
		{"no tag matches", "acme/web", lookup.Choice{Pattern: "v.*"}, "", "no version of acme/web matches"},
		{"another digest", "acme/web", lookup.Choice{Version: "1.9", Digest: strings.Repeat("a", 64)}, "", "has the digest"},
		{"no repository", "acme/none", lookup.Choice{Version: "1.9"}, "", "acme/none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, got := ask(t, over, image(tt.repository, tt.choice))
			if tt.says != "" {
				if r.Status != task.Failed || !strings.Contains(r.Message, tt.says) {
					t.Errorf("%s: %s; want a failure about %q", r.Status, r.Message, tt.says)
				}
				return
			}
			if r.Status != task.Succeeded || got.Version != tt.tag || got.Image != host+tt.tag || !strings.HasPrefix(got.Digest, "sha256:") || got.Metadata["SHA"] != got.Digest {
				t.Errorf("%s %s: %+v; want %s%s", r.Status, r.Message, got, host, tt.tag)
			}
		})
	}
	denied := image("acme/web", lookup.Choice{Version: "1.9"})
	denied.ECR.AWS.Auth = task.AWSIRSA
	if r, _ := ask(t, over, denied); r.Status != task.Failed || !strings.Contains(r.Message, "Irsa") {
		t.Errorf("without a service account: %s %s", r.Status, r.Message)
	}
}

func TestObjectsOfS3(t *testing.T) {
	t.Parallel()
	over, cfg := account(t)
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket:                    sdk.String("builds"),
		CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: testaws.Region},
	}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"web/1.zip", "web/2.zip", "web/", "api/3.zip"} {
		if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: sdk.String("builds"), Key: &key, Body: bytes.NewReader([]byte(key))}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, region string
		choice       lookup.Choice
		key, says    string
	}{
		{"a key", testaws.Region, lookup.Choice{Version: "web/1.zip"}, "web/1.zip", ""},
		{"in the bucket's own region", "", lookup.Choice{Version: "web/1.zip"}, "web/1.zip", ""},
		{"the newest that matches", testaws.Region, lookup.Choice{Pattern: `web/.*`}, "web/2.zip", ""},
		{"nothing matches", testaws.Region, lookup.Choice{Pattern: `doc/.*`}, "", "it has none"},
		{"a key that isn't there", testaws.Region, lookup.Choice{Version: "web/9.zip"}, "", "has no version web/9.zip"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, got := ask(t, over, lookup.Artifact{
				Type: "AmazonS3", Name: "s3://builds", Choice: tt.choice, S3: &task.S3Objects{AWS: keys(tt.region), Bucket: "builds"},
			})
			if tt.says != "" {
				if r.Status != task.Failed || !strings.Contains(r.Message, tt.says) {
					t.Errorf("%s: %s; want a failure about %q", r.Status, r.Message, tt.says)
				}
				return
			}
			if r.Status != task.Succeeded {
				t.Fatalf("%s: %s", r.Status, r.Message)
			}
			delete(got.Metadata, "etag")
			delete(got.Metadata, "versionId")
			want := lookup.Results{Version: tt.key, Metadata: map[string]string{
				"bucketName": "builds", "key": tt.key, "artifactPath": tt.key, "fileName": strings.TrimPrefix(tt.key, "web/"), "url": "s3://builds/" + tt.key,
			}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	}
	r, _ := ask(t, over, lookup.Artifact{
		Type: "AmazonS3", Choice: lookup.Choice{Version: "a"}, S3: &task.S3Objects{AWS: keys(""), Bucket: "none"},
	})
	if r.Status != task.Failed || len(r.FailureTypes) == 0 || r.FailureTypes[0] == fault.Connectivity {
		t.Errorf("a bucket that isn't there: %s %s %v", r.Status, r.Message, r.FailureTypes)
	}
}
