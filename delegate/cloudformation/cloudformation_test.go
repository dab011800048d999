package cloudformation_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/cloudformation"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/provision"
	steps "github.com/slipway-cd/slipway/pkg/provisioner/cloudformation"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/task"
)

// template has a topic of each name, and an output of the first.
func template(names ...string) string {
	text := "Resources:\n"
	for _, name := range names {
		text += "  " + name + ": {Type: 'AWS::SNS::Topic'}\n"
	}
	return text + "Outputs:\n  Topic: {Value: !Ref " + names[0] + "}\n"
}

// parametered shows its parameters as outputs.
const parametered = `
Parameters:
  Size: {Type: Number, Default: 1}
  Color: {Type: String}
  Password: {Type: String, NoEcho: true, Default: none}
Resources:
  Sales: {Type: 'AWS::SNS::Topic', Properties: {DisplayName: !Ref Color}}
Outputs:
  Size: {Value: !Ref Size}
  Color: {Value: !Ref Color}
`

// stage is an execution in an account, whose steps work by one provisioner.
type stage struct {
	*testaws.World
	do      executor.Executor
	env     *executortest.Env
	attempt int
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{World: testaws.NewWorld(t), env: executortest.New(t, nil), attempt: 1}
	s.UnderPolicy("../../docs/cloudformation.md", "cloudformation:DescribeStackResources", "cloudformation:UpdateTerminationProtection", "cloudformation:ListStacks", "cloudformation:ListChangeSets")
	s.env.Execution = "e1"
	s.do = s.with()
	return s
}

// with is a delegate with settings of the SDK.
func (s *stage) with(options ...func(*config.LoadOptions) error) executor.Executor {
	return cloudformation.New(cloudformation.Config{
		Accesses: &aws.Accesses{Options: append(options, config.WithBaseEndpoint(s.Endpoint))}, Pace: awswait.Every(10 * time.Millisecond),
	})
}

// next is another execution after this one.
func (s *stage) next(execution string) *stage {
	s.env.Execution = execution
	s.attempt = 1
	return s
}

// make is the creation of stack web of a template.
func makes(body string, change ...func(*steps.Create)) steps.Spec {
	c := &steps.Create{Template: &lane.Manifest{ID: "templateFile", Store: task.Store{Inline: body}}}
	for _, f := range change {
		f(c)
	}
	return steps.Spec{Op: steps.OpCreate, Create: c}
}

func (s *stage) assignment(t *testing.T, spec steps.Spec, by *provision.Provisioner) task.Assignment {
	t.Helper()
	spec.AWS = task.AWS{Auth: task.AWSKeys, AccessKey: "AKIA", SecretKey: "s", Region: testaws.Region}
	if spec.Stack == "" {
		spec.Stack = "web"
	}
	a := executortest.Work(t, steps.Kind, task.Work{Execution: s.env.Execution, Stage: "s1", Step: "n1", Provisioner: by}, spec, nil)
	a.Execution, a.Node, a.Attempt = s.env.Execution, "n1."+string(spec.Op), s.attempt
	return a
}

var own = &provision.Provisioner{Identifier: "web"} //nolint:gochecknoglobals // a constant

// does does a task.
func (s *stage) does(ctx context.Context, t *testing.T, spec steps.Spec) (task.Result, error) {
	t.Helper()
	return s.do(ctx, s.assignment(t, spec, own), s.env.Env)
}

func (s *stage) succeeds(t *testing.T, spec steps.Spec) string {
	t.Helper()
	r, err := s.does(t.Context(), t, spec)
	if err != nil || r.Status != task.Succeeded {
		t.Fatalf("%s is %s: %s, %v\n%s", spec.Op, r.Status, r.Message, err, s.log())
	}
	return string(r.Outputs)
}

func (s *stage) refused(t *testing.T, spec steps.Spec, want string) task.Result {
	t.Helper()
	r, err := s.does(t.Context(), t, spec)
	if err != nil || r.Status != task.Failed || !strings.Contains(r.Message, want) {
		t.Fatalf("%s is %s: %s, %v; want a failure with %q\n%s", spec.Op, r.Status, r.Message, err, want, s.log())
	}
	return r
}

// log is all that was said.
func (s *stage) log() string {
	text := ""
	for _, unit := range s.env.Units() {
		text += s.env.Text(unit, executor.Info) + s.env.Text(unit, executor.Error)
	}
	return text
}

func (s *stage) client() *awscfn.Client { return awscfn.NewFromConfig(s.Config()) }

// live is a stack; nil if there is none.
func (s *stage) live(t *testing.T, name string) *types.Stack {
	t.Helper()
	out, err := s.client().DescribeStacks(t.Context(), &awscfn.DescribeStacksInput{StackName: &name})
	if err != nil {
		if strings.Contains(err.Error(), "does not exist") {
			return nil
		}
		t.Fatal(err)
	}
	return &out.Stacks[0]
}

// state is what there is of a stack, for people.
func (s *stage) state(t *testing.T, name string) string {
	t.Helper()
	now := s.live(t, name)
	if now == nil {
		return "none"
	}
	out, err := s.client().DescribeStackResources(t.Context(), &awscfn.DescribeStackResourcesInput{StackName: &name})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range out.StackResources {
		if !strings.HasPrefix(string(r.ResourceStatus), "DELETE_") {
			names = append(names, sdk.ToString(r.LogicalResourceId))
		}
	}
	slices.Sort(names)
	text := strings.Join(names, " ")
	for _, p := range now.Parameters {
		text += " " + sdk.ToString(p.ParameterKey) + "=" + sdk.ToString(p.ParameterValue)
	}
	for _, tag := range now.Tags {
		text += " #" + sdk.ToString(tag.Key) + "=" + sdk.ToString(tag.Value)
	}
	return text
}

func (s *stage) is(t *testing.T, want string) {
	t.Helper()
	if got := s.state(t, "web"); got != want {
		t.Fatalf("the stack is %q; want %q\n%s", got, want, s.log())
	}
}

// A stack is made, updated, left as it is, taken back and deleted.
func TestAStackLives(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if got := s.succeeds(t, makes(template("Sales"))); !strings.Contains(got, `"Topic":"arn:aws:sns:`) || !strings.Contains(got, `"stackStatus":"CREATE_COMPLETE"`) {
		t.Errorf("the outputs are %s", got)
	}
	s.is(t, "Sales")
	if log := s.env.Text("Create Stack", executor.Info); strings.Count(log, "CREATE_COMPLETE AWS::SNS::Topic Sales") != 1 {
		t.Errorf("the log is\n%s", log)
	}
	s.next("e2").succeeds(t, makes(template("Sales", "Bills")))
	s.is(t, "Bills Sales")
	s.attempt++
	if s.succeeds(t, makes(template("Sales", "Bills"))); !strings.Contains(s.log(), "nothing is updated") {
		t.Errorf("the log is\n%s", s.log())
	}
	s.succeeds(t, steps.Spec{Op: steps.OpRollback})
	s.is(t, "Sales")
	s.next("e3").succeeds(t, steps.Spec{Op: steps.OpRollback}) // it has changed nothing
	s.is(t, "Sales")
	s.succeeds(t, makes(template("Sales", "Mails")))
	s.succeeds(t, steps.Spec{Op: steps.OpRollback}) // to what the rollback of e2 has left
	s.is(t, "Sales")
	s.next("e4")
	for range 2 {
		s.succeeds(t, steps.Spec{Op: steps.OpDelete})
		s.is(t, "none")
	}
	s.next("e5").succeeds(t, makes(template("Sales")))
	s.succeeds(t, steps.Spec{Op: steps.OpRollback}) // what was deleted before doesn't come back
	s.is(t, "none")
}

// What this execution hasn't made isn't deleted by its rollback, though no
// execution before knows it.
func TestRollbackOfAStrangersStack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	name, body := "web", template("Old")
	if _, err := s.client().CreateStack(t.Context(), &awscfn.CreateStackInput{
		StackName: &name, TemplateBody: &body, Tags: []types.Tag{{Key: sdk.String("team"), Value: sdk.String("a")}},
	}); err != nil {
		t.Fatal(err)
	}
	s.Pass(time.Minute)
	s.Go()
	before := s.state(t, "web")
	s.succeeds(t, makes(template("New"), func(c *steps.Create) {
		c.Tags = &lane.Manifest{Store: task.Store{Inline: "[{key: team, value: b}, {Key: more, Value: c}]"}}
	}))
	s.is(t, "New #team=b #more=c")
	s.succeeds(t, steps.Spec{Op: steps.OpRollback})
	s.is(t, before)
}

// What the template's parameters are comes from files and overrides, the later of
// which win; what the template doesn't know is told and left out.
// A rollback takes nothing back that another execution has made since, and what its
// own has made also where another one has come and gone.
func TestRollbackAfterAnotherDeployment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		between func(t *testing.T, s *stage)
		want    string
	}{
		"which stays": {func(t *testing.T, s *stage) {
			t.Helper()
			s.next("e3").succeeds(t, makes(template("Theirs")))
		}, "Theirs"},
		"which was taken back": {func(t *testing.T, s *stage) {
			t.Helper()
			s.next("e3").succeeds(t, makes(template("Theirs")))
			s.succeeds(t, steps.Spec{Op: steps.OpRollback})
			s.is(t, "New")
		}, "Old"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.succeeds(t, makes(template("Old")))
			s.next("e2").succeeds(t, makes(template("New")))
			c.between(t, s)
			s.next("e2").succeeds(t, steps.Spec{Op: steps.OpRollback})
			s.is(t, c.want)
		})
	}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	file := func(text string) lane.Manifest { return lane.Manifest{ID: "p", Store: task.Store{Inline: text}} }
	for name, tt := range map[string]struct {
		files     []lane.Manifest
		overrides []steps.Parameter
		want      string // of the stack, or of the failure
		fails     bool
	}{
		"the form of AWS":            {[]lane.Manifest{file(`[{"ParameterKey": "Color", "ParameterValue": "red"}]`)}, nil, "Sales Size=1 Color=red Password=****", false},
		"a mapping":                  {[]lane.Manifest{file("Color: red\nSize: 2")}, nil, "Sales Size=2 Color=red Password=****", false},
		"later files win":            {[]lane.Manifest{file("Color: red\nSize: 2"), file("- {parameterKey: Color, parameterValue: blue}")}, nil, "Sales Size=2 Color=blue Password=****", false},
		"overrides win":              {[]lane.Manifest{file("Color: red")}, []steps.Parameter{{Name: "Color", Value: "green"}, {Name: "Password", Value: "correct-horse", Secret: true}}, "Sales Size=1 Color=green Password=****", false},
		"unknown ones are left out":  {[]lane.Manifest{file("Color: red\nShape: round")}, nil, "Sales Size=1 Color=red Password=****", false},
		"missing ones":               {nil, nil, "parameters Color have no value", true},
		"a list for a value":         {[]lane.Manifest{file("Color: [red]")}, nil, "p:1: Color: want a single value", true},
		"an unknown member":          {[]lane.Manifest{file("[{ParameterKey: Color, Value: red}]")}, nil, "Value: AWS knows no such member", true},
		"a value that is to be kept": {[]lane.Manifest{file("[{ParameterKey: Color, UsePreviousValue: true}]")}, nil, "the parameter Color is to keep its value", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			spec := makes(parametered, func(c *steps.Create) { c.Parameters, c.Overrides = tt.files, tt.overrides })
			if tt.fails {
				s.refused(t, spec, tt.want)
				if n := s.Count("cloudformation:CreateStack"); n > 0 {
					t.Errorf("the stack was made %d times", n)
				}
				return
			}
			s.succeeds(t, spec)
			s.is(t, tt.want)
			if log := s.log(); strings.Contains(log, "correct-horse") || strings.Contains(log, "Shape; it is left out") != (name == "unknown ones are left out") {
				t.Errorf("the log is\n%s", log)
			}
		})
	}
}

// A step waits for the one that works by its provisioner, before it looks at the
// stack.
func TestAStepWaitsForOthersOfItsProvisioner(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	asked := 0
	s.env.Alone = func(context.Context) (string, error) {
		if asked++; asked < 3 {
			if n := s.Count("cloudformation:DescribeStacks"); n > 0 {
				t.Errorf("the stack is looked at %d times while it isn't the step's turn", n)
			}
			return "e0", nil
		}
		return "", nil
	}
	if s.succeeds(t, makes(template("Sales"))); asked != 3 || !strings.Contains(s.env.Text("Wait for Others", executor.Info), "Execution e0 works by the provisioner web") {
		t.Errorf("it has asked %d times; the log is\n%s", asked, s.log())
	}
	s.env.Alone = func(context.Context) (string, error) {
		return "", fault.New(fault.LeaseLost, "it isn't the delegate's any more")
	}
	s.attempt++
	if _, err := s.does(t.Context(), t, makes(template("Sales"))); err == nil && s.Count("cloudformation:UpdateStack") > 0 {
		t.Error("it goes on without its turn")
	}
	s.is(t, "Sales")
}
