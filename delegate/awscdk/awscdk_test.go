package awscdk_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate/awscdk"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/workspace/workspacetest"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/internal/testcdk"
	"github.com/slipway-cd/slipway/internal/testservers/sam"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/provision"
	steps "github.com/slipway-cd/slipway/pkg/provisioner/awscdk"
	"github.com/slipway-cd/slipway/pkg/session"
	"github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/task"
)

func TestMain(m *testing.M) {
	session.Answer()
	sam.Answer()
	os.Exit(m.Run())
}

// policy is the page whose first JSON block is what the connector may do.
const policy = "../../docs/cdk.md"

// lane is a session with an app in it, and the account that it is deployed to.
type lane struct {
	*workspacetest.Machine

	t   *testing.T
	run executor.Executor
	// within is the time of the next tasks; 0: two minutes.
	within time.Duration
}

func begin(t *testing.T, stacks string) *lane {
	t.Helper()
	return beginWith(t, testcdk.Install(t), testcdk.App(t, stacks))
}

// beginWith is begin with the program cdk of a folder.
func beginWith(t *testing.T, programs string, app map[string]string) *lane {
	t.Helper()
	l := &lane{t: t, Machine: workspacetest.New(t, testaws.NewWorld(t), programs+":"+os.Getenv("PATH"), "SECRET_OF_DELEGATE=x")}
	l.run = awscdk.New(awscdk.Config{Sessions: l.Sessions, Accesses: l.Accesses, Pace: awswait.Every(10 * time.Millisecond)})
	l.put(app)
	return l
}

// put puts files into the app's folder.
func (l *lane) put(files map[string]string) {
	l.t.Helper()
	var doc bytes.Buffer
	out := tar.NewWriter(&doc)
	for name, text := range files {
		if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			l.t.Fatal(err)
		}
		if _, err := out.Write([]byte(text)); err != nil {
			l.t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		l.t.Fatal(err)
	}
	if err := l.Sessions.Client(workspacetest.Session).Put(l.t.Context(), "repo/app", &doc); err != nil {
		l.t.Fatal(err)
	}
}

// step is one task.
func (l *lane) step(op steps.Op, change ...func(*steps.Spec)) task.Assignment {
	l.t.Helper()
	account := workspacetest.Account()
	s := steps.Spec{Op: op, App: "repo/app", Run: workspace.Run{Session: workspacetest.Session, Env: map[string]string{"OWN": "1"}}, AWS: &account}
	for _, f := range change {
		f(&s)
	}
	w := task.Work{}
	if op == steps.OpDeploy || op == steps.OpRollback {
		w.Provisioner = &provision.Provisioner{Identifier: "web", Place: json.RawMessage(`{"connectorRef":"aws","region":"` + testaws.Region + `"}`)}
	}
	a := l.Step(steps.Kind, w, s)
	a.Timeout = cmp.Or(l.within, a.Timeout)
	return a
}

// do runs one task.
func (l *lane) do(op steps.Op, want task.Status, change ...func(*steps.Spec)) task.Result {
	l.t.Helper()
	return l.Do(l.run, l.step(op, change...), want)
}

// template is that of a stack in the account; empty: there is none.
func (l *lane) template(stack string) string {
	l.t.Helper()
	_, template := l.Stack(stack)
	return template
}

// two are two stacks with outputs.
const two = `{
  "One": {"Parameters": {"Size": {"Type": "String", "Default": "1"}}, "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}, "Outputs": {"A": {"Value": {"Ref": "Size"}}}},
  "Two": {"Resources": {"Queue": {"Type": "AWS::SQS::Queue"}}, "Outputs": {"B": {"Value": "b"}}}
}`

// outputs reads what expressions read of a step.
func outputs(t *testing.T, r task.Result) (out struct {
	Output struct {
		Diff      string            `json:"diff"`
		Variables map[string]string `json:"outputVariables"`
		One       struct{ A string }
	} `json:"output"`
	Stacks map[string]map[string]string `json:"cdkOutput"`
},
) {
	t.Helper()
	if err := json.Unmarshal(r.Outputs, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// An app of two stacks is synthesized, compared, deployed and destroyed.
func TestDeploys(t *testing.T) {
	t.Parallel()
	l := begin(t, two)
	l.World.UnderPolicy(policy)
	templates := outputs(t, l.do(steps.OpSynth, task.Succeeded, func(s *steps.Spec) { s.Export, s.Stacks = true, []string{"Two"} })).Output.Variables
	if got := slices.Sorted(maps.Keys(templates)); len(got) != 1 || !strings.Contains(templates["Two"], `"Queue"`) {
		t.Errorf("the templates are %v", templates)
	}
	if diff := outputs(t, l.do(steps.OpDiff, task.Succeeded)).Output.Diff; !strings.Contains(diff, "Number of stacks with differences: 2") {
		t.Errorf("the differences are %s", diff)
	}
	out := outputs(t, l.do(steps.OpDeploy, task.Succeeded, func(s *steps.Spec) { s.Parameters = map[string]string{"One:Size": "7"} }))
	if out.Output.One.A != "7" || out.Stacks["One"]["A"] != "7" || out.Stacks["Two"]["B"] != "b" {
		t.Errorf("the outputs are %v\n%s", out, l.Log())
	}
	l.do(steps.OpDestroy, task.Succeeded, func(s *steps.Spec) { s.Stacks = []string{"One", "Two"} })
	if one, two := l.template("One"), l.template("Two"); one+two != "" {
		t.Errorf("there still is %s %s", one, two)
	}
	if strings.Contains(l.Log(), "hush-secret") {
		t.Error("the log has the secret key")
	}
}

// one is a stack with a parameter, and one that is hidden.
const one = `{"One": {
  "Parameters": {"Size": {"Type": "String", "Default": "1"}, "Password": {"Type": "String", "NoEcho": true, "Default": "none"}},
  "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}, "Outputs": {"A": {"Value": {"Ref": "Size"}}}
}}`

// git runs git in the app's folder and gives the commit.
func (l *lane) git(args ...string) string {
	l.t.Helper()
	cmd := exec.CommandContext(l.t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Dir = filepath.Join(l.Sessions.Workspace(workspacetest.Session), "repo", "app")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		l.t.Fatalf("git %v: %v\n%s", args, err, said.String())
	}
	return strings.TrimSpace(string(out))
}

// An execution that fails leaves what the one before it has deployed: with its
// parameters, but without its secrets, which nothing keeps.
func TestRollsBack(t *testing.T) {
	t.Parallel()
	l := begin(t, one)
	l.git("init", "-q")
	l.git("add", "cdk.json", "app.js", "stacks.json")
	l.git("commit", "-q", "-m", "first")
	first := l.git("rev-parse", "HEAD")
	l.Mask("correct-horse")
	parameters := func(size string) func(*steps.Spec) {
		return func(s *steps.Spec) {
			s.Parameters = map[string]string{"One:Size": size, "One:Password": "correct-horse"}
			s.Run.Env["STAGE"] = "prod"
		}
	}
	out := outputs(t, l.do(steps.OpDeploy, task.Succeeded, parameters("1")))
	if got := out.Output.Variables; got["GIT_COMMIT_ID"] != first || got["LATEST_SUCCESSFUL_PROVISIONING_COMMIT_ID"] != "" || out.Stacks["One"]["A"] != "1" {
		t.Errorf("the first puts out %v; want commit %s", out, first)
	}
	l.Execution = "e2"
	l.put(testcdk.App(t, strings.Replace(one, "Topic\": {", "Other\": {", 1)))
	l.git("commit", "-q", "-a", "-m", "second")
	if out = outputs(t, l.do(steps.OpDeploy, task.Succeeded, parameters("2"))); out.Stacks["One"]["A"] != "2" || out.Output.Variables["LATEST_SUCCESSFUL_PROVISIONING_COMMIT_ID"] != first {
		t.Errorf("the second puts out %v; want commit %s", out, first)
	}
	// What fails tells where to go back to, too.
	out = outputs(t, l.do(steps.OpDeploy, task.Failed, func(s *steps.Spec) { s.Stacks = []string{"Nobody"} }))
	if out.Output.Variables["LATEST_SUCCESSFUL_PROVISIONING_COMMIT_ID"] != first {
		t.Errorf("what fails puts out %v; want commit %s", out, first)
	}
	l.git("checkout", "-q", first)
	if out = outputs(t, l.do(steps.OpRollback, task.Succeeded)); out.Stacks["One"]["A"] != "1" || out.Output.Variables["GIT_COMMIT_ID"] != first {
		t.Errorf("the rollback puts out %v; want commit %s", out, first)
	}
	if got := l.template("One"); !strings.Contains(got, "Topic") {
		t.Errorf("the stack has the template %s", got)
	}
	for _, want := range []string{"Going back to how execution e1 has deployed.", "had the variable STAGE", "The parameter One:Password keeps the value"} {
		if !strings.Contains(l.Log(), want) {
			t.Errorf("the log doesn't say %q:\n%s", want, l.Log())
		}
	}
	for _, p := range []*provision.Done{l.Provided().Own, l.Provided().Earlier} {
		if strings.Contains(string(p.Inputs)+string(p.Before), "correct-horse") || p.Status == provision.Begun {
			t.Errorf("kept is %s: %s", p.Status, p.Inputs)
		}
	}
}

// A step that may last longer than its credentials finds them at an address of its
// session, where they are renewed; cdk asks there by itself.
func TestCredentialsThatEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		within time.Duration
		keys   bool // in the environment
	}{
		"long enough": {2 * time.Minute, true},
		"too short":   {3 * time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := pretend(t, nil)
			l.within = c.within
			l.do(steps.OpDiff, task.Succeeded, func(s *steps.Spec) { s.AWS.Role = "arn:aws:iam::123456789012:role/cdk" })
			for variable, want := range map[string]bool{"AWS_SECRET_ACCESS_KEY": c.keys, "AWS_CONTAINER_CREDENTIALS_FULL_URI": !c.keys, "AWS_CONTAINER_AUTHORIZATION_TOKEN": !c.keys} {
				if strings.Contains(l.Log(), "env: "+variable+"=") != want {
					t.Errorf("the environment has %s: %t; want %t\n%s", variable, !want, want, l.Log())
				}
			}
		})
	}
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		l := begin(t, one)
		l.within = 3 * time.Hour
		l.do(steps.OpDeploy, task.Succeeded, func(s *steps.Spec) { s.AWS.Role = "arn:aws:iam::123456789012:role/cdk" })
		if l.template("One") == "" {
			t.Errorf("nothing is deployed\n%s", l.Log())
		}
	})
}

// What AWS refuses cdk is in the log, and the step has failed.
func TestAccessDenied(t *testing.T) {
	t.Parallel()
	l := begin(t, one)
	l.World.Fail("cloudformation:CreateChangeSet", testaws.Fault{Code: "AccessDenied", Message: "nobody may do that here", Times: -1})
	l.do(steps.OpDeploy, task.Failed)
	if !strings.Contains(l.Log(), "nobody may do that here") {
		t.Errorf("the log is %s", l.Log())
	}
	if p := l.Provided().Own; p == nil || p.Status != provision.Begun {
		t.Errorf("kept is %+v; want that it has begun", p)
	}
}

// pretender is a program cdk that says how it was called, and ends as the file
// "end" beside the app says.
const pretender = `#!/bin/sh
[ "$1" = --version ] && echo 2.1148.1 && exit
echo "called: $*"
env | sed "s/^/env: /"
[ -f says ] && cat says >&2
exit "$(cat end 2>/dev/null || echo 0)"
`

func pretend(t *testing.T, app map[string]string) *lane {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cdk"), []byte(pretender), 0o700); err != nil {
		t.Fatal(err)
	}
	if app == nil {
		app = map[string]string{"cdk.json": "{}"}
	}
	return beginWith(t, dir, app)
}

// Each step has its command line. Who doesn't name stacks deploys all, unless an
// option may be the name of one.
func TestCommandLines(t *testing.T) {
	t.Parallel()
	l := pretend(t, nil)
	for _, c := range []struct {
		op     steps.Op
		change func(*steps.Spec)
		want   string
	}{
		{steps.OpBootstrap, func(s *steps.Spec) { s.Options = []string{"--toolkit-stack-name 'my kit'"} }, "bootstrap --toolkit-stack-name my kit"},
		{steps.OpSynth, func(s *steps.Spec) { s.Stacks = []string{"A"} }, "synth A"},
		{steps.OpDiff, func(s *steps.Spec) { s.Stacks, s.Options = []string{"A", "B"}, []string{"--strict"} }, "diff A B --strict"},
		{steps.OpDestroy, func(*steps.Spec) {}, "destroy --force"},
		{steps.OpDeploy, func(*steps.Spec) {}, "deploy --all --require-approval never --outputs-file cdk-outputs.json"},
		{steps.OpDeploy, func(s *steps.Spec) { s.Options = []string{"-c", "a=b", "--verbose"} }, "deploy --all --require-approval never --outputs-file cdk-outputs.json -c a=b --verbose"},
		{steps.OpDeploy, func(s *steps.Spec) { s.Options = []string{"--verbose A"} }, "deploy --require-approval never --outputs-file cdk-outputs.json --verbose A"},
		{steps.OpDeploy, func(s *steps.Spec) {
			s.Stacks, s.Parameters, s.Options = []string{"A"}, map[string]string{"z": "2", "A:y": "1"}, []string{"--require-approval=broadening", "--outputs-file", "o.json"}
		}, "deploy A --parameters A:y=1 --parameters z=2 --require-approval=broadening --outputs-file o.json"},
	} {
		l.do(c.op, task.Succeeded, c.change)
		if want := "called: " + c.want + "\n"; !strings.Contains(l.Log(), want) {
			t.Errorf("%s isn't called as %q:\n%s", c.op, want, l.Log())
		}
	}
	for _, want := range []string{"AWS_ACCESS_KEY_ID=AKIA", "AWS_REGION=" + testaws.Region, "OWN=1", "CI=1"} {
		if !strings.Contains(l.Log(), "env: "+want+"\n") {
			t.Errorf("the environment doesn't have %s", want)
		}
	}
	if strings.Contains(l.Log(), "SECRET_OF_DELEGATE") {
		t.Error("the environment has the delegate's")
	}
}

// A step waits for the one that works by its provisioner, before it runs anything;
// those without a provisioner wait for nobody.
func TestAStepWaitsForOthersOfItsProvisioner(t *testing.T) {
	t.Parallel()
	for _, op := range []steps.Op{steps.OpDeploy, steps.OpRollback} {
		l := pretend(t, nil)
		l.Execution = "e0"
		if _, err := l.Provision(t.Context(), provision.Applied, json.RawMessage(`{"place": {"connectorRef": "aws", "region": "`+testaws.Region+`"}}`)); err != nil {
			t.Fatal(err)
		}
		l.Execution = "e1"
		asked := 0
		l.Alone = func(context.Context) (string, error) {
			if asked++; asked < 3 {
				if strings.Contains(l.Log(), "called: deploy") {
					t.Errorf("%s runs cdk while it isn't its turn", op)
				}
				return "e0", nil
			}
			return "", nil
		}
		l.do(steps.OpDiff, task.Succeeded)
		if asked != 0 {
			t.Error("a step without a provisioner waits")
		}
		l.do(op, task.Succeeded)
		if asked != 3 {
			t.Errorf("%s has asked %d times; want 3", op, asked)
		}
		l.Alone = func(context.Context) (string, error) {
			return "", fault.New(fault.LeaseLost, "it isn't the delegate's any more")
		}
		if r := l.do(op, task.Failed); !strings.Contains(r.Message, "it isn't the delegate's any more") {
			t.Errorf("without its turn it fails with %s", r.Message)
		}
	}
}

// That an app differs is no failure, however cdk ends then, unless somebody wants
// it to be one; that cdk fails is.
func TestDifferences(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says, option string
		want         task.Status
	}{
		"differs":        {"Number of stacks with differences: 2", "--strict", task.Succeeded},
		"differs, fatal": {"Number of stacks with differences: 2", "--fail", task.Failed},
		"fails":          {"Number of stacks with differences: 0\nError: no", "--strict", task.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := pretend(t, map[string]string{"says": c.says + "\n", "end": "1"})
			r := l.do(steps.OpDiff, c.want, func(s *steps.Spec) { s.Options = []string{c.option} })
			if got := outputs(t, r).Output.Diff; !strings.Contains(got, c.says) {
				t.Errorf("the differences are %s", got)
			}
		})
	}
}

// A rollback that doesn't know what to deploy says so and runs nothing.
func TestRollbackDeploysNothingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		earlier string // how the execution before has deployed; empty: there was none
		want    task.Status
		says    string
	}{
		"nothing before": {"", task.Succeeded, "no execution has deployed by the provisioner web with success"},
		"elsewhere":      {`{"place": {"connectorRef": "aws", "region": "eu-west-3"}}`, task.Failed, "with the connector aws in eu-west-3, and this one with the connector aws in " + testaws.Region},
		"a secret":       {`{"place": {"connectorRef": "aws", "region": "` + testaws.Region + `"}, "secret": true}`, task.Failed, "held a secret and aren't kept"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := pretend(t, nil)
			if c.earlier != "" {
				l.Execution = "e0"
				if _, err := l.Provision(t.Context(), provision.Applied, json.RawMessage(c.earlier)); err != nil {
					t.Fatal(err)
				}
			}
			l.Execution = "e1"
			if _, err := l.Provision(t.Context(), provision.Begun, struct{}{}); err != nil {
				t.Fatal(err)
			}
			r := l.do(steps.OpRollback, c.want)
			if !strings.Contains(l.Log(), c.says) || strings.Contains(l.Log(), "called:") {
				t.Errorf("%s; the log is %s; want %s", r.Message, l.Log(), c.says)
			}
		})
	}
}
