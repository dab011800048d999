package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/internal/testcdk"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// cdkFolder is what the examples of the CDK deploy.
const cdkFolder = "../../examples/cdk"

// appFor starts a server with all that the pages of the CDK's steps need.
func appFor(t *testing.T) *e2e.Server {
	t.Helper()
	s, w := e2e.Start(t, wire.ServeConfig{}), testaws.NewWorld(t)
	machineWith(t, s, w, t.TempDir(), testcdk.Install(t), "cdk="+testcdk.Version)
	applyApp(t, s, serveGit(t, filepath.Join(cdkFolder, "repo")))
	return s
}

// applyApp saves the documents of examples/cdk, with a repository.
func applyApp(t *testing.T, s *e2e.Server, repository string) {
	t.Helper()
	text := byTheAccounts(read(t, cdkFolder+"/entities.yaml"))
	s.Apply(t, strings.Replace(text, "https://git.example.com/infra.git", repository, 1))
}

// TestAnAppOfTheCDKIsDeployedAndTakenBack: cdk deploys an app that a step has
// cloned; an execution that fails clones the commit before and deploys that.
func TestAnAppOfTheCDKIsDeployedAndTakenBack(t *testing.T) {
	t.Parallel()
	onEveryHost(t, func(t *testing.T, start func(testing.TB) *e2e.Server) {
		t.Helper()
		s, w, cache, repo := start(t), testaws.NewWorld(t), t.TempDir(), t.TempDir()
		if err := os.CopyFS(repo, os.DirFS(cdkFolder+"/repo")); err != nil {
			t.Fatal(err)
		}
		address, commit := serveChanging(t, repo)
		machineWith(t, s, w, cache, testcdk.Install(t), "cdk="+testcdk.Version)
		applyApp(t, s, address)
		pipeline := strings.ReplaceAll(read(t, filesOf(t, "AwsCdkDeploy").Example), "eu-central-1", testaws.Region)
		s.Apply(t, pipeline)
		e := finish(t, s, s.Begin(t, "cdk_deploy", nil))
		if e.Status != "Success" {
			t.Fatalf("the first deployment is %s: %s\n%s", e.Status, e.Message, logOf(t, s, e.ID, e.Root.Find("deploy")))
		}
		if said := logOf(t, s, e.ID, e.Root.Find("check")); !strings.Contains(said, "orders go to http") {
			t.Errorf("the check says %s", said)
		}
		noSessions(t, cache)
		template := func() string {
			t.Helper()
			out, err := cloudformation.NewFromConfig(w.Config()).GetTemplate(t.Context(), &cloudformation.GetTemplateInput{StackName: ptr("Queues")})
			if err != nil {
				t.Fatal(err)
			}
			return sdk.ToString(out.TemplateBody)
		}
		before := template()
		stacks := filepath.Join(repo, "cdk", "stacks.json")
		if err := os.WriteFile(stacks, []byte(strings.Replace(read(t, stacks), `"Orders": {`, `"Bills": {"Type": "AWS::SQS::Queue"}, "Orders": {`, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		commit()
		calls := len(w.Calls())
		d := preview(t, s, "cdk_deploy", nil)
		if !slices.Equal(d.Changed, []string{"AWS::SQS::Queue/Bills"}) || !strings.Contains(d.Diff, "+  \"Type\": \"AWS::SQS::Queue\"\n") {
			t.Errorf("the preview tells of %v:\n%s", d.Changed, d.Diff)
		}
		if got := w.Changes(calls); len(got) > 0 {
			t.Errorf("the preview changes %v", got)
		}
		noSessions(t, cache)
		s.Apply(t, strings.Replace(pipeline, "script: echo", "script: exit 1; echo", 1))
		e = finish(t, s, s.Begin(t, "cdk_deploy", nil))
		if e.Status != "Failed" || e.Root.Find("deploy").Status != "Success" || e.Root.Find("rollback").Status != "Success" {
			t.Fatalf("what is taken back is %s: %s\n%s\n%s", e.Status, e.Message, logOf(t, s, e.ID, e.Root.Find("deploy")), logOf(t, s, e.ID, e.Root.Find("rollback")))
		}
		if after := template(); after != before {
			t.Errorf("the stack has %s; want %s\n%s", after, before, logOf(t, s, e.ID, e.Root.Find("rollback")))
		}
		noSessions(t, cache)
	})
}
