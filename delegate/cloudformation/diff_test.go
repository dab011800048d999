package cloudformation_test

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testaws"
	steps "github.com/slipway-cd/slipway/pkg/provisioner/cloudformation"
)

// seen is a stack compared with what it would be made of.
func seen(body string, change ...func(*steps.Create)) steps.Spec {
	spec := makes(body, change...)
	spec.Op = steps.OpDiff
	return spec
}

// What a stack would become is told, and nothing of the question stays.
func TestAStackIsCompared(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	compares := func(body string, want ...string) string {
		t.Helper()
		before := s.state(t, "web")
		var answer struct {
			Output struct {
				Diff    string
				Changed []string
			}
		}
		if err := json.Unmarshal([]byte(s.succeeds(t, seen(body))), &answer); err != nil {
			t.Fatal(err)
		}
		out := answer.Output
		if diff := cmp.Diff(want, out.Changed); diff != "" {
			t.Errorf("changed (-want +got):\n%s", diff)
		}
		s.is(t, before)
		if made, gone := s.Count("cloudformation:CreateChangeSet"), s.Count("cloudformation:DeleteChangeSet"); made != gone || s.Count("cloudformation:ExecuteChangeSet") > 0 {
			t.Errorf("%d change sets were made, and %d deleted", made, gone)
		}
		s.attempt++
		return out.Diff
	}
	compares(template("Sales"), "AWS::SNS::Topic/Sales")
	s.Await("cloudformation:DeleteStack", 1) // of the stack that the change set came with
	if kept := s.env.Provided(); kept.Own != nil {
		t.Errorf("it is kept that the execution has changed something: %+v", kept.Own)
	}
	named := func(value string) string {
		return "Resources:\n  Sales: {Type: 'AWS::SNS::Topic'}\n  Renamed: {Type: 'AWS::SNS::Topic', Properties: {DisplayName: " + value + "}}\n"
	}
	s.succeeds(t, makes(named("a")))
	if compares(named("a")); !strings.Contains(s.log(), "Nothing would change") {
		t.Errorf("the log is\n%s", s.log())
	}
	diff := compares(strings.Replace(named("b"), "Sales", "Bills", 1), "AWS::SNS::Topic/Bills", "AWS::SNS::Topic/Renamed", "AWS::SNS::Topic/Sales")
	if !strings.Contains(diff, `+  "replacement": "yes: another one takes its place"`) || strings.Count(diff, "replacement") != 1 {
		t.Errorf("the difference is\n%s", diff)
	}
	compares(named("a")+"Outputs:\n  Topic: {Value: !Ref Sales}\n", "Stack/web")
}

// A stack that holds nothing would be made anew, and one that is being changed
// can't be compared.
func TestStacksThatCantBeCompared(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.refused(t, makes(template("CrashSales")), "CrashSales")
	if got := s.succeeds(t, seen(template("Sales"))); !strings.Contains(got, "made anew") {
		t.Errorf("the outputs are %s", got)
	}
	s.Hold()
	name, body := "busy", template("SlowSales")
	if _, err := s.client().CreateStack(t.Context(), &awscfn.CreateStackInput{StackName: &name, TemplateBody: &body}); err != nil {
		t.Fatal(err)
	}
	busy := seen(template("Sales"))
	busy.Stack = name
	s.refused(t, busy, "stack busy is CREATE_IN_PROGRESS: how it would change isn't known")
	s.Go()
}

// Whatever goes wrong in the middle, no change set stays, and no stack.
func TestAComparisonThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		denied, body, want string
	}{
		"the changes can't be read": {denied: "cloudformation:DescribeChangeSet", body: template("Sales"), want: "DescribeChangeSet"},
		"it can't be made":          {denied: "cloudformation:CreateChangeSet", body: template("Sales"), want: "CreateChangeSet"},
		"capabilities are missing":  {body: "Resources:\n  R: {Type: 'AWS::IAM::Role', Properties: {AssumeRolePolicyDocument: {}}}\n", want: "CAPABILITY_IAM"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			if tt.denied != "" {
				s.Fail(tt.denied, testaws.Fault{Code: "AccessDenied", Message: "no", Times: -1})
			}
			s.refused(t, seen(tt.body), tt.want)
			out, err := s.client().ListStacks(t.Context(), &awscfn.ListStacksInput{StackStatusFilter: []types.StackStatus{types.StackStatusReviewInProgress}})
			if err != nil || len(out.StackSummaries) > 0 {
				t.Errorf("there are %v, %v", out.StackSummaries, err)
			}
		})
	}
}

// A stack that somebody else has begun with a change set of his stays, and values
// of parameters are told nowhere.
func TestAComparisonBesideAStrangersChangeSet(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	name, body := "web", template("Mine")
	if _, err := s.client().CreateChangeSet(t.Context(), &awscfn.CreateChangeSetInput{
		StackName: &name, ChangeSetName: sdk.String("mine"), ChangeSetType: types.ChangeSetTypeCreate, TemplateBody: &body,
	}); err != nil {
		t.Fatal(err)
	}
	got := s.succeeds(t, seen(parametered, func(c *steps.Create) {
		c.Overrides = []steps.Parameter{{Name: "Password", Value: "correct-horse", Secret: true}, {Name: "Color", Value: "correct-horse"}}
	}))
	if strings.Contains(got+s.log(), "correct-horse") {
		t.Errorf("the outputs are %s, the log\n%s", got, s.log())
	}
	if now := s.live(t, "web"); now == nil || now.StackStatus != types.StackStatusReviewInProgress {
		t.Errorf("the stack is %+v", now)
	}
	out, err := s.client().ListChangeSets(t.Context(), &awscfn.ListChangeSetsInput{StackName: &name})
	if err != nil || len(out.Summaries) != 1 {
		t.Errorf("the change sets are %+v, %v", out, err)
	}
}
