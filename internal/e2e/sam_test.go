package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	sessions "github.com/slipway-cd/slipway/delegate/session"
	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/internal/testport"
	"github.com/slipway-cd/slipway/internal/testservers/sam"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// samFolder is what the examples of SAM deploy.
const samFolder = "../../examples/sam"

// machineOf starts a delegate that finds the credentials of an account around it,
// and sam. Its sessions are below the folder cache.
func machineOf(t *testing.T, s *e2e.Server, w *testaws.World, cache string) *process {
	t.Helper()
	return machineWith(t, s, w, cache, sam.Install(t), "sam="+sam.Version)
}

// machineWith is machineOf with the tool that is in a folder.
func machineWith(t *testing.T, s *e2e.Server, w *testaws.World, cache, folder, tool string) *process {
	t.Helper()
	p := spawn(t, toolMachine(t, s, w, cache, folder)...)
	connected(t, s, "account", tool)
	return p
}

// toolMachine is the environment of machineWith's delegate. It keeps a journal, so that
// the next one tells that it was killed.
func toolMachine(t *testing.T, s *e2e.Server, w *testaws.World, cache, folder string) []string {
	t.Helper()
	t.Cleanup(func() { // what the delegate has left when it was killed
		left := sessions.New(sessions.Config{Dir: filepath.Join(cache, "sessions")})
		for _, open := range left.Opened() {
			if err := left.Close(context.Background(), open.ID); err != nil {
				t.Error(err)
			}
		}
	})
	return []string{
		delegateEnv + "=account", addrEnv + "=" + s.URL, tokenEnv + "=" + delegateToken(t, s), cacheEnv + "=" + cache, journalEnv + "=" + filepath.Join(cache, "journal"),
		"AWS_ENDPOINT_URL=" + w.Endpoint, "AWS_ACCESS_KEY_ID=AKIA", "AWS_SECRET_ACCESS_KEY=s", "AWS_EC2_METADATA_DISABLED=true",
		toolsEnv + "=1", often, "PATH=" + folder + string(os.PathListSeparator) + os.Getenv("PATH"),
	}
}

// connected waits until a delegate has registered, and told that it has a tool
// unless that is empty.
func connected(t *testing.T, s *e2e.Server, name, tool string) {
	t.Helper()
	for {
		var l api.DelegateList
		if err := s.Call(t.Context(), "GET", "/v1/delegates"+ofProject, nil, &l); err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(l.Delegates, func(d api.Delegate) bool {
			return d.Name == name && (tool == "" || slices.Contains(d.Tools, tool))
		}) {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("there is no delegate %s: %+v", name, l)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// applySAM saves the documents of examples/sam, with the file that they name.
func applySAM(t *testing.T, s *e2e.Server) {
	t.Helper()
	applySAMAs(t, s, read(t, samFolder+"/app/template.yaml"))
}

func applySAMAs(t *testing.T, s *e2e.Server, template string) {
	t.Helper()
	f, err := ref.ParseFile("/sam/template.yaml", ref.Scope{Org: s.Org, Project: s.Project})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := apiclient.New(s.URL, s.Token).PutFile(t.Context(), f, []byte(template)); err != nil {
		t.Fatal(err)
	}
	s.Apply(t, byTheAccounts(strings.ReplaceAll(read(t, samFolder+"/entities.yaml"), "eu-central-1", testaws.Region)))
}

// filesFor is a server with what the examples bring into workspaces: a repository,
// and objects of a bucket.
func filesFor(t *testing.T) *e2e.Server {
	t.Helper()
	s, w, bucket := e2e.Start(t, wire.ServeConfig{}), testaws.NewWorld(t), "settings"
	machineOf(t, s, w, t.TempDir())
	client := s3.NewFromConfig(w.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: &bucket, CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: testaws.Region},
	}); err != nil {
		t.Fatal(err)
	}
	for key, text := range map[string]string{"web/version.txt": "1.2", "web/flags/a.json": "{}"} {
		if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(text)}); err != nil {
			t.Fatal(err)
		}
	}
	connector := "connector: {identifier: %s, name: %s, orgIdentifier: default, projectIdentifier: default_project, type: %s, spec: %s}\n"
	s.Apply(t, fmt.Sprintf(connector, "aws", "aws", "Aws", "{delegateSelectors: [account], credential: {type: InheritFromDelegate}}")+"---\n"+
		fmt.Sprintf(connector, "code", "code", "Git", "{connectionType: Repo, type: Http, spec: {}, url: "+serveGit(t, filepath.Join(webFolder, "repo"))+"}"))
	return s
}

// samPipeline deploys in a containerized group, and rolls back if it should fail.
const samPipeline = `pipeline:
  identifier: sam
  name: SAM
  orgIdentifier: default
  projectIdentifier: default_project
  variables:
    - {name: script, type: String, value: <+input>}
    - {name: before, type: String, value: "<+input>.default(true)"}
  stages:
    - stage:
        identifier: deploy
        name: deploy
        type: Deployment
        failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: StageRollback}}}]
        spec:
          deploymentType: AWS_SAM
          service: {serviceRef: websam}
          environment: {environmentRef: dev, infrastructureDefinitions: [{identifier: sam}]}
          execution:
            steps:
              - stepGroup:
                  identifier: group
                  name: group
                  stepGroupInfra: {type: Delegate, spec: {}}
                  steps:
                    - step: {identifier: download, name: Download, type: DownloadManifests, spec: {}}
                    - step: {identifier: build, name: Build, type: AwsSamBuild, spec: {image: "sam:1", preExecution: <+pipeline.variables.before>}}
                    - step: {identifier: roll, name: Roll, type: AwsSamDeploy, timeout: 5m, spec: {stackName: web}}
              - step:
                  identifier: check
                  name: Check
                  type: ShellScript
                  timeout: 1m
                  spec: {shell: Bash, onDelegate: true, source: {type: Inline, spec: {script: "echo stack <+execution.steps.group.steps.roll.output.stackStatus>; <+pipeline.variables.script>"}}}
            rollbackSteps:
              - step: {identifier: back, name: Back, type: AwsSamRollback, timeout: 5m, spec: {}}
`

// noSessions waits until no session is left below a delegate's folder.
func noSessions(t *testing.T, cache string) {
	t.Helper()
	for {
		left, err := filepath.Glob(filepath.Join(cache, "sessions", "*", "session.json"))
		if err == nil && len(left) == 0 {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("sessions are left: %v, %v", left, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestSAMDeploysAndRollsBack: sam deploys an application in the workspace of a
// group, whose folder is gone with it, and the stack goes back to what it was.
func TestSAMDeploysAndRollsBack(t *testing.T) {
	t.Parallel()
	onEveryHost(t, func(t *testing.T, start func(testing.TB) *e2e.Server) {
		t.Helper()
		s, w, cache := start(t), testaws.NewWorld(t), t.TempDir()
		machineOf(t, s, w, cache)
		applySAM(t, s)
		s.Apply(t, samPipeline)
		stack := func() (status, template string) {
			t.Helper()
			client := cloudformation.NewFromConfig(w.Config())
			out, err := client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: ptr("web")})
			if err != nil {
				t.Fatal(err)
			}
			doc, err := client.GetTemplate(t.Context(), &cloudformation.GetTemplateInput{StackName: ptr("web")})
			if err != nil {
				t.Fatal(err)
			}
			return string(out.Stacks[0].StackStatus), *doc.TemplateBody
		}
		e := finish(t, s, s.Begin(t, "sam", map[string]string{"variables.script": "true"}))
		if e.Status != "Success" {
			t.Fatalf("the first deployment is %s: %s", e.Status, e.Message)
		}
		if status, _ := stack(); status != "CREATE_COMPLETE" {
			t.Errorf("the stack is %s", status)
		}
		noSessions(t, cache)
		var l api.PlacementList
		if err := s.Call(t.Context(), "GET", "/v1/instances"+ofProject, nil, &l); err != nil {
			t.Fatal(err)
		}
		if len(l.Placements) != 1 {
			t.Errorf("the ledger has %+v; want the stack", l.Placements)
		}
		_, before := stack()
		applySAMAs(t, s, strings.Replace(read(t, samFolder+"/app/template.yaml"), "VisibilityTimeout: 30", "VisibilityTimeout: 60", 1))
		if d := preview(t, s, "sam", map[string]string{"variables.script": "true"}); !slices.Equal(d.Changed, []string{"AWS::SQS::Queue/Orders"}) || !strings.Contains(d.Diff, "+    \"VisibilityTimeout\": 60\n") {
			t.Errorf("the preview tells of %v:\n%s", d.Changed, d.Diff)
		}
		noSessions(t, cache)
		if e = finish(t, s, s.Begin(t, "sam", map[string]string{"variables.script": "exit 1"})); e.Status != "Failed" || e.Root.Find("back").Status != "Success" {
			t.Fatalf("what is rolled back is %s: %s", e.Status, e.Message)
		}
		if roll := e.Root.Find("roll"); roll.Status != "Success" {
			t.Fatalf("the update is %s: %s\n%s\n%s", e.Status, e.Message, logOf(t, s, e.ID, e.Root.Find("download")), logOf(t, s, e.ID, roll))
		}
		if status, after := stack(); status != "UPDATE_COMPLETE" || after != before {
			t.Errorf("the stack is %s and has %s\n%s\n%s", status, after, logOf(t, s, e.ID, e.Root.Find("roll")), logOf(t, s, e.ID, e.Root.Find("back")))
		}
		undone(t, s, finish(t, s, s.Begin(t, "sam", map[string]string{"variables.script": "true"})))
		if status, after := stack(); status != "UPDATE_COMPLETE" || after != before {
			t.Errorf("rolled back afterwards, the stack is %s and has %s", status, after)
		}
		noSessions(t, cache)
		drifts(t, s, "Stack/web isn't there any more", func() error {
			_, err := cloudformation.NewFromConfig(w.Config()).DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: ptr("web")})
			return err
		})
	})
}

// TestAProgramRunsBesideSteps: what a step Background begins serves those after it at
// its port, knows secrets that no log has, and ends with its group. Its log goes on
// until then, and says so if it ends before.
func TestAProgramRunsBesideSteps(t *testing.T) {
	t.Parallel()
	onEveryHost(t, func(t *testing.T, start func(testing.TB) *e2e.Server) {
		t.Helper()
		s, w, cache := start(t), testaws.NewWorld(t), t.TempDir()
		machineOf(t, s, w, cache)
		applySAM(t, s)
		s.Apply(t, "secret: {identifier: key, name: key, orgIdentifier: default, projectIdentifier: default_project, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: hush-key}}")
		ended := filepath.Join(t.TempDir(), "ended")
		free, err := testport.Free(1)
		if err != nil {
			t.Fatal(err)
		}
		port := strings.TrimPrefix(free[0], "127.0.0.1:")
		const build = "                    - step: {identifier: build,"
		s.Apply(t, strings.Replace(samPipeline, build, `                    - step:
                        identifier: beside
                        name: Beside
                        type: Background
                        spec:
                          shell: Bash
                          command: |
                            trap 'echo "$KEY" > `+ended+`; exit 0' TERM
                            echo "the key is $KEY"
                            until [ -e never ]; do date > beat; sleep 0.1; done
                          envVariables: {KEY: <+secrets.getValue("key")>}
                    - parallel:
                        - step:
                            identifier: web
                            name: Web
                            type: Background
                            strategy: {matrix: {port: ["`+port+`"]}}
                            spec:
                              shell: Sh
                              command: exec python3 -u -m http.server <+matrix.port> --bind 127.0.0.1
                              portBindings: {"`+port+`": "`+port+`"}
                        - step:
                            identifier: brief
                            name: Brief
                            type: Background
                            spec: {command: "until [ -e die ]; do sleep 0.1; done; echo it was $KEY; exit 7", envVariables: {KEY: <+secrets.getValue(\"key\")>}}
`+build, 1))
		e := finish(t, s, s.Begin(t, "sam", map[string]string{
			"variables.script": "true", "variables.before": `(cd ../..; rm -f beat; until [ -e beat ]; do sleep 0.1; done; echo served > page; touch die
until python3 -c 'import urllib.request; print(urllib.request.urlopen("http://localhost:` + port + `/page").read())'; do sleep 0.1; done)`,
		}))
		if e.Status != "Success" {
			t.Fatalf("it is %s: %s\n%s", e.Status, e.Message, logOf(t, s, e.ID, e.Root.Find("beside")))
		}
		if log := logOf(t, s, e.ID, e.Root.Find("beside")); strings.Contains(log, "hush-key") || !strings.Contains(log, "the key is ") {
			t.Errorf("the log has\n%s", log)
		}
		if log := logOf(t, s, e.ID, e.Root.Find("build")); !strings.Contains(log, `b'served\n'`) {
			t.Errorf("the step that asks the program says\n%s", log)
		}
		noSessions(t, cache)
		says(t, s, e.ID, e.Root.Find("brief"), "it was *")
		says(t, s, e.ID, e.Root.Find("brief"), "it has ended by itself, with exit code 7 after ")
		says(t, s, e.ID, e.Root.Find("web").Children[0], `"GET /page HTTP/1.1" 200`)
		says(t, s, e.ID, e.Root.Find("web").Children[0], "It has ended with its session.")
		if text, err := os.ReadFile(ended); err != nil || string(text) != "hush-key\n" {
			t.Errorf("when its group ends the program says %q, %v", text, err)
		}
	})
}

// says waits until the log of a step has a text.
func says(t *testing.T, s *e2e.Server, id string, n *e2e.Node, text string) {
	t.Helper()
	for log := ""; !strings.Contains(log, text); log = logOf(t, s, id, n) {
		select {
		case <-t.Context().Done():
			t.Fatalf("the log lacks %q:\n%s", text, log)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// samValues makes the service of examples/sam one with layers of values.
const samValues = `service:
  identifier: websam
  name: Web by SAM
  orgIdentifier: default
  projectIdentifier: default_project
  serviceDefinition:
    type: AWS_SAM
    spec:
      variables: [{name: seconds, type: String, value: "45"}]
      manifests:
        - manifest: {identifier: app, type: AwsSamDirectory, spec: {store: {type: Harness, spec: {files: [/sam]}}}}
        - manifest: {identifier: base, type: Values, spec: {store: {type: Harness, spec: {files: [/sam-values.yaml]}}}}
        - manifest: {identifier: own, type: Values, spec: {store: {type: Inline, spec: {content: "seconds: <+serviceVariables.seconds>"}}}}
`

// The template of an application is rendered with values, and no log has the secrets
// among them.
func TestSAMTemplatesHaveValues(t *testing.T) {
	t.Parallel()
	s, w := e2e.Start(t, wire.ServeConfig{}), testaws.NewWorld(t)
	machineOf(t, s, w, t.TempDir())
	applySAMAs(t, s, strings.Replace(read(t, samFolder+"/app/template.yaml"), "Timeout: 30", "Timeout: {{ .Values.seconds }}", 1)+"Description: {{ .Values.note }}\n")
	f, err := ref.ParseFile("/sam-values.yaml", ref.Scope{Org: s.Org, Project: s.Project})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := apiclient.New(s.URL, s.Token).PutFile(t.Context(), f, []byte("seconds: 30\nnote: has <+secrets.getValue(\"token\")> in it\n")); err != nil {
		t.Fatal(err)
	}
	s.Apply(t, secretYAML)
	s.Apply(t, samValues)
	s.Apply(t, samPipeline)
	e := finish(t, s, s.Begin(t, "sam", map[string]string{"variables.script": "true"}))
	said := logOf(t, s, e.ID, e.Root.Find("build")) + logOf(t, s, e.ID, e.Root.Find("roll"))
	if e.Status != "Success" {
		t.Fatalf("%s: %s\n%s", e.Status, e.Message, said)
	}
	doc, err := cloudformation.NewFromConfig(w.Config()).GetTemplate(t.Context(), &cloudformation.GetTemplateInput{StackName: ptr("web")})
	if err != nil {
		t.Fatal(err)
	}
	if got := *doc.TemplateBody; !strings.Contains(got, "Timeout: 45") || !strings.Contains(got, "has s3cr3t-value in it") {
		t.Errorf("the stack has\n%s", got)
	}
	if !strings.Contains(said, "Timeout: 45") || !strings.Contains(said, "Description: has *") || strings.Contains(said, "s3cr3t-value") {
		t.Errorf("the logs are\n%s", said)
	}
	for _, manifest := range []string{"app", "base", "own"} {
		if said := logOf(t, s, e.ID, e.Root.Find("download")); !strings.Contains(said, "Brought 1 files into the folder "+manifest+" of the workspace") {
			t.Errorf("of the manifest %s the log says\n%s", manifest, said)
		}
	}
	if d := preview(t, s, "sam", map[string]string{"variables.script": "true"}); len(d.Changed) != 0 {
		t.Errorf("the preview tells of %v:\n%s", d.Changed, d.Diff)
	}
}

// Without a delegate that has the tool, the stage says so at once.
func TestNoDelegateHasTheTool(t *testing.T) {
	t.Parallel()
	s, w := e2e.Start(t, wire.ServeConfig{}), testaws.NewWorld(t)
	delegateOf(t, s, w)
	connected(t, s, "account", "")
	applySAM(t, s)
	s.Apply(t, samPipeline)
	e := finish(t, s, s.Begin(t, "sam", map[string]string{"variables.script": "true"}))
	if want := "No connected delegate has sam; install it, or give the step a delegate that has (delegateSelectors)."; e.Status != "Failed" || !strings.Contains(fmt.Sprint(e.Root.Find("-initialize").Message), want) {
		t.Errorf("%s: %s; want %s", e.Status, e.Root.Find("-initialize").Message, want)
	}
}

// A group's session opens on a machine of its platform, or says at once that there is
// none.
func TestGroupsNeedTheirPlatform(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the other system of this test is MacOS")
	}
	s, w := e2e.Start(t, wire.ServeConfig{}), testaws.NewWorld(t)
	machineOf(t, s, w, t.TempDir())
	applySAM(t, s)
	own := strings.ToUpper(runtime.GOARCH[:1]) + runtime.GOARCH[1:]
	for platform, want := range map[string]string{
		"{os: Linux, arch: " + own + "}": "",
		"{os: MacOS}":                    "No connected delegate tells that its machine's os is darwin; give the group a delegate of such a machine.",
	} {
		s.Apply(t, strings.Replace(samPipeline, "{type: Delegate, spec: {}}", "{type: Delegate, spec: {}}\n                  platform: "+platform, 1))
		e := finish(t, s, s.Begin(t, "sam", map[string]string{"variables.script": "true"}))
		if opened := e.Root.Find("-initialize"); (e.Status == "Success") != (want == "") || !strings.Contains(opened.Message, want) {
			t.Errorf("%s: it is %s: %s; want %q", platform, e.Status, opened.Message, want)
		}
	}
}

// A delegate that is killed in the middle of a step that runs a tool leaves the
// tool running; the next process on its machine goes on with the step.
func TestAToolOutlivesItsDelegate(t *testing.T) {
	t.Parallel()
	s, w, cache := e2e.Start(t, wire.ServeConfig{Heartbeat: time.Hour}), testaws.NewWorld(t), t.TempDir()
	env := toolMachine(t, s, w, cache, sam.Install(t))
	d := spawn(t, env...)
	connected(t, s, "account", "sam="+sam.Version)
	applySAM(t, s)
	s.Apply(t, samPipeline)
	file, end := filepath.Join(t.TempDir(), "marks"), filepath.Join(t.TempDir(), "end")
	before := fmt.Sprintf("echo begun >> %s; echo it has begun; until [ -e %s ]; do sleep 0.05; done; echo it ends", file, end)
	id := s.Begin(t, "sam", map[string]string{"variables.script": "true", "variables.before": before})
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	if _, err := s.Until(ctx, id, func(e2e.Execution) bool { return marks(t, file)["begun"] == 1 }); err != nil {
		t.Fatal(err)
	}
	d.kill()
	spawn(t, env...)
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e := finish(t, s, id)
	build := e.Root.Find("build")
	if e.Status != "Success" || build.Attempt != 1 || marks(t, file)["begun"] != 1 {
		t.Errorf("%s: %s; the step has begun %d times, in %d attempts", e.Status, e.Message, marks(t, file)["begun"], build.Attempt)
	}
	if said := logOf(t, s, id, build); !strings.Contains(said, "it has begun") || !strings.Contains(said, "it ends") {
		t.Errorf("the log is %s", said)
	}
	noSessions(t, cache)
}
