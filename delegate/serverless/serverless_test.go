package serverless_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/serverless"
	"github.com/slipway-cd/slipway/delegate/workspace/workspacetest"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/internal/testservers/sam"
	"github.com/slipway-cd/slipway/pkg/session"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/serverless"
	space "github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

func TestMain(m *testing.M) {
	session.Answer()
	sam.Answer()
	os.Exit(m.Run())
}

// stage is one stage of an execution: its session, its checkpoints and the account.
type stage struct {
	*workspacetest.Machine

	t      *testing.T
	target lane.Target
}

// service is the folder of a service with a function.
func service(text string) map[string]string {
	return map[string]string{
		"serverless.yml": `service: web
provider:
  name: aws
  runtime: nodejs20.x
functions:
  hello: {handler: index.hello}
`,
		"index.js": fmt.Sprintf("exports.hello = async () => %q\n", text),
	}
}

// begin begins a stage on a machine whose PATH has programs in a folder.
func begin(t *testing.T, w *testaws.World, programs string, files map[string]string, environ ...string) *stage {
	t.Helper()
	s := &stage{t: t, Machine: workspacetest.New(t, w, programs+":"+os.Getenv("PATH"), environ...)}
	s.Stores(files)
	s.target = lane.Target{
		AWS: workspacetest.Account(), Stage: "dev",
		Application: &lane.Application{Manifest: space.Manifest{ID: "app", Store: task.Store{Files: &task.FileStore{Paths: []string{"/app"}}}}},
	}
	return s
}

// run does Serverless' tasks.
func (s *stage) run() executor.Executor {
	return serverless.New(serverless.Config{Sessions: s.Sessions, Accesses: s.Accesses, Pace: awswait.Every(20 * time.Millisecond)})
}

// step is a task of Serverless'.
func (s *stage) step(op lane.Op, change ...func(*lane.Spec)) task.Assignment {
	s.t.Helper()
	spec := lane.Spec{Op: op, Target: s.target, Run: space.Run{Session: workspacetest.Session}}
	for _, f := range change {
		f(&spec)
	}
	return s.Step(lane.Kind, task.Work{}, spec)
}

func (s *stage) does(op lane.Op, want task.Status, change ...func(*lane.Spec)) task.Result {
	s.t.Helper()
	return s.Do(s.run(), s.step(op, change...), want)
}

type outputs struct {
	StackName, Timestamp string
	First                bool
	Functions            []struct{ Name, ARN string }
	OutputVariables      map[string]string
}

// outputs are those of a task.
func (s *stage) outputs(r task.Result) outputs {
	s.t.Helper()
	var all struct{ Output outputs }
	if err := json.Unmarshal(r.Outputs, &all); err != nil {
		s.t.Fatal(err)
	}
	return all.Output
}

// sha is that of the code of the service's function; empty if there is none.
func sha(t *testing.T, w *testaws.World) string {
	t.Helper()
	name := "web-dev-hello"
	out, err := lambda.NewFromConfig(w.Config()).GetFunctionConfiguration(t.Context(), &lambda.GetFunctionConfigurationInput{FunctionName: &name})
	if err != nil {
		t.Fatal(err)
	}
	return *out.CodeSha256
}

// A deployment goes back to the one that the stage has found, and the first one is
// removed.
func TestDeployAndRollback(t *testing.T) {
	t.Parallel()
	w, programs := testaws.NewWorld(t), testservers.Osls(t, "osls")
	w.UnderPolicy("../../docs/serverless.md")
	first := begin(t, w, programs, service("one"))
	r := first.does(lane.OpDeploy, task.Succeeded)
	out, one := first.outputs(r), sha(t, w)
	if out.StackName != "web-dev" || !regexp.MustCompile(`^\d{13}$`).MatchString(out.Timestamp) || len(out.Functions) != 1 || !strings.HasSuffix(out.Functions[0].ARN, ":function:web-dev-hello") || one == "" {
		t.Fatalf("deployed %+v", out)
	}
	if len(r.Changes) != 1 || len(r.Changes[0].Instances) != 1 || r.Changes[0].Instances[0].Name != "web-dev-hello" || r.Changes[0].Instances[0].Properties["codeSha256"] != one {
		t.Errorf("the ledger gets %+v", r.Changes)
	}
	first.Says("osls version: " + testservers.OslsVersion)
	first.Says("Stack web-dev has no deployment")

	w.Fail("lambda:GetFunctionConfiguration", testaws.Fault{Code: "AccessDeniedException", Message: "not that", Times: 1})
	second := begin(t, w, programs, service("two"))
	r = second.does(lane.OpDeploy, task.Succeeded)
	if c := r.Changes[0]; !c.Counted || len(c.Instances) != 1 || c.Instances[0].Properties["codeSha256"] != "" {
		t.Errorf("without the right to read functions the ledger gets %+v", c)
	}
	if again := second.outputs(r); again.Timestamp <= out.Timestamp || sha(t, w) == one {
		t.Fatalf("deployed again %+v", again)
	}
	second.Says("Stack web-dev has the deployment " + out.Timestamp)
	second.does(lane.OpRollback, task.Succeeded)
	if sha(t, w) != one {
		t.Errorf("the code isn't that of the first deployment:\n%s", second.Log())
	}
	second.does(lane.OpRollback, task.Succeeded) // it is as it was
	second.Says("as before the stage")

	first.does(lane.OpRollback, task.Succeeded)
	if _, err := cloudformation.NewFromConfig(w.Config()).DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &out.StackName}); err == nil {
		t.Errorf("the service is still there:\n%s", first.Log())
	}
}

// The steps of the second generation share a workspace; a configuration of another
// name has expressions, and an artifact.
func TestParts(t *testing.T) {
	t.Parallel()
	w, programs := testaws.NewWorld(t), testservers.Osls(t, "serverless")
	bucket := "builds"
	store := s3.NewFromConfig(w.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := store.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket, CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: testaws.Region}}); err != nil {
		t.Fatal(err)
	}
	key := "web/web-1.zip"
	code := zipped(t, "index.js", "exports.hello = async () => 1")
	if _, err := store.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(code)}); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"serverless.prod.yml": `service: web
provider:
  name: aws
  runtime: nodejs20.x
  environment: {PASSWORD: <+secrets.getValue("db")>, FOLDER: <+serverlessV2.serverlessDirectoryPath>}
plugins: [quiet]
package: {artifact: <+artifact.path>}
functions:
  hello: {handler: index.hello}
`,
		"package.json":       `{"name": "web", "version": "1.0.0", "private": true, "dependencies": {"quiet": "file:quiet"}}`,
		"quiet/package.json": `{"name": "quiet", "version": "1.0.0", "main": "index.js"}`,
		"quiet/index.js":     "module.exports = class { constructor() { this.hooks = {}; } };\n",
	}
	s := begin(t, w, programs, files)
	s.Resolve = func(_ context.Context, texts map[string]string) (map[string]string, error) {
		out := map[string]string{}
		for name, text := range texts {
			out[name] = strings.ReplaceAll(text, `<+secrets.getValue("db")>`, "pa55")
		}
		s.Mask("pa55")
		return out, nil
	}
	s.target.Application.Config = "serverless.prod.yml"
	s.target.Artifact = &lookup.Artifact{Type: "AmazonS3", Choice: lookup.Choice{Version: key}, S3: &task.S3Objects{AWS: s.target.AWS, Bucket: bucket}}
	before := func(p *lane.Spec) { p.Run.Before = "echo before; touch made" }
	if out := s.outputs(s.does(lane.OpPrepare, task.Succeeded, before)); out.StackName != "web-dev" || !out.First || out.Timestamp != "" {
		t.Errorf("prepared %+v", out)
	}
	s.does(lane.OpPackage, task.Succeeded, func(p *lane.Spec) { p.Options = []string{"--verbose"} })
	out := s.outputs(s.does(lane.OpDeployV2, task.Succeeded))
	if out.Timestamp == "" || !strings.Contains(out.OutputVariables["ServerlessDeploymentBucketName"], "web-dev") {
		t.Errorf("deployed %+v", out)
	}
	s.Says("$ serverless deploy --stage dev --region " + testaws.Region + " --config .slipway-serverless.prod.yml --package .serverless")
	if n := strings.Count(s.Log(), "$ npm "); n != 1 {
		t.Errorf("npm was run %d times:\n%s", n, s.Log())
	}
	sum := sha256.Sum256(code)
	if got := sha(t, w); got != base64.StdEncoding.EncodeToString(sum[:]) {
		t.Errorf("the function's code isn't the artifact: %s", got)
	}
	name := "web-dev-hello"
	f, err := lambda.NewFromConfig(w.Config()).GetFunctionConfiguration(t.Context(), &lambda.GetFunctionConfigurationInput{FunctionName: &name})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(s.Sessions.Workspace(workspacetest.Session), "app/app")
	if v := f.Environment.Variables; v["PASSWORD"] != "pa55" || v["FOLDER"] != folder {
		t.Errorf("the function has %v", v)
	}
	if text, err := os.ReadFile(filepath.Join(folder, "serverless.prod.yml")); err != nil || string(text) != files["serverless.prod.yml"] {
		t.Errorf("the configuration was changed: %v\n%s", err, text)
	}
	if info, err := os.Stat(filepath.Join(folder, ".slipway-serverless.prod.yml")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy: %v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(folder, "made")); err != nil {
		t.Errorf("the script didn't run in the folder: %v", err)
	}
	s.does(lane.OpRollbackV2, task.Succeeded)
	s.Says("the service is removed")
}

// zipped is an archive with one file.
func zipped(t *testing.T, name, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.Create(name)
	if err == nil {
		_, err = f.Write([]byte(text))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What CloudFormation rolls back by itself needs no rollback; what was never
// deployed well is removed.
func TestFailures(t *testing.T) {
	t.Parallel()
	w, programs := testaws.NewWorld(t), testservers.Osls(t, "osls")
	crash := service("two")
	crash["serverless.yml"] += "resources: {Resources: {CrashQueue: {Type: 'AWS::SQS::Queue'}}}\n"
	s := begin(t, w, programs, crash)
	r := s.does(lane.OpDeploy, task.Failed)
	if r.Message != "osls deploy ended with exit code 1" {
		t.Errorf("it failed with %s", r.Message)
	}
	s.Says("CREATE_FAILED AWS::SQS::Queue CrashQueue")
	s.does(lane.OpRollback, task.Succeeded)
	s.Says("the service is removed")

	begin(t, w, programs, service("one")).does(lane.OpDeploy, task.Succeeded)
	one := sha(t, w)
	s = begin(t, w, programs, crash)
	s.does(lane.OpDeploy, task.Failed)
	s.does(lane.OpRollback, task.Succeeded)
	s.Says("as before the stage: it is UPDATE_ROLLBACK_COMPLETE")
	if sha(t, w) != one {
		t.Error("the code isn't that of the first deployment")
	}
}

// program is a stand-in of serverless, by what it does for each command.
func program(t *testing.T, name, version, script string) string {
	t.Helper()
	dir := t.TempDir()
	text := "#!/bin/sh\ncase \"$1\" in\n--version) printf '" + version + "\\n';;\nprint) echo '{\"service\": {\"name\": \"web\"}, \"provider\": \"aws\"}';;\n" + script + "\n*) echo \"run: $*\";;\nesac\n"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// stack makes one as serverless leaves it, by a deployment.
func stack(t *testing.T, w *testaws.World, timestamp string) {
	t.Helper()
	name := "web-dev"
	template := `{"Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": "serverless/web/dev/` + timestamp + `-2023-11-14T22:13:20.000Z/web.zip"}}}}`
	client := cloudformation.NewFromConfig(w.Config())
	if _, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &template}); err != nil {
		if _, err := client.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: &name, TemplateBody: &template}); err != nil {
			t.Fatal(err)
		}
	}
	for {
		out, err := client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(string(out.Stacks[0].StackStatus), "TE_COMPLETE") {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the stack doesn't come to an end")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Each version of the program says in its own way which it is.
func TestVersions(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	const refused = "runs with a licence: set SERVERLESS_ACCESS_KEY in the step's envVariables or in the delegate's environment, or install Serverless 3 or osls there"
	for name, c := range map[string]struct {
		name, version string
		environ       []string
		env           map[string]string
		want          string
	}{
		"2":                  {"sls", `Framework Core: 2.72.3\nPlugin: 5.5.4\nSDK: 4.3.2`, nil, nil, ""},
		"3":                  {"serverless", `Framework Core: 3.40.0 (local) 3.40.0 (global)\nPlugin: 7.2.3\nSDK: 4.5.1`, nil, nil, ""},
		"osls":               {"serverless", `osls version: 4.3.1`, nil, nil, ""},
		"4":                  {"serverless", `Serverless ϟ Framework 4.4.7`, nil, nil, "Serverless ϟ Framework 4.4.7 " + refused},
		"4, with a key":      {"serverless", `Serverless ϟ Framework 4.4.7`, nil, map[string]string{"SERVERLESS_ACCESS_KEY": "k"}, ""},
		"4, the delegate's":  {"serverless", `Serverless ϟ Framework 4.4.7`, []string{"SERVERLESS_ACCESS_KEY=hush-licence"}, nil, ""},
		"4, of another form": {"serverless", `Framework: 4.4.7`, nil, nil, "Framework: 4.4.7 " + refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, w, program(t, c.name, c.version, `package) echo "key $SERVERLESS_ACCESS_KEY";;`), service("one"), c.environ...)
			want := task.Succeeded
			if c.want != "" {
				want = task.Failed
			}
			if r := s.does(lane.OpPackage, want, func(p *lane.Spec) { p.Run.Env = c.env }); c.want != "" && r.Message != c.want {
				t.Errorf("refused with %s; want %s", r.Message, c.want)
			}
			if c.environ != nil && !strings.Contains(strings.Join(s.Masked(), " "), "hush-licence") {
				t.Errorf("the licence isn't masked:\n%s", s.Log())
			}
		})
	}
}

// Artifacts that are files are brought, and stand in the configuration by their
// paths; images stand there by their names.
func TestArtifacts(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); r.URL.Path != "/artifactory/files/web/2/web.zip" || user != "me" || password != "hush-password" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprint(w, "PK-web")
	}))
	t.Cleanup(server.Close)
	w := testaws.NewWorld(t)
	bucket, key := "builds", "layers/base.zip"
	store := s3.NewFromConfig(w.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := store.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket, CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: testaws.Region}}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader("PK-base")}); err != nil {
		t.Fatal(err)
	}
	s := begin(t, w, program(t, "serverless", "osls version: 4.3.1", ""), map[string]string{
		"serverless.yml": "package: {artifact: <+artifact.path>}\nagain: <+artifacts.primary>\nlayer: <+artifacts.sidecars.base>\nlayers: [<+artifacts.sidecars.base.path>]\nproxy: <+artifacts.sidecars.proxy>\n",
	})
	s.Resolve = func(_ context.Context, texts map[string]string) (map[string]string, error) {
		return map[string]string{"serverless.yml": strings.ReplaceAll(texts["serverless.yml"], "<+artifacts.sidecars.proxy.image>", "haproxy:3.0")}, nil
	}
	s.target.Artifact = &lookup.Artifact{Type: "ArtifactoryRegistry", Choice: lookup.Choice{Version: "2/web.zip"}, Artifactory: &lookup.Artifactory{
		Server: task.Server{URL: server.URL + "/artifactory", Auth: task.AuthBasic, Username: "me", Password: "hush-password"}, Repository: "files", Path: "web",
	}}
	s.target.Sidecars = []lookup.Sidecar{
		{ID: "base", Artifact: lookup.Artifact{Type: "AmazonS3", Choice: lookup.Choice{Version: key}, S3: &task.S3Objects{AWS: s.target.AWS, Bucket: bucket}}},
		{ID: "proxy", Artifact: lookup.Artifact{Type: "Ecr", ECR: &lookup.ECRImages{Repository: "proxy"}}},
	}
	s.does(lane.OpPackage, task.Succeeded)
	space := s.Sessions.Workspace(workspacetest.Session)
	web, base := filepath.Join(space, "artifact/web.zip"), filepath.Join(space, "sidecars/base/base.zip")
	want := "package: {artifact: " + web + "}\nagain: " + web + "\nlayer: " + base + "\nlayers: [" + base + "]\nproxy: haproxy:3.0\n"
	for name, want := range map[string]string{filepath.Join(space, "app/app/.slipway-serverless.yml"): want, web: "PK-web", base: "PK-base"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v; want %q", name, got, err, want)
		}
	}
	if strings.Contains(s.Log(), "hush-") {
		t.Errorf("the log has a secret:\n%s", s.Log())
	}
	s.Says("The artifact files/web/2/web.zip of Artifactory is in artifact/web.zip.")
	s.target.Artifact.Artifactory.Server.Password = "hush-other"
	if r := s.does(lane.OpPackage, task.Failed); !strings.Contains(r.Message, "status 403") {
		t.Errorf("it failed with %s", r.Message)
	}
}

// A deployment that isn't kept any more can't be gone back to, and what can't be
// told isn't guessed.
func TestLost(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	stack(t, w, "1700000000000")
	s := begin(t, w, program(t, "serverless", "osls version: 4.3.1", `deploy) test "$2" != list || printf 'Timestamp: 1700000009999\n';;`), service("one"))
	if out := s.outputs(s.does(lane.OpPrepare, task.Succeeded)); out.Timestamp != "1700000000000" || out.First {
		t.Errorf("prepared %+v", out)
	}
	s.does(lane.OpRollbackV2, task.Succeeded)
	s.Says("Stack web-dev has the deployment 1700000000000, as before the stage")
	stack(t, w, "1700000005555")
	r := s.does(lane.OpRollbackV2, task.Failed)
	if !strings.Contains(r.Message, "the deployment 1700000000000 isn't in the bucket any more, which has 1 of them: have provider.deploymentBucket.maxPreviousDeploymentArtifacts keep more") {
		t.Errorf("it failed with %s", r.Message)
	}
}

// What can't be run says why, before anything is changed.
func TestRefusals(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	programs := program(t, "serverless", "osls version: 4.3.1", "plugin) exit 3;;")
	for name, c := range map[string]struct {
		files  map[string]string
		change func(*stage, *lane.Spec)
		want   string
	}{
		"a plugin that can't be installed": {map[string]string{"serverless.yml": "plugins: {modules: [./own, none]}"}, nil, "serverless plugin ended with exit code 3"},
		"a script that fails":              {service("one"), func(_ *stage, p *lane.Spec) { p.Run.Before = "exit 7" }, "serverless --version ended with exit code 7"},
		"a session's loss":                 {service("one"), func(_ *stage, p *lane.Spec) { p.Run.Session = "s2" }, "isn't on this machine any more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, w, programs, c.files)
			r := s.does(lane.OpDeploy, task.Failed, func(p *lane.Spec) {
				if c.change != nil {
					c.change(s, p)
				}
			})
			if !strings.Contains(r.Message, c.want) {
				t.Errorf("it failed with %s; want %s", r.Message, c.want)
			}
		})
	}
}
