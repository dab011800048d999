package awslambda_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awslambda"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/internal/testaws"
	awslane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awslambda"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// definition is what the function of most tests is.
const definition = `functionName: web
runtime: nodejs22.x
handler: index.handler
role: arn:aws:iam::123456789012:role/web
memorySize: "256"
environment: {variables: {STAGE: prod}}
tags: {team: shop}
`

const live = "name: live\ndescription: what users get\n"

// account is an account with a function's code in it, and a delegate.
type account struct {
	*testaws.World
	t      *testing.T
	lambda *lambda.Client
	s3     *s3.Client
	kind   executor.Kind
}

const bucket = "code"

func newAccount(t *testing.T) *account {
	t.Helper()
	w := testaws.NewWorld(t)
	a := &account{World: w, t: t, lambda: lambda.NewFromConfig(w.Config()), s3: s3.NewFromConfig(w.Config(), func(o *s3.Options) { o.UsePathStyle = true })}
	access := &aws.Accesses{Options: []func(*config.LoadOptions) error{config.WithBaseEndpoint(w.Endpoint)}}
	a.kind = awslambda.Kind(awslambda.Config{Accesses: access, Pace: awswait.Every(20 * time.Millisecond)})
	a.bucket(bucket, testaws.Region)
	a.Role("web")
	w.UnderPolicy("../../docs/lambda.md", "ecr:CreateRepository", "ecr:PutImage")
	return a
}

func (a *account) bucket(name, region string) {
	a.t.Helper()
	in := &s3.CreateBucketInput{Bucket: &name}
	in.CreateBucketConfiguration = &s3types.CreateBucketConfiguration{LocationConstraint: s3types.BucketLocationConstraint(region)}
	if _, err := a.s3.CreateBucket(a.t.Context(), in, func(o *s3.Options) { o.Region = region }); err != nil {
		a.t.Fatal(err)
	}
}

// put puts a zip with some code into a bucket.
func (a *account) put(bucket, key string) {
	a.t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.Create("index.js")
	if err == nil {
		_, err = fmt.Fprintf(f, "exports.handler = () => %q", key)
	}
	if err == nil {
		err = z.Close()
	}
	if err == nil {
		_, err = a.s3.PutObject(a.t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(b.Bytes())})
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// stage is a stage of an execution: what its steps keep is its own.
type stage struct {
	*account
	env       *executortest.Env
	execution string
	attempt   int
	spec      lane.Spec
	image     string
}

func keys() task.AWS {
	return task.AWS{Auth: task.AWSKeys, AccessKey: "test", SecretKey: "test", Region: testaws.Region}
}

func inline(id, typ, text string) awslane.Manifest {
	return awslane.Manifest{ID: id, Type: typ, Store: task.Store{Inline: text}}
}

// stage begins a stage that deploys an object of the bucket.
func (a *account) stage(execution, key string) *stage {
	a.t.Helper()
	a.put(bucket, key)
	s := &stage{account: a, env: executortest.New(a.t, nil), execution: execution, attempt: 1, image: key}
	s.spec.Target = lane.Target{
		AWS: keys(), Function: []awslane.Manifest{inline("f", "AwsLambdaFunctionDefinition", definition)}, Aliases: []awslane.Manifest{inline("a", "AwsLambdaFunctionAliasDefinition", live)},
		Artifact: &lookup.Artifact{Type: "AmazonS3", Choice: lookup.Choice{Version: key}, S3: &task.S3Objects{AWS: keys(), Bucket: bucket}},
	}
	return s
}

func (s *stage) defined(text string) *stage {
	s.spec.Target.Function[0].Store.Inline = text
	return s
}

// do does a step of the stage.
func (s *stage) do(op lane.Op, percent int) task.Result {
	s.t.Helper()
	r, err := s.try(s.t.Context(), op, percent)
	if err != nil {
		s.t.Fatalf("%s: %v", op, err)
	}
	return r
}

func (s *stage) try(ctx context.Context, op lane.Op, percent int) (task.Result, error) {
	s.t.Helper()
	p := s.spec
	p.Op, p.Percent = op, percent
	w := task.Work{
		Target: task.Target{Service: "web", Environment: "prod", Infrastructure: "eu", Image: s.image}, Execution: s.execution, Stage: "stages.s", Step: "steps." + string(op),
		Rollback: strings.HasSuffix(string(op), "Rollback"),
	}
	a := executortest.Work(s.t, lane.Kind, w, p, lane.Place{AWS: p.Target.AWS})
	a.Execution, a.Node, a.Attempt = s.execution, w.Step, s.attempt
	return s.kind.Do(ctx, a, s.env.Env)
}

// good does a step that succeeds.
func (s *stage) good(op lane.Op, percent int) map[string]any {
	s.t.Helper()
	r := s.do(op, percent)
	if r.Status != task.Succeeded {
		s.t.Fatalf("%s is %s: %s", op, r.Status, r.Message)
	}
	var out struct{ Output map[string]any }
	if err := json.Unmarshal(r.Outputs, &out); err != nil {
		s.t.Fatal(err)
	}
	return out.Output
}

// bad does a step that fails, and gives its message.
func (s *stage) bad(op lane.Op, percent int) task.Result {
	s.t.Helper()
	r := s.do(op, percent)
	if r.Status != task.Failed {
		s.t.Fatalf("%s is %s; want Failed", op, r.Status)
	}
	return r
}

// function is $LATEST or a version.
func (a *account) function(version string) *lambda.GetFunctionConfigurationOutput {
	a.t.Helper()
	in := &lambda.GetFunctionConfigurationInput{FunctionName: sdk.String("web")}
	if version != "" {
		in.Qualifier = &version
	}
	out, err := a.lambda.GetFunctionConfiguration(a.t.Context(), in)
	if err != nil {
		a.t.Fatal(err)
	}
	return out
}

// versions are the numbers of the published versions.
func (a *account) versions() string {
	a.t.Helper()
	out, err := a.lambda.ListVersionsByFunction(a.t.Context(), &lambda.ListVersionsByFunctionInput{FunctionName: sdk.String("web")})
	if err != nil {
		a.t.Fatal(err)
	}
	var all []string
	for _, v := range out.Versions {
		if *v.Version != "$LATEST" {
			all = append(all, *v.Version)
		}
	}
	return strings.Join(all, " ")
}

// alias says where an alias points to: "2" or "2 1:0.1".
func (a *account) alias(name string) string {
	a.t.Helper()
	out, err := a.lambda.GetAlias(a.t.Context(), &lambda.GetAliasInput{FunctionName: sdk.String("web"), Name: &name})
	if aws.Is(err, "ResourceNotFoundException") {
		return "none"
	}
	if err != nil {
		a.t.Fatal(err)
	}
	text := *out.FunctionVersion
	if out.RoutingConfig != nil {
		for version, weight := range out.RoutingConfig.AdditionalVersionWeights {
			text += fmt.Sprintf(" %s:%g", version, weight)
		}
	}
	return text
}

func (a *account) want(versions, alias string) {
	a.t.Helper()
	if got := a.versions(); got != versions {
		a.t.Errorf("versions %q; want %q", got, versions)
	}
	if got := a.alias("live"); got != alias {
		a.t.Errorf("alias live: %s; want %s", got, alias)
	}
}

// changes are the calls so far that change something.
func (a *account) changes() []string {
	a.t.Helper()
	var out []string
	for _, c := range a.Calls() {
		operation, _ := strings.CutPrefix(c.Operation, "lambda:")
		if c.Operation != operation && !strings.HasPrefix(operation, "Get") && !strings.HasPrefix(operation, "List") {
			out = append(out, operation)
		}
	}
	return out
}

func (a *account) said(s *stage, unit, text string) {
	a.t.Helper()
	if got := s.env.Text(unit, executor.Info); strings.Count(got, text) != 1 {
		a.t.Errorf("the log of %s has %q not once:\n%s", unit, text, got)
	}
}

// A function that isn't there is made, becomes active, and gets a version and an
// alias.
func TestFirstDeployment(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	s := a.stage("e1", "web-1.zip")
	out := s.good(lane.OpDeploy, 0)
	a.want("1", "1")
	if out["functionName"] != "web" || out["version"] != "1" || out["versionArn"] != testaws.FunctionARN("web")+":1" || out["functionArn"] != testaws.FunctionARN("web") || out["previousVersion"] != "" {
		t.Errorf("outputs %v", out)
	}
	f := a.function("")
	if *f.MemorySize != 256 || f.Environment.Variables["STAGE"] != "prod" || f.State != types.StateActive {
		t.Errorf("the function is %+v", f)
	}
	tags, err := a.lambda.ListTags(t.Context(), &lambda.ListTagsInput{Resource: sdk.String(testaws.FunctionARN("web"))})
	if err != nil || tags.Tags["team"] != "shop" || tags.Tags["slipway:service"] != "web" || tags.Tags["slipway:execution"] != "e1" {
		t.Errorf("tags %v, %v", tags.Tags, err)
	}
	a.said(s, "Deploy", "Published new version: [1]")
}

// Where tagging is forbidden, a delegate can do without; what the stage has made it
// deletes all the same.
func TestUntagged(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.kind = awslambda.Kind(awslambda.Config{
		Accesses: &aws.Accesses{Untagged: true, Options: []func(*config.LoadOptions) error{config.WithBaseEndpoint(a.Endpoint)}}, Pace: awswait.Every(20 * time.Millisecond),
	})
	s := a.stage("e1", "web-1.zip").defined(strings.Replace(definition, "{team: shop}", "{}", 1))
	s.good(lane.OpDeploy, 0)
	for _, c := range a.Calls() {
		if strings.Contains(string(c.Parameters), "slipway:") || c.Operation == "lambda:TagResource" {
			t.Errorf("%s tags: %s", c.Operation, c.Parameters)
		}
	}
	s.good(lane.OpRollback, 0)
	if a.Count("lambda:DeleteFunction") != 1 {
		t.Error("the function that the stage has made isn't deleted")
	}
}

// The code is updated, then the configuration, never while a change is under way.
func TestUpdate(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	a.stage("e1", "web-1.zip").good(lane.OpDeploy, 0)
	s := a.stage("e2", "web-2.zip").defined(strings.Replace(definition, `"256"`, "512", 1))
	out := s.good(lane.OpDeploy, 0)
	a.want("1 2", "2")
	if out["previousVersion"] != "1" || *a.function("2").MemorySize != 512 || *a.function("1").MemorySize != 256 {
		t.Errorf("outputs %v", out)
	}
	got := strings.Join(a.changes(), " ")
	if want := "CreateFunction PublishVersion CreateAlias UpdateFunctionCode UpdateFunctionConfiguration TagResource PublishVersion UpdateAlias"; got != want {
		t.Errorf("calls\n%s; want\n%s", got, want)
	}
	for _, c := range a.Calls() {
		if c.Code == "ResourceConflictException" {
			t.Errorf("%s came while another change was under way", c.Operation)
		}
	}
}
