package awssam_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awssam"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/gotemplate"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	sessions "github.com/slipway-cd/slipway/delegate/session"
	"github.com/slipway-cd/slipway/delegate/workspace"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/internal/testservers/sam"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/session"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awssam"
	space "github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/task"
)

func TestMain(m *testing.M) {
	session.Answer()
	sam.Answer()
	sandbox.Answer(gotemplate.Verbs())
	os.Exit(m.Run())
}

// stage is one stage of an execution: its session, its checkpoints and the account.
type stage struct {
	t        *testing.T
	world    *testaws.World
	sessions *sessions.Sessions
	accesses *aws.Accesses
	sandbox  *sandbox.Sandbox
	env      *executortest.Env
	steps    int
}

// secret is an expression in a file, and what it stands for.
const secret, hidden = `<+secrets.getValue("token")>`, "hush-token"

// begin begins a stage whose application is in the workspace. Its files are below
// /app of the file store; those whose names begin with a slash lie elsewhere.
func begin(t *testing.T, w *testaws.World, files map[string]string) *stage {
	t.Helper()
	w.UnderPolicy("../../docs/sam.md")
	return beginOn(t, w, sam.Install(t)+":"+os.Getenv("PATH"), files)
}

// beginOn is begin on a machine whose PATH is another.
func beginOn(t *testing.T, w *testaws.World, programs string, files map[string]string) *stage {
	t.Helper()
	s := &stage{t: t, world: w, sandbox: sandbox.New(0), accesses: &aws.Accesses{Options: []func(*config.LoadOptions) error{config.WithBaseEndpoint(w.Endpoint)}}}
	t.Cleanup(s.sandbox.Close)
	s.env = executortest.New(t, func(text string) string {
		if strings.Contains(text, secret) {
			s.env.Mask(hidden)
		}
		return strings.ReplaceAll(text, secret, hidden)
	})
	s.sessions = sessions.New(sessions.Config{Dir: t.TempDir(), Orphan: 2 * time.Minute, Environ: []string{"PATH=" + programs, "AWS_ENDPOINT_URL=" + w.Endpoint, "AWS_ENDPOINT_URL_S3=" + w.Endpoint, "SECRET_OF_DELEGATE=x"}})
	if _, err := s.sessions.Start(t.Context(), task.Session{ID: "s1", Execution: "e1", Node: "pipeline.stages.s"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.sessions.Close(context.Background(), "s1"); err != nil {
			t.Error(err)
		}
	})
	s.env.Files = func(_ context.Context, named string) ([]task.StoredFile, error) {
		var out []task.StoredFile
		for name, text := range files {
			at := path.Join("/app", name)
			if path.IsAbs(name) {
				at = name
			}
			if at == named || strings.HasPrefix(at, named+"/") {
				out = append(out, task.StoredFile{Path: at, Name: path.Base(at), Content: []byte(text)})
			}
		}
		if len(out) == 0 {
			return nil, fault.New(fault.NotFound, "there is no file or folder %s", named)
		}
		return out, nil
	}
	s.download()
	return s
}

// download brings the application into the workspace, also once more.
func (s *stage) download() {
	s.t.Helper()
	s.do(workspace.NewDownload(workspace.Config{Sessions: s.sessions}), space.Kind, space.Download{Session: "s1", Manifests: []space.Manifest{application().Manifest}}, task.Succeeded)
}

func application() *lane.Application {
	return &lane.Application{Manifest: space.Manifest{ID: "app", Store: task.Store{Files: &task.FileStore{Paths: []string{"/app"}}}}}
}

// do runs one task of the stage.
func (s *stage) do(run executor.Executor, kind task.Kind, spec any, want task.Status) task.Result {
	s.t.Helper()
	doc, err := json.Marshal(spec)
	if err != nil {
		s.t.Fatal(err)
	}
	s.steps++
	payload, err := json.Marshal(task.Work{Execution: "e1", Stage: "pipeline.stages.s", Step: fmt.Sprint("n", s.steps), Spec: doc})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(s.t.Context(), time.Minute)
	defer stop()
	r, err := run(ctx, task.Assignment{ID: "t", Fence: 1, Kind: kind, Payload: payload, Execution: "e1", Node: fmt.Sprint("n", s.steps), Attempt: 1, Timeout: time.Minute}, s.env.Env)
	if err != nil {
		r = task.Result{Status: task.Errored, Message: err.Error(), FailureTypes: fault.Failures(err)}
	}
	if r.Status != want {
		s.t.Fatalf("%s: %s; want %s\n%s", r.Status, r.Message, want, s.log())
	}
	return r
}

func (s *stage) log() string {
	out := ""
	for _, unit := range []string{"Fetch Manifests", "Build", "Deploy", "Rollback"} {
		out += s.env.Text(unit, executor.Info) + s.env.Text(unit, executor.Error)
	}
	return out
}

func (s *stage) sam(op lane.Op, want task.Status, change ...func(*lane.Spec)) task.Result {
	s.t.Helper()
	spec := lane.Spec{
		Op: op, Stack: "app", Run: &space.Run{Session: "s1"},
		Target: lane.Target{AWS: task.AWS{Auth: task.AWSKeys, AccessKey: "AKIA", SecretKey: "hush-secret", Region: testaws.Region}, Application: application()},
	}
	for _, f := range change {
		f(&spec)
	}
	return s.do(awssam.New(awssam.Config{Sessions: s.sessions, Accesses: s.accesses, Sandbox: s.sandbox, Pace: awswait.Every(20 * time.Millisecond)}), lane.Kind, spec, want)
}

// queue is a template whose stack has one queue.
func queue(name, seconds string) string {
	return fmt.Sprintf(`{"Resources": {"%s": {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": %s}}}, "Outputs": {"Seconds": {"Value": "%s"}}}`, name, seconds, seconds)
}

func (s *stage) stack() (status, template string) {
	s.t.Helper()
	client := cloudformation.NewFromConfig(s.world.Config())
	name := "app"
	out, err := client.DescribeStacks(s.t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
	if err != nil {
		return "", ""
	}
	doc, err := client.GetTemplate(s.t.Context(), &cloudformation.GetTemplateInput{StackName: &name})
	if err != nil {
		s.t.Fatal(err)
	}
	return string(out.Stacks[0].StackStatus), *doc.TemplateBody
}

// An application is built and deployed; what a later stage does to it is put back.
func TestDeploysAndRollsBack(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	first := begin(t, w, map[string]string{"template.json": queue("Queue", "30")})
	first.sam(lane.OpBuild, task.Succeeded)
	r := first.sam(lane.OpDeploy, task.Succeeded)
	if !strings.Contains(string(r.Outputs), `"outputVariables":{"Seconds":"30"}`) || !strings.Contains(string(r.Outputs), `"stackStatus":"CREATE_COMPLETE"`) {
		t.Errorf("outputs %s", r.Outputs)
	}
	if !strings.Contains(first.log(), "$ sam deploy --stack-name app --region "+testaws.Region+" --no-confirm-changeset --no-fail-on-empty-changeset --resolve-s3 --capabilities CAPABILITY_IAM") {
		t.Errorf("the log has\n%s", first.log())
	}
	first.sam(lane.OpDeploy, task.Succeeded) // nothing has changed

	second := begin(t, w, map[string]string{"template.json": queue("Queue", "60")})
	second.sam(lane.OpDeploy, task.Succeeded)
	if _, doc := second.stack(); !strings.Contains(doc, "60") {
		t.Errorf("the stack has %s", doc)
	}
	second.sam(lane.OpRollback, task.Succeeded)
	if status, doc := second.stack(); !strings.Contains(doc, "30") || status != "UPDATE_COMPLETE" {
		t.Errorf("the stack is %s and has %s", status, doc)
	}
	second.sam(lane.OpRollback, task.Succeeded) // it is as it was

	first.sam(lane.OpRollback, task.Succeeded)
	if status, _ := first.stack(); status != "" {
		t.Errorf("the stack that wasn't there is %s", status)
	}
}

// What CloudFormation rolls back needs no rollback, and the log says why it did.
func TestRolledBackByItself(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	begin(t, w, map[string]string{"template.json": queue("Queue", "30")}).sam(lane.OpDeploy, task.Succeeded)
	s := begin(t, w, map[string]string{"template.json": queue("CrashQueue", "60")})
	r := s.sam(lane.OpDeploy, task.Failed)
	if !strings.Contains(r.Message, "sam deploy ended with exit code 1") || !strings.Contains(s.log(), "CREATE_FAILED AWS::SQS::Queue CrashQueue") {
		t.Errorf("%s\n%s", r.Message, s.log())
	}
	s.sam(lane.OpRollback, task.Succeeded)
	if !strings.Contains(s.log(), "is as it was before the stage") {
		t.Errorf("the log has\n%s", s.log())
	}
}

// A tool gets what is listed, and nothing else of the delegate's.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	s := begin(t, w, map[string]string{"template.json": queue("Queue", "30")})
	s.sam(lane.OpBuild, task.Succeeded, func(p *lane.Spec) {
		p.Run.Before, p.Run.Env, p.Run.Idle = "env", map[string]string{"OWN": "x"}, []string{"image", "privileged"}
	})
	got := map[string]bool{}
	for line := range strings.Lines(s.env.Text("Build", executor.Info)) {
		if name, _, ok := strings.Cut(line, "="); ok && !strings.Contains(name, " ") {
			got[name] = true
		}
	}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "CI", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "SAM_CLI_TELEMETRY", "OWN", "PLUGIN_STACK_NAME", "PLUGIN_REGION"} {
		if !got[name] {
			t.Errorf("%s is missing of %v", name, got)
		}
		delete(got, name)
	}
	for name := range got {
		if !strings.HasPrefix(name, "PLUGIN_") && !strings.HasPrefix(name, "SLS_") && name != "PWD" && name != "SHLVL" && name != "_" && name != "OLDPWD" {
			t.Errorf("%s reaches the tool", name)
		}
	}
	if !strings.Contains(s.log(), "image, privileged don't apply") {
		t.Errorf("the log has\n%s", s.log())
	}
	if !strings.Contains(strings.Join(s.env.Masked(), " "), "hush-secret") {
		t.Error("the secret key isn't masked")
	}
}

// A build in containers needs Docker, and says so before sam does.
func TestNoDocker(t *testing.T) {
	t.Parallel()
	s := beginOn(t, testaws.NewWorld(t), sam.Install(t), map[string]string{"template.json": queue("Queue", "30")})
	for _, option := range []string{"--use-container", "--build-image x -u"} {
		r := s.sam(lane.OpBuild, task.Failed, func(p *lane.Spec) { p.Options = []string{option} })
		if !strings.Contains(r.Message, "install Docker there, or leave the option out") || !slices.Contains(r.FailureTypes, fault.ConfigurationFailure) || strings.Contains(s.log(), "$ sam") {
			t.Errorf("%s: %s, %s\n%s", option, r.Message, r.FailureTypes, s.log())
		}
	}
}

// What AWS refuses sam is told, and of what went wrong before only the newest; a
// rollback finds the stack as it was.
func TestDenied(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	begin(t, w, map[string]string{"template.json": queue("Queue", "30")}).sam(lane.OpDeploy, task.Succeeded)
	begin(t, w, map[string]string{"template.json": queue("CrashOldQueue", "60")}).sam(lane.OpDeploy, task.Failed)
	begin(t, w, map[string]string{"template.json": queue("CrashNewQueue", "60")}).sam(lane.OpDeploy, task.Failed)
	w.Fail("cloudformation:ExecuteChangeSet", testaws.Fault{Code: "AccessDenied", Message: "nobody may do that here", Times: 1})
	s := begin(t, w, map[string]string{"template.json": queue("Queue", "90")})
	s.sam(lane.OpDeploy, task.Failed)
	if !strings.Contains(s.log(), "nobody may do that here") || strings.Contains(s.log(), "CrashOldQueue") {
		t.Errorf("the log has\n%s", s.log())
	}
	s.sam(lane.OpRollback, task.Succeeded)
	if !strings.Contains(s.log(), "is as it was before the stage") {
		t.Errorf("the log has\n%s", s.log())
	}
}

// What can't be run says why, before anything is changed.
func TestRefusals(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	s := begin(t, w, map[string]string{"template.json": queue("Queue", "30")})
	for name, c := range map[string]struct {
		op     lane.Op
		change func(*lane.Spec)
		want   string
	}{
		"no template":      {lane.OpDeploy, func(p *lane.Spec) { p.Target.Application.Template = "other.yaml" }, "the workspace has no other.yaml in app/app; is a step DownloadManifests before this one?"},
		"no stack":         {lane.OpDeploy, func(p *lane.Spec) { p.Stack = "" }, "stackName is empty"},
		"an open quote":    {lane.OpDeploy, func(p *lane.Spec) { p.Options = []string{"--tags 'a"} }, `the option "--tags 'a": a quote isn't closed`},
		"another option":   {lane.OpBuild, func(p *lane.Spec) { p.Options = []string{"--nonsense"} }, "sam build ended with exit code 1"},
		"a session's loss": {lane.OpBuild, func(p *lane.Spec) { p.Run.Session = "s2" }, "isn't on this machine any more"},
	} {
		spec := func(p *lane.Spec) { p.Target.Application = application(); c.change(p) }
		if r := s.sam(c.op, task.Failed, spec); !strings.Contains(r.Message, c.want) {
			t.Errorf("%s: %s; want %s", name, r.Message, c.want)
		}
	}
	if n := w.Count("cloudformation:CreateChangeSet"); n != 0 {
		t.Errorf("%d change sets were made", n)
	}
}
