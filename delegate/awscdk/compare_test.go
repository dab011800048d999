package awscdk_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	steps "github.com/slipway-cd/slipway/pkg/provisioner/awscdk"
	"github.com/slipway-cd/slipway/pkg/task"
)

// queues is a template of a queue whose time is a parameter.
func queues(more string) string {
	return `{"Parameters": {"Seconds": {"Type": "Number", "Default": 30}}, "Resources": {"Queue": {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": {"Ref": "Seconds"}}}` + more + `}}`
}

// assembly are the files that cdk has made of an app of three stacks, of which the one
// of a part needs one of the others.
func assembly(base, web, part, environment string) map[string]string {
	artifact := func(name, more string) string {
		return fmt.Sprintf(`"%[1]s": {"type": "aws:cloudformation:stack", "environment": "%[2]s", "properties": {"templateFile": "%[1]s.json"%[3]s}`, name, environment, more)
	}
	return map[string]string{
		"cdk.json":                   "{}",
		"cdk.out/manifest.json":      `{"artifacts": {` + artifact("Base", "") + `}, ` + artifact("Web", `, "stackName": "web-dev"`) + `, "dependencies": ["Base", "Web.assets"]}, "Part": {"type": "cdk:cloud-assembly", "properties": {"directoryName": "part"}}}}`,
		"cdk.out/part/manifest.json": `{"artifacts": {` + artifact("Inner", "") + `, "displayName": "Part/Inner"}}}`,
		"cdk.out/Base.json":          base,
		"cdk.out/Web.json":           web,
		"cdk.out/part/Inner.json":    part,
	}
}

// makes makes a stack as cdk would.
func (l *lane) makes(stack, template string) {
	l.t.Helper()
	client := cloudformation.NewFromConfig(l.World.Config())
	if _, err := client.CreateStack(l.t.Context(), &cloudformation.CreateStackInput{
		StackName: &stack, TemplateBody: &template, Parameters: []types.Parameter{{ParameterKey: sdk.String("Seconds"), ParameterValue: sdk.String("40")}},
	}); err != nil {
		l.t.Fatal(err)
	}
	if err := cloudformation.NewStackCreateCompleteWaiter(client).Wait(l.t.Context(), &cloudformation.DescribeStacksInput{StackName: &stack}, time.Minute); err != nil {
		l.t.Fatal(err)
	}
}

// A preview tells how the stacks that would be deployed differ from those that are
// there, by the templates that cdk makes, and changes nothing.
func TestAppsAreCompared(t *testing.T) {
	t.Parallel()
	const anywhere = "aws://unknown-account/unknown-region"
	other := `, "Topic": {"Type": "AWS::SNS::Topic"}`
	l := pretend(t, assembly(queues(""), queues(other), queues(""), anywhere))
	l.makes("Base", queues(""))
	l.makes("web-dev", queues(""))
	for name, c := range map[string]struct {
		change func(*steps.Spec)
		want   []string
		diff   string
	}{
		"all":                  {func(*steps.Spec) {}, []string{"Inner/Parameters/Seconds", "Inner/AWS::SQS::Queue/Queue", "web-dev/AWS::SNS::Topic/Topic"}, "+++ web-dev/AWS::SNS::Topic/Topic\n"},
		"one that is the same": {func(s *steps.Spec) { s.Stacks = []string{"Base"} }, nil, ""},
		"one that needs another": {func(s *steps.Spec) {
			s.Stacks, s.Parameters = []string{"W*"}, map[string]string{"Base:Seconds": "50", "Unknown": "1"}
		}, []string{"Base/Parameter value/Seconds", "web-dev/AWS::SNS::Topic/Topic"}, "-\"40\"\n+\"50\"\n"},
		"one alone": {func(s *steps.Spec) {
			s.Stacks, s.Options = []string{"Web"}, []string{"--exclusively --parameters Seconds=50"}
		}, []string{"AWS::SNS::Topic/Topic", "Parameter value/Seconds"}, "+++ AWS::SNS::Topic/Topic\n"},
		"one of a part, by an option": {func(s *steps.Spec) { s.Options = []string{"Part/Inner", "--parameters=Inner:Seconds=40"} }, []string{
			"Parameters/Seconds", "AWS::SQS::Queue/Queue", "Parameter value/Seconds",
		}, "+\"40\"\n"},
	} {
		before := len(l.World.Calls())
		r := l.do(steps.OpCompare, task.Succeeded, c.change)
		var out struct {
			Output struct {
				Diff    string   `json:"diff"`
				Changed []string `json:"changed"`
			} `json:"output"`
		}
		if err := json.Unmarshal(r.Outputs, &out); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(out.Output.Changed, c.want) || !strings.Contains(out.Output.Diff, c.diff) {
			t.Errorf("%s: would change %q; want %q:\n%s", name, out.Output.Changed, c.want, out.Output.Diff)
		}
		if got := l.World.Changes(before); len(got) > 0 || len(l.Kept()) > 0 {
			t.Errorf("%s: the preview changes %v, and keeps %v", name, got, l.Kept())
		}
	}
	l.put(assembly(queues(""), queues(""), queues(""), "aws://123456789012/eu-west-3"))
	if r := l.do(steps.OpCompare, task.Succeeded, func(s *steps.Spec) { s.Stacks = []string{"Base"} }); !strings.Contains(string(r.Outputs), "AWS::SQS::Queue/Queue") {
		t.Errorf("of a stack in another region it tells %s", r.Outputs)
	}
	l.put(assembly(queues(""), queues(""), queues(""), "aws://999999999999/unknown-region"))
	if r := l.do(steps.OpCompare, task.Failed); !strings.Contains(r.Message, "stack Base is of the account 999999999999, and the step's credentials are of 123456789012") {
		t.Errorf("of a stack in another account it says %s", r.Message)
	}
}
