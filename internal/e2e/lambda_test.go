package e2e_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/api"
)

// lambdaFolder is what the Lambda examples deploy.
const lambdaFolder = "../../examples/lambda"

// lambdaEntities are the documents of examples/lambda for an account, which gets
// the code that they name.
func lambdaEntities(t *testing.T, w *testaws.World) string {
	t.Helper()
	const bucket = "slipway-example-code"
	client := s3.NewFromConfig(w.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: ptr(bucket), CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: testaws.Region},
	}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"web-1.zip", "web-2.zip", "crash-3.zip"} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		f, err := z.Create("index.js")
		if err == nil {
			_, err = fmt.Fprintf(f, "exports.handler = async () => %q", key)
		}
		if err == nil {
			err = z.Close()
		}
		if err == nil {
			_, err = client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: ptr(bucket), Key: &key, Body: bytes.NewReader(b.Bytes())})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w.Role("web")
	return strings.ReplaceAll(read(t, lambdaFolder+"/entities.yaml"), "eu-central-1", testaws.Region)
}

func ptr(text string) *string { return &text }

// TestLambdaDeploysAndRollsBack: a function is made, updated, refused by Lambda,
// and rolled back to what it was; the ledger knows which version gets traffic.
func TestLambdaDeploysAndRollsBack(t *testing.T) {
	t.Parallel()
	onEveryHost(t, func(t *testing.T, start func(testing.TB) *e2e.Server) {
		t.Helper()
		s, w := start(t), testaws.NewWorld(t)
		delegateOf(t, s, w, often)
		entities := byTheAccounts(lambdaEntities(t, w))
		s.Apply(t, entities)
		s.Apply(t, awsPipeline("lambda", "AwsLambda", "AwsLambdaDeploy", "AwsLambdaRollback", "version"))
		of := func(code string) { s.Apply(t, strings.Replace(service(entities), "web-1.zip", code, 1)) }
		deploy := func(code, script string) e2e.Execution {
			t.Helper()
			of(code)
			return finish(t, s, s.Begin(t, "lambda", map[string]string{"variables.script": script}))
		}
		serves := func(version, artifact string) {
			t.Helper()
			out, err := lambda.NewFromConfig(w.Config()).GetAlias(t.Context(), &lambda.GetAliasInput{FunctionName: ptr("web"), Name: ptr("live")})
			if err != nil || *out.FunctionVersion != version {
				t.Fatalf("alias live: %v, %v; want version %s", out, err, version)
			}
			var l api.PlacementList
			if err := s.Call(t.Context(), "GET", "/v1/instances"+ofProject, nil, &l); err != nil {
				t.Fatal(err)
			}
			if len(l.Placements) != 1 || l.Placements[0].Count != 1 || l.Placements[0].Artifact != artifact {
				t.Errorf("the ledger has %+v; want one version with %s", l.Placements, artifact)
			}
		}
		if e := deploy("web-1.zip", "true"); e.Status != "Success" {
			t.Fatalf("the first deployment is %s: %s", e.Status, e.Message)
		}
		serves("1", "web-1.zip")
		of("web-2.zip")
		before := len(w.Calls())
		d := preview(t, s, "lambda", map[string]string{"variables.script": "true"})
		if !slices.Equal(d.Changed, []string{"Code/web", "Alias/live"}) || !strings.Contains(d.Diff, "-  \"artifact\": \"web-1.zip\"") || !strings.Contains(d.Diff, "+  \"artifact\": \"web-2.zip\"") {
			t.Errorf("the preview tells of %v:\n%s", d.Changed, d.Diff)
		}
		if got := w.Changes(before); len(got) > 0 {
			t.Errorf("the preview changes %v", got)
		}
		if e := deploy("web-2.zip", "true"); e.Status != "Success" {
			t.Fatalf("the update is %s: %s", e.Status, e.Message)
		}
		serves("2", "web-2.zip")
		e := deploy("crash-3.zip", "true")
		if e.Status != "Failed" || e.Root.Find("back").Status != "Success" || !strings.Contains(e.Root.Find("roll").Message, "InvalidZipFileException") {
			t.Fatalf("what can't be used is %s: %s", e.Status, e.Message)
		}
		serves("2", "web-2.zip")
		if e = deploy("web-1.zip", "exit 1"); e.Status != "Failed" || e.Root.Find("back").Status != "Success" {
			t.Fatalf("what is rolled back is %s: %s", e.Status, e.Message)
		}
		serves("2", "web-2.zip")
		undone(t, s, deploy("web-1.zip", "true"))
		serves("2", "web-2.zip")
		drifts(t, s, "FunctionAlias/web:live sends its traffic to version 1; deployed was to version 2", func() error {
			_, err := lambda.NewFromConfig(w.Config()).UpdateAlias(t.Context(), &lambda.UpdateAliasInput{FunctionName: ptr("web"), Name: ptr("live"), FunctionVersion: ptr("1")})
			return err
		})
	})
}
