package awsdoc_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awsdoc"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/task"
)

// texts are those of fetched files by manifest and name.
func texts(files []awsdoc.File) []string {
	var out []string
	for _, f := range files {
		out = append(out, f.Manifest+"/"+f.Name+": "+f.Text)
	}
	return out
}

// Expressions are resolved in files, wherever they are; those of the document
// itself came resolved, and what looks like one in them is what somebody wrote.
func TestStores(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	client := s3.NewFromConfig(w.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: sdk.String("docs"), CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: testaws.Region},
	}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"ecs/task.json", "ecs/readme.txt", "ecs/below/no.yaml", "policy.yml"} {
		if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: sdk.String("docs"), Key: &key, Body: strings.NewReader("<+" + key + ">")}); err != nil {
			t.Fatal(err)
		}
	}
	env := executortest.New(t, func(text string) string { return strings.NewReplacer("<+", "", ">", "!").Replace(text) })
	env.Files = func(_ context.Context, path string) ([]task.StoredFile, error) {
		switch path {
		case "/task.json":
			return []task.StoredFile{{Path: path, Name: "task.json", Content: []byte("<+stored>")}}, nil
		case "/folder":
			return []task.StoredFile{{Path: "/folder/a.json", Name: "a.json", Content: []byte("1")}, {Path: "/folder/b.yaml", Name: "b.yaml", Content: []byte("2")}}, nil
		}
		return nil, fault.New(fault.NotFound, "there is no %s", path)
	}
	from := awsdoc.Source{
		Env: env.Env, Log: new(bytes.Buffer), Accesses: &aws.Accesses{Options: []func(*config.LoadOptions) error{config.WithBaseEndpoint(w.Endpoint)}}, Execution: "e1",
	}
	bucket := func(paths ...string) *task.S3Objects {
		return &task.S3Objects{AWS: task.AWS{Auth: task.AWSKeys, AccessKey: "test", SecretKey: "test", Region: testaws.Region}, Bucket: "docs", Paths: paths}
	}
	for name, c := range map[string]struct {
		store task.Store
		want  []string
		err   string
	}{
		"inline":             {task.Store{Inline: "<+as it is>"}, []string{"m/m: <+as it is>"}, ""},
		"the file store":     {task.Store{Files: &task.FileStore{Paths: []string{"/task.json"}}}, []string{"m/task.json: stored!"}, ""},
		"a folder of it":     {task.Store{Files: &task.FileStore{Paths: []string{"/folder"}}}, []string{"m/a.json: 1", "m/b.yaml: 2"}, ""},
		"what isn't there":   {task.Store{Files: &task.FileStore{Paths: []string{"/none"}}}, nil, "manifest m: values m: file store, /none: there is no /none"},
		"a bucket":           {task.Store{S3: bucket("/policy.yml", "ecs/")}, []string{"m/policy.yml: policy.yml!", "m/task.json: ecs/task.json!"}, ""},
		"no such object":     {task.Store{S3: bucket("none.yaml")}, nil, "s3://docs/none.yaml"},
		"nothing of a place": {task.Store{S3: bucket("empty/")}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := from.Fetch(t.Context(), lane.Manifest{ID: "m", Store: c.store})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v; want %s", err, c.err)
				}
				return
			}
			if diff := cmp.Diff(c.want, texts(got)); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// Paths may name many objects, but not any number.
func TestABucketIsBounded(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	from := awsdoc.Source{Env: executortest.New(t, nil).Env, Log: new(bytes.Buffer), Accesses: &aws.Accesses{Options: []func(*config.LoadOptions) error{config.WithBaseEndpoint(w.Endpoint)}}}
	paths := make([]string, 1001)
	for n := range paths {
		paths[n] = "task.yaml"
	}
	account := task.AWS{Auth: task.AWSKeys, AccessKey: "test", SecretKey: "test", Region: testaws.Region}
	_, err := from.Fetch(t.Context(), lane.Manifest{ID: "m", Store: task.Store{S3: &task.S3Objects{AWS: account, Bucket: "docs", Paths: paths}}})
	if !fault.Is(err, fault.TooLarge) || !strings.Contains(err.Error(), "name 1001 objects; the limit is 1000") {
		t.Errorf("error %v; want the limit", err)
	}
}
