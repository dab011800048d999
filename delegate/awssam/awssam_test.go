package awssam_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/slipway-cd/slipway/delegate/awssam"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gotemplate"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/delegate/workspace"
	"github.com/slipway-cd/slipway/delegate/workspace/workspacetest"
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
	*workspacetest.Machine

	t       *testing.T
	sandbox *sandbox.Sandbox
}

// secret is an expression in a file, and what it stands for.
const secret, hidden = `<+secrets.getValue("token")>`, "hush-token"

// begin begins a stage whose application is in the workspace. Its files are below
// /app of the file store; those whose names begin with a slash lie elsewhere.
func begin(t *testing.T, w *testaws.World, files map[string]string) *stage {
	t.Helper()
	return beginOn(t, w, sam.Install(t)+":"+os.Getenv("PATH"), files)
}

// beginOn is begin on a machine whose PATH is another.
func beginOn(t *testing.T, w *testaws.World, programs string, files map[string]string) *stage {
	t.Helper()
	w.UnderPolicy("../../docs/sam.md")
	s := &stage{t: t, sandbox: sandbox.New(0), Machine: workspacetest.New(t, w, programs, "AWS_ENDPOINT_URL_S3="+w.Endpoint, "SECRET_OF_DELEGATE=x")}
	t.Cleanup(s.sandbox.Close)
	s.Resolve = func(_ context.Context, texts map[string]string) (map[string]string, error) {
		out := map[string]string{}
		for name, text := range texts {
			if strings.Contains(text, secret) {
				s.Mask(hidden)
			}
			out[name] = strings.ReplaceAll(text, secret, hidden)
		}
		return out, nil
	}
	s.Stores(files)
	s.download()
	return s
}

// download brings the application into the workspace, also once more.
func (s *stage) download() {
	s.t.Helper()
	bring := space.Download{Session: workspacetest.Session, Manifests: []space.Manifest{application().Manifest}}
	s.Do(workspace.NewDownload(workspace.Config{Sessions: s.Sessions}), s.Step(space.Kind, task.Work{}, bring), task.Succeeded)
}

func application() *lane.Application {
	return &lane.Application{Manifest: space.Manifest{ID: "app", Store: task.Store{Files: &task.FileStore{Paths: []string{"/app"}}}}}
}

// run does SAM's tasks.
func (s *stage) run() executor.Executor {
	return awssam.New(awssam.Config{Sessions: s.Sessions, Accesses: s.Accesses, Sandbox: s.sandbox, Pace: awswait.Every(20 * time.Millisecond)})
}

// step is a task of SAM's.
func (s *stage) step(op lane.Op, change ...func(*lane.Spec)) task.Assignment {
	s.t.Helper()
	spec := lane.Spec{
		Op: op, Stack: "app", Run: &space.Run{Session: workspacetest.Session},
		Target: lane.Target{AWS: workspacetest.Account(), Application: application()},
	}
	for _, f := range change {
		f(&spec)
	}
	return s.Step(lane.Kind, task.Work{}, spec)
}

func (s *stage) sam(op lane.Op, want task.Status, change ...func(*lane.Spec)) task.Result {
	s.t.Helper()
	return s.Do(s.run(), s.step(op, change...), want)
}

// queue is a template whose stack has one queue.
func queue(name, seconds string) string {
	return fmt.Sprintf(`{"Resources": {"%s": {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": %s}}}, "Outputs": {"Seconds": {"Value": "%s"}}}`, name, seconds, seconds)
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
	if left := r.Changes[0].Workloads[0].State; !strings.HasPrefix(left, "CREATE_COMPLETE, last changed at ") {
		t.Errorf("the stack is left %s", left)
	}
	if !strings.Contains(first.Log(), "$ sam deploy --stack-name app --region "+testaws.Region+" --no-confirm-changeset --no-fail-on-empty-changeset --resolve-s3 --capabilities CAPABILITY_IAM") {
		t.Errorf("the log has\n%s", first.Log())
	}
	first.sam(lane.OpDeploy, task.Succeeded) // nothing has changed

	second := begin(t, w, map[string]string{"template.json": queue("Queue", "60")})
	second.sam(lane.OpDeploy, task.Succeeded)
	if _, doc := second.Stack("app"); !strings.Contains(doc, "60") {
		t.Errorf("the stack has %s", doc)
	}
	second.sam(lane.OpRollback, task.Succeeded)
	if status, doc := second.Stack("app"); !strings.Contains(doc, "30") || status != "UPDATE_COMPLETE" {
		t.Errorf("the stack is %s and has %s", status, doc)
	}
	second.sam(lane.OpRollback, task.Succeeded) // it is as it was

	first.sam(lane.OpRollback, task.Succeeded)
	if status, _ := first.Stack("app"); status != "" {
		t.Errorf("the stack that wasn't there is %s", status)
	}
}

// A template of SAM has a transform, which CloudFormation wants acknowledged of who
// makes no change set.
func TestRollsBackTransforms(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	of := func(seconds string) map[string]string {
		return map[string]string{"template.json": strings.Replace(queue("Queue", seconds), "{", `{"Transform": "AWS::Serverless-2016-10-31", `, 1)}
	}
	begin(t, w, of("30")).sam(lane.OpDeploy, task.Succeeded)
	s := begin(t, w, of("60"))
	s.sam(lane.OpDeploy, task.Succeeded)
	s.sam(lane.OpRollback, task.Succeeded)
	if status, doc := s.Stack("app"); !strings.Contains(doc, `"VisibilityTimeout": 30`) {
		t.Errorf("the stack is %s and has %s", status, doc)
	}
}

// A stack gets back exactly the tags that it had, also if it had none, and also where
// nothing else has changed.
func TestRollsBackTags(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, by []string // the options that say so
		seconds    string
		want       map[string]string
	}{
		"of a stack without tags":    {nil, []string{"--tags team=web"}, "60", map[string]string{}},
		"of a stack with tags":       {[]string{"--tags team=web cost=7"}, []string{"--tags team=ops new=1"}, "60", map[string]string{"team": "web", "cost": "7"}},
		"where nothing else changes": {[]string{"--tags team=web"}, []string{"--tags team=ops"}, "30", map[string]string{"team": "web"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testaws.NewWorld(t)
			begin(t, w, map[string]string{"template.json": queue("Queue", "30")}).sam(lane.OpDeploy, task.Succeeded, func(p *lane.Spec) { p.Options = c.before })
			s := begin(t, w, map[string]string{"template.json": queue("Queue", c.seconds)})
			s.sam(lane.OpDeploy, task.Succeeded, func(p *lane.Spec) { p.Options = c.by })
			tags := func() map[string]string {
				out, err := cloudformation.NewFromConfig(w.Config()).DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: sdk.String("app")})
				if err != nil {
					t.Fatal(err)
				}
				all := map[string]string{}
				for _, tag := range out.Stacks[0].Tags {
					all[*tag.Key] = *tag.Value
				}
				return all
			}
			if got := tags(); maps.Equal(got, c.want) {
				t.Fatalf("the stage has left the tags %v", got)
			}
			s.sam(lane.OpRollback, task.Succeeded)
			if got := tags(); !maps.Equal(got, c.want) {
				t.Errorf("rolled back, the stack has the tags %v; want %v", got, c.want)
			}
		})
	}
}

// What CloudFormation rolls back needs no rollback, and the log says why it did.
func TestRolledBackByItself(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	begin(t, w, map[string]string{"template.json": queue("Queue", "30")}).sam(lane.OpDeploy, task.Succeeded)
	s := begin(t, w, map[string]string{"template.json": queue("CrashQueue", "60")})
	r := s.sam(lane.OpDeploy, task.Failed)
	if !strings.Contains(r.Message, "sam deploy ended with exit code 1") || !strings.Contains(s.Log(), "CREATE_FAILED AWS::SQS::Queue CrashQueue") {
		t.Errorf("%s\n%s", r.Message, s.Log())
	}
	s.sam(lane.OpRollback, task.Succeeded)
	if !strings.Contains(s.Log(), "is as it was before the stage") {
		t.Errorf("the log has\n%s", s.Log())
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
	for line := range strings.Lines(s.Text("Build", executor.Info)) {
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
	if !strings.Contains(s.Log(), "image, privileged don't apply") {
		t.Errorf("the log has\n%s", s.Log())
	}
	if !strings.Contains(strings.Join(s.Masked(), " "), "hush-secret") {
		t.Error("the secret key isn't masked")
	}
}

// A build in containers needs Docker, and says so before sam does.
func TestNoDocker(t *testing.T) {
	t.Parallel()
	s := beginOn(t, testaws.NewWorld(t), sam.Install(t), map[string]string{"template.json": queue("Queue", "30")})
	for _, option := range []string{"--use-container", "--build-image x -u"} {
		r := s.sam(lane.OpBuild, task.Failed, func(p *lane.Spec) { p.Options = []string{option} })
		if !strings.Contains(r.Message, "install Docker there, or leave the option out") || !slices.Contains(r.FailureTypes, fault.ConfigurationFailure) || strings.Contains(s.Log(), "$ sam") {
			t.Errorf("%s: %s, %s\n%s", option, r.Message, r.FailureTypes, s.Log())
		}
	}
}

// It needs Docker, too, where a file of settings asks for it.
func TestNoDockerBySettings(t *testing.T) {
	t.Parallel()
	s := beginOn(t, testaws.NewWorld(t), sam.Install(t), map[string]string{
		"template.json": queue("Queue", "30"), "samconfig.toml": "version = 0.1\n[default.build.parameters]\nuse_container = true\n[prod.global.parameters]\nuse_container = false\n",
		"other.yaml": "default: {global: {parameters: {use_container: 'yes'}}}", "broken.toml": "default = [",
	})
	for options, want := range map[string]string{
		"": "use_container of samconfig.toml needs Docker", "--config-file other.yaml": "use_container of other.yaml needs Docker",
		"--config-file=broken.toml": "the file broken.toml can't be read: ",
	} {
		r := s.sam(lane.OpBuild, task.Failed, func(p *lane.Spec) { p.Options = []string{options} })
		if !strings.Contains(r.Message, want) || !slices.Contains(r.FailureTypes, fault.ConfigurationFailure) || strings.Contains(s.Log(), "$ sam") {
			t.Errorf("%s: %s, %s\n%s", options, r.Message, r.FailureTypes, s.Log())
		}
	}
	s.sam(lane.OpBuild, task.Succeeded, func(p *lane.Spec) { p.Options = []string{"--config-env prod"} })
}

// What a file of settings says of a deployment isn't said again, and what it doesn't
// is.
func TestSettingsOfADeployment(t *testing.T) {
	t.Parallel()
	s := begin(t, testaws.NewWorld(t), map[string]string{
		"template.json": queue("Queue", "30"), "samconfig.yaml": "default: {deploy: {parameters: {capabilities: CAPABILITY_NAMED_IAM}}, build: {parameters: {resolve_s3: true}}}",
	})
	s.sam(lane.OpDeploy, task.Succeeded)
	if log := s.Log(); !strings.Contains(log, "--no-fail-on-empty-changeset --resolve-s3\n") {
		t.Errorf("the log has\n%s", log)
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
	if !strings.Contains(s.Log(), "nobody may do that here") || strings.Contains(s.Log(), "CrashOldQueue") {
		t.Errorf("the log has\n%s", s.Log())
	}
	s.sam(lane.OpRollback, task.Succeeded)
	if !strings.Contains(s.Log(), "is as it was before the stage") {
		t.Errorf("the log has\n%s", s.Log())
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
