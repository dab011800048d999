package awssam_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/slipway-cd/slipway/internal/testaws"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awssam"
	"github.com/slipway-cd/slipway/pkg/task"
)

// seen is what a preview tells.
type seen struct {
	Diff       string
	Changed    []string
	HasChanges bool
}

func (s *stage) compared(options ...string) seen {
	s.t.Helper()
	r := s.sam(lane.OpDiff, task.Succeeded, func(p *lane.Spec) { p.Options = options })
	var out struct{ Output seen }
	if err := json.Unmarshal(r.Outputs, &out); err != nil {
		s.t.Fatal(err)
	}
	return out.Output
}

// source is a template as people write it, and packaged the same as sam uploads it.
const (
	source = `
Parameters:
  Size: {Type: String, Default: small}
  Password: {Type: String, NoEcho: true, Default: hush}
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 30
      QueueName: !Sub "${AWS::StackName}-${Size}"
  Handle:
    Type: AWS::CloudFormation::WaitConditionHandle
    Metadata: {CodeUri: src/, Environment: {Variables: {LEVEL: info, TOKEN: old-token}}, Owner: old-owner}
Outputs:
  Name: {Value: !GetAtt Queue.QueueName}
`
	packaged = `{
  "Parameters": {"Size": {"Type": "String", "Default": "small"}, "Password": {"Type": "String", "NoEcho": true, "Default": "hush"}},
  "Resources": {
    "Queue": {
      "Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": 30, "QueueName": {"Fn::Sub": "${AWS::StackName}-${Size}"}}, "Metadata": {"SamResourceId": "Queue"}
    },
    "Handle": {
      "Type": "AWS::CloudFormation::WaitConditionHandle",
      "Metadata": {"CodeUri": "s3://builds/app/0123", "SamResourceId": "Handle", "Environment": {"Variables": {"LEVEL": "info", "TOKEN": "old-token"}}, "Owner": "old-owner"}
    }
  },
  "Outputs": {"Name": {"Value": {"Fn::GetAtt": ["Queue", "QueueName"]}}}
}`
)

// A preview tells what a deployment would change as far as the template says it, in
// whichever way that is written; and it changes nothing, and brings nothing to light.
func TestDiff(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	none := begin(t, w, map[string]string{"template.yaml": source})
	if got := none.compared(); !slices.Equal(got.Changed, []string{
		"Outputs/Name", "Parameters/Password", "Parameters/Size", "AWS::CloudFormation::WaitConditionHandle/Handle", "AWS::SQS::Queue/Queue",
	}) {
		t.Errorf("of nothing there would change %v\n%s", got.Changed, got.Diff)
	}
	begin(t, w, map[string]string{"template.json": packaged}).sam(lane.OpDeploy, task.Succeeded)
	before := len(w.Calls())
	if got := begin(t, w, map[string]string{"template.yaml": source}).compared("--parameter-overrides Size=small Password=hush"); got.HasChanges {
		t.Errorf("of the same would change:\n%s", got.Diff)
	}
	changed := strings.NewReplacer("30", "60", "info", "debug", "old-token", "new-token", "old-owner", secret, "src/", "lib/").Replace(source)
	s := begin(t, w, map[string]string{"template.yaml": changed + "  More: {Value: 1}\n"})
	got := s.compared("--parameter-overrides ParameterKey=Size,ParameterValue=large", "--template-file built.yaml")
	if !slices.Equal(got.Changed, []string{"Outputs/More", "AWS::CloudFormation::WaitConditionHandle/Handle", "AWS::SQS::Queue/Queue", "Parameter value/Size"}) {
		t.Errorf("there would change %v\n%s", got.Changed, got.Diff)
	}
	for _, line := range []string{`-    "VisibilityTimeout": 30`, `+    "VisibilityTimeout": 60`, `-"small"`, `+"large"`, `-        "LEVEL": "(another value, not shown)",`, `+        "LEVEL": "debug",`} {
		if !strings.Contains(got.Diff, line+"\n") {
			t.Errorf("the difference lacks %s:\n%s", line, got.Diff)
		}
	}
	if strings.Contains(got.Diff, "old-token") || strings.Contains(got.Diff, "CodeUri\": \"s3") {
		t.Errorf("the difference has\n%s", got.Diff)
	}
	for _, c := range w.Calls()[before:] {
		if _, name, _ := strings.Cut(c.Operation, ":"); testaws.Changing(name) {
			t.Errorf("the preview calls %s", c.Operation)
		}
	}
	if n := len(s.Kept()); n != 0 {
		t.Errorf("the preview keeps %d checkpoints", n)
	}
}

// What can't be compared says why.
func TestDiffRefuses(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	for name, c := range map[string]struct{ template, want string }{
		"no YAML":    {"a: [", "the template isn't YAML"},
		"no mapping": {"- a", "the template is no mapping"},
		"much of it": {"a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n" +
			"d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]\n", "more than 500000 parts"},
	} {
		s := begin(t, w, map[string]string{"template.yaml": c.template})
		if r := s.sam(lane.OpDiff, task.Failed); !strings.Contains(r.Message, c.want) {
			t.Errorf("%s: %s; want %s", name, r.Message, c.want)
		}
	}
	begin(t, w, map[string]string{"template.json": packaged}).sam(lane.OpDeploy, task.Succeeded)
	w.Hold()
	if _, err := cloudformation.NewFromConfig(w.Config()).UpdateStack(t.Context(), &cloudformation.UpdateStackInput{
		StackName: sdk.String("app"), TemplateBody: sdk.String(strings.Replace(packaged, "30", "60", 1)),
	}); err != nil {
		t.Fatal(err)
	}
	s := begin(t, w, map[string]string{"template.yaml": source})
	if r := s.sam(lane.OpDiff, task.Failed); !strings.Contains(r.Message, "stack app is UPDATE_IN_PROGRESS: how it would change isn't known") {
		t.Errorf("while it changes: %s", r.Message)
	}
}
