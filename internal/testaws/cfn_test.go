package testaws_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testaws"
)

// stacks is the CloudFormation of a world whose time is held.
type stacks struct {
	*cloudformation.Client
	world *testaws.World
}

func newStacks(t *testing.T) stacks {
	t.Helper()
	w := testaws.NewWorld(t)
	w.Hold()
	return stacks{
		Client: cloudformation.NewFromConfig(w.Config(), func(o *cloudformation.Options) { o.RetryMaxAttempts = 1 }), world: w,
	}
}

// template has a topic of each name, and an output of the first.
func template(names ...string) *string {
	text := []string{"Resources:"}
	for _, name := range names {
		text = append(text, "  "+name+": {Type: 'AWS::SNS::Topic'}")
	}
	return aws.String(strings.Join(append(text, "Outputs:", "  Topic: {Value: !Ref "+names[0]+"}"), "\n"))
}

func (s stacks) create(t *testing.T, name string, body *string) string {
	t.Helper()
	out, err := s.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: body, ClientRequestToken: aws.String("made")})
	if err != nil {
		t.Fatal(err)
	}
	return *out.StackId
}

func (s stacks) update(t *testing.T, name string, body *string) error {
	t.Helper()
	_, err := s.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: &name, TemplateBody: body, ClientRequestToken: body})
	return err
}

// status is a stack's status and how many outputs it has.
func (s stacks) status(t *testing.T, name string) string {
	t.Helper()
	out, err := s.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
	if err != nil {
		return err.Error()[strings.LastIndex(err.Error(), "ValidationError"):]
	}
	return fmt.Sprintf("%s %d", out.Stacks[0].StackStatus, len(out.Stacks[0].Outputs))
}

// events are those of a stack, oldest first.
func (s stacks) events(t *testing.T, name string) []string {
	t.Helper()
	out, err := s.DescribeStackEvents(t.Context(), &cloudformation.DescribeStackEventsInput{StackName: &name})
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	for _, e := range out.StackEvents {
		text := *e.LogicalResourceId + " " + string(e.ResourceStatus)
		if strings.HasSuffix(string(e.ResourceStatus), "_FAILED") {
			text += ": " + aws.ToString(e.ResourceStatusReason)
		}
		events = append([]string{text}, events...)
	}
	return events
}

// A stack is made in time, with an event of each resource and the token, and
// has outputs then; what doesn't change it is refused.
func TestStack(t *testing.T) {
	t.Parallel()
	s := newStacks(t)
	id := s.create(t, "shop", template("Orders"))
	if again := s.create(t, "shop", template("Orders")); again != id {
		t.Errorf("the same token makes %s, want %s", again, id)
	}
	_, err := s.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("shop"), TemplateBody: template("Orders")})
	wantCode(t, "the name again", err, "AlreadyExistsException")
	got := []string{s.status(t, "shop")}
	wantCode(t, "an update meanwhile", s.update(t, "shop", template("Orders", "Bills")), "ValidationError")
	s.world.Pass(time.Minute)
	got = append(got, s.status(t, "shop"))
	if err := s.update(t, "shop", template("Orders")); err == nil || !strings.Contains(err.Error(), "No updates are to be performed.") {
		t.Errorf("the same template: %v", err)
	}
	wantCode(t, "an update", s.update(t, "shop", template("Orders", "Bills")), "")
	wantCode(t, "the update again", s.update(t, "shop", template("Orders", "Bills")), "")
	got = append(got, s.status(t, "shop"))
	s.world.Pass(time.Minute)
	got = append(got, s.status(t, "shop"))
	if d := cmp.Diff([]string{"CREATE_IN_PROGRESS 0", "CREATE_COMPLETE 1", "UPDATE_IN_PROGRESS 1", "UPDATE_COMPLETE 1"}, got); d != "" {
		t.Errorf("statuses (-want +got):\n%s", d)
	}
	want := []string{
		"shop CREATE_IN_PROGRESS", "Orders CREATE_IN_PROGRESS", "Orders CREATE_COMPLETE", "shop CREATE_COMPLETE",
		"shop UPDATE_IN_PROGRESS", "Bills CREATE_IN_PROGRESS", "Bills CREATE_COMPLETE", "shop UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
		"shop UPDATE_COMPLETE",
	}
	if d := cmp.Diff(want, s.events(t, "shop")); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	out, err := s.DescribeStackEvents(t.Context(), &cloudformation.DescribeStackEventsInput{StackName: &id})
	if err != nil || aws.ToString(out.StackEvents[len(out.StackEvents)-1].ClientRequestToken) != "made" {
		t.Errorf("the first event has the token %s, %v", aws.ToString(out.StackEvents[len(out.StackEvents)-1].ClientRequestToken), err)
	}
	for range 2 {
		if _, err := s.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("shop")}); err != nil {
			t.Fatal(err)
		}
		s.world.Pass(time.Minute)
	}
	if got := s.status(t, id); got != "DELETE_COMPLETE 0" {
		t.Errorf("deleted: %s", got)
	}
	if got := s.status(t, "shop"); !strings.Contains(got, "Stack with id shop does not exist") {
		t.Errorf("by its name: %s", got)
	}
}

// What can't be made is undone, and the root cause is among the events.
func TestStackFailures(t *testing.T) {
	t.Parallel()
	const crash = `CrashBills CREATE_FAILED: Resource handler returned message: "CrashBills can't be %s" (HandlerErrorCode: GeneralServiceException)`
	s := newStacks(t)
	s.create(t, "new", template("Orders", "CrashBills", "Mails"))
	s.world.Pass(time.Minute)
	want := []string{
		"new CREATE_IN_PROGRESS", "Orders CREATE_IN_PROGRESS", "CrashBills CREATE_IN_PROGRESS", "Mails CREATE_IN_PROGRESS",
		"Orders CREATE_COMPLETE", fmt.Sprintf(crash, "made"), "Mails CREATE_FAILED: Resource creation cancelled",
		"new ROLLBACK_IN_PROGRESS", "Orders DELETE_COMPLETE", "new ROLLBACK_COMPLETE",
	}
	if d := cmp.Diff(want, s.events(t, "new")); d != "" {
		t.Errorf("events of a new stack (-want +got):\n%s", d)
	}
	wantCode(t, "an update of it", s.update(t, "new", template("Orders")), "ValidationError")
	s.create(t, "old", template("Orders", "StickyMails"))
	s.world.Pass(time.Minute)
	wantCode(t, "an update", s.update(t, "old", template("Orders", "StickyMails", "CrashBills")), "")
	s.world.Pass(time.Minute)
	if got := s.status(t, "old"); got != "UPDATE_ROLLBACK_COMPLETE 1" {
		t.Errorf("after the update: %s", got)
	}
	body, err := s.GetTemplate(t.Context(), &cloudformation.GetTemplateInput{StackName: aws.String("old")})
	if err != nil || strings.Contains(aws.ToString(body.TemplateBody), "CrashBills") {
		t.Errorf("its template: %s, %v", aws.ToString(body.TemplateBody), err)
	}
	remove := func(retained ...string) {
		t.Helper()
		if _, err := s.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("old"), RetainResources: retained}); err != nil {
			t.Fatal(err)
		}
		s.world.Pass(time.Minute)
	}
	remove()
	if got := s.status(t, "old"); got != "DELETE_FAILED 0" {
		t.Errorf("after the deletion: %s", got)
	}
	remove("StickyMails")
	if got := s.status(t, "old"); !strings.Contains(got, "does not exist") {
		t.Errorf("without what sticks: %s", got)
	}
}

// CreateStack checks parameters, capabilities and the template's length;
// protected stacks aren't deleted, and secrets aren't shown.
func TestStackChecks(t *testing.T) {
	t.Parallel()
	s := newStacks(t)
	secret := aws.String("Parameters: {Key: {Type: String, NoEcho: true}, Size: {Type: String, Default: small}}\n" + *template("Orders"))
	role := aws.String("Resources: {Role: {Type: 'AWS::IAM::Role', Properties: {RoleName: x, AssumeRolePolicyDocument: {}}}}")
	parameter := func(name string) []types.Parameter {
		return []types.Parameter{{ParameterKey: &name, ParameterValue: aws.String("small")}}
	}
	tests := []struct {
		name string
		in   cloudformation.CreateStackInput
		code string
		want string
	}{
		{name: "no parameter", in: cloudformation.CreateStackInput{TemplateBody: secret}, code: "ValidationError", want: "Parameters: [Key] must have values"},
		{
			name: "another parameter", in: cloudformation.CreateStackInput{TemplateBody: secret, Parameters: append(parameter("Key"), parameter("Color")...)},
			code: "ValidationError", want: "Parameters: [Color] do not exist in the template",
		},
		{
			name: "a capability", in: cloudformation.CreateStackInput{TemplateBody: role, Capabilities: []types.Capability{types.CapabilityCapabilityIam}},
			code: "InsufficientCapabilitiesException", want: "Requires capabilities : [CAPABILITY_NAMED_IAM]",
		},
		{name: "too long", in: cloudformation.CreateStackInput{TemplateBody: aws.String(strings.Repeat("#", 51201))}, code: "ValidationError", want: "51200"},
		{name: "no resources", in: cloudformation.CreateStackInput{TemplateBody: aws.String("Outputs: {}")}, code: "ValidationError", want: "At least one Resources member"},
		{name: "as it has to be", in: cloudformation.CreateStackInput{
			TemplateBody: secret, Parameters: parameter("Key"), EnableTerminationProtection: aws.Bool(true),
		}},
	}
	for _, tt := range tests {
		tt.in.StackName = aws.String("shop")
		_, err := s.CreateStack(t.Context(), &tt.in)
		wantCode(t, tt.name, err, tt.code)
		if err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	s.world.Pass(time.Minute)
	_, err := s.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("shop")})
	wantCode(t, "delete a protected stack", err, "ValidationError")
	out, err := s.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("shop")})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range out.Stacks[0].Parameters {
		got[*p.ParameterKey] = *p.ParameterValue
	}
	if d := cmp.Diff(map[string]string{"Key": "****", "Size": "small"}, got); d != "" {
		t.Errorf("parameters (-want +got):\n%s", d)
	}
	summary, err := s.GetTemplateSummary(t.Context(), &cloudformation.GetTemplateSummaryInput{TemplateBody: role})
	if err != nil || len(summary.Capabilities) != 1 || summary.ResourceTypes[0] != "AWS::IAM::Role" {
		t.Errorf("the summary: %+v, %v", summary, err)
	}
	_, err = s.ValidateTemplate(t.Context(), &cloudformation.ValidateTemplateInput{TemplateBody: secret})
	wantCode(t, "a template with a parameter that isn't used", err, "")
}

// A name is exported by one stack.
func TestStackExports(t *testing.T) {
	t.Parallel()
	s := newStacks(t)
	body := aws.String(*template("Orders") + "\n  Shared: {Value: x, Export: {Name: shared}}")
	s.create(t, "first", body)
	s.create(t, "second", body)
	s.world.Pass(time.Minute)
	if got := []string{s.status(t, "first"), s.status(t, "second")}; !slices.Equal(got, []string{"CREATE_COMPLETE 2", "ROLLBACK_COMPLETE 0"}) {
		t.Errorf("stacks that export one name: %s", got)
	}
}

// Change sets belong to a stack, tell when nothing changes, and what they make
// has outputs.
func TestChangeSet(t *testing.T) {
	t.Parallel()
	s := newStacks(t)
	propose := func(stack string, kind types.ChangeSetType, body *string) *cloudformation.DescribeChangeSetOutput {
		t.Helper()
		_, err := s.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
			StackName: &stack, ChangeSetName: aws.String("plan"), ChangeSetType: kind, TemplateBody: body,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.world.Pass(10 * time.Second)
		out, err := s.DescribeChangeSet(t.Context(), &cloudformation.DescribeChangeSetInput{StackName: &stack, ChangeSetName: aws.String("plan")})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	s.create(t, "other", template("Bills"))
	s.world.Pass(time.Minute)
	same := propose("other", types.ChangeSetTypeUpdate, template("Bills"))
	if same.Status != types.ChangeSetStatusFailed || !strings.Contains(aws.ToString(same.StatusReason), "didn't contain changes") {
		t.Errorf("without changes: %s %s", same.Status, aws.ToString(same.StatusReason))
	}
	first := propose("shop", types.ChangeSetTypeCreate, template("Orders"))
	if first.Status != types.ChangeSetStatusCreateComplete || len(first.Changes) != 1 || s.status(t, "shop") != "REVIEW_IN_PROGRESS 0" {
		t.Errorf("a new stack: %s, %d changes, %s", first.Status, len(first.Changes), s.status(t, "shop"))
	}
	execute := func() error {
		_, err := s.ExecuteChangeSet(t.Context(), &cloudformation.ExecuteChangeSetInput{StackName: aws.String("shop"), ChangeSetName: aws.String("plan")})
		return err
	}
	wantCode(t, "execute", execute(), "")
	wantCode(t, "execute again", execute(), "InvalidChangeSetStatus")
	s.world.Pass(time.Minute)
	if got := s.status(t, "shop"); got != "CREATE_COMPLETE 1" {
		t.Errorf("executed: %s", got)
	}
}
