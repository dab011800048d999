package e2e_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// serverlessFolder is what the examples of Serverless deploy.
const serverlessFolder = "../../examples/serverless"

// applyServerless saves the documents of examples/serverless, and the folder that
// they name with the code of its function.
func applyServerless(t *testing.T, s *e2e.Server, code string) {
	t.Helper()
	for name, text := range map[string]string{"serverless.yml": read(t, serverlessFolder+"/app/serverless.yml"), "index.js": code} {
		f, err := ref.ParseFile("/serverless/"+name, ref.Scope{Org: s.Org, Project: s.Project})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := apiclient.New(s.URL, s.Token).PutFile(t.Context(), f, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	s.Apply(t, byTheAccounts(strings.ReplaceAll(read(t, serverlessFolder+"/entities.yaml"), "eu-central-1", testaws.Region)))
}

// TestServerlessDeploysAndRollsBack: osls deploys a service whose configuration has
// expressions, and the next deployment goes back to that one when its stage fails.
func TestServerlessDeploysAndRollsBack(t *testing.T) {
	t.Parallel()
	onEveryHost(t, func(t *testing.T, start func(testing.TB) *e2e.Server) {
		t.Helper()
		s, w, cache := start(t), testaws.NewWorld(t), t.TempDir()
		machineWith(t, s, w, cache, testservers.Osls(t, "osls"), "osls="+testservers.OslsVersion)
		applyServerless(t, s, "exports.hello = async () => 1\n")
		pipeline := awsPipeline("serverless", "ServerlessAwsLambda", "ServerlessAwsLambdaDeploy", "ServerlessAwsLambdaRollback", "stackName")
		s.Apply(t, strings.ReplaceAll(pipeline, "timeout: 5m", "timeout: 10m"))
		function := func() lambda.GetFunctionConfigurationOutput {
			t.Helper()
			out, err := lambda.NewFromConfig(w.Config()).GetFunctionConfiguration(t.Context(), &lambda.GetFunctionConfigurationInput{FunctionName: ptr("web-dev-hello")})
			if err != nil {
				t.Fatal(err)
			}
			return *out
		}
		e := finish(t, s, s.Begin(t, "serverless", map[string]string{"variables.script": "true"}))
		if e.Status != "Success" {
			t.Fatalf("the first deployment is %s: %s\n%s", e.Status, e.Message, logOf(t, s, e.ID, e.Root.Find("roll")))
		}
		first := function()
		if color := first.Environment.Variables["COLOR"]; color != "green" {
			t.Errorf("the function has the color %q", color)
		}
		var l api.PlacementList
		if err := s.Call(t.Context(), "GET", "/v1/instances"+ofProject, nil, &l); err != nil {
			t.Fatal(err)
		}
		if len(l.Placements) != 1 {
			t.Errorf("the ledger has %+v; want the stack", l.Placements)
		}
		applyServerless(t, s, "exports.hello = async () => 2\n")
		if d := preview(t, s, "serverless", map[string]string{"variables.script": "true"}); len(d.Changed) != 3 || !strings.Contains(d.Diff, "CodeSha256") {
			t.Errorf("the preview tells of %v:\n%s", d.Changed, d.Diff)
		}
		e = finish(t, s, s.Begin(t, "serverless", map[string]string{"variables.script": "exit 1"}))
		if roll, back := e.Root.Find("roll"), e.Root.Find("back"); e.Status != "Failed" || roll.Status != "Success" || back.Status != "Success" {
			t.Fatalf("what is rolled back is %s: %s\n%s\n%s", e.Status, e.Message, logOf(t, s, e.ID, roll), logOf(t, s, e.ID, back))
		}
		if got := function(); *got.CodeSha256 != *first.CodeSha256 {
			t.Errorf("the code isn't that of the first deployment:\n%s", logOf(t, s, e.ID, e.Root.Find("back")))
		}
		out, err := cloudformation.NewFromConfig(w.Config()).DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: ptr("web-dev")})
		if err != nil || out.Stacks[0].StackStatus != "UPDATE_COMPLETE" {
			t.Errorf("the stack is %+v, %v", out, err)
		}
		noSessions(t, cache)
	})
}
