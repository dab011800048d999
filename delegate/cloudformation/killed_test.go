package cloudformation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	smithymiddleware "github.com/aws/smithy-go/middleware"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/fault"
	steps "github.com/slipway-cd/slipway/pkg/provisioner/cloudformation"
	"github.com/slipway-cd/slipway/pkg/task"
)

// killed does a task until the delegate is killed.
func (s *stage) killed(t *testing.T, k *testaws.Killer, spec steps.Spec) {
	t.Helper()
	do := s.with(config.WithAPIOptions([]func(*smithymiddleware.Stack) error{k.Add}))
	r, err := do(k.Living(t.Context()), s.assignment(t, spec, own), s.env.Env)
	if k.At == 0 && err != nil {
		t.Fatalf("%s is %s: %s, %v\n%s", spec.Op, r.Status, r.Message, err, s.log())
	}
	if k.At > 0 && err == nil {
		t.Errorf("killed at %d, %s is %s: %s", k.At, spec.Op, r.Status, r.Message)
	}
}

// Killed before and after every call that changes something, a step that is tried
// again comes to the same end, and a rollback to what was there before.
func TestKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	rollback := steps.Spec{Op: steps.OpRollback}
	nothing := func(*testing.T, *stage) {}
	made := func(t *testing.T, s *stage) {
		t.Helper()
		s.succeeds(t, makes(template("Sales")))
		s.next("e2")
	}
	failed := func(t *testing.T, s *stage) {
		t.Helper()
		s.refused(t, makes(template("Sales", "CrashBills")), "CrashBills")
		s.next("e2")
	}
	changed := func(t *testing.T, s *stage) {
		t.Helper()
		made(t, s)
		s.succeeds(t, makes(template("Sales", "Bills")))
	}
	for name, tt := range map[string]struct {
		first func(*testing.T, *stage) // what was there before
		spec  steps.Spec
		after string
		back  string // after a rollback; empty: none is made
	}{
		"a creation":                  {nothing, makes(template("Sales")), "Sales", "none"},
		"after a creation that fails": {failed, makes(template("Sales")), "Sales", "none"},
		"an update":                   {made, makes(template("Sales", "Bills")), "Bills Sales", "Sales"},
		"a deletion":                  {made, steps.Spec{Op: steps.OpDelete}, "none", "Sales"},
		"a rollback":                  {changed, rollback, "Sales", ""},
		"a rollback of a creation": {func(t *testing.T, s *stage) {
			t.Helper()
			s.succeeds(t, makes(template("Sales")))
		}, rollback, "none", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fresh := func(t *testing.T) *stage {
				t.Helper()
				s := newStage(t)
				tt.first(t, s)
				return s
			}
			whole, k := fresh(t), &testaws.Killer{}
			whole.killed(t, k, tt.spec)
			whole.is(t, tt.after)
			if len(k.Calls) == 0 {
				t.Fatal("the step changes nothing")
			}
			for n, call := range k.Calls {
				for _, early := range []bool{true, false} {
					when := map[bool]string{true: "before", false: "after"}[early]
					t.Run(fmt.Sprintf("%s %d %s", when, n+1, call), func(t *testing.T) {
						t.Parallel()
						s := fresh(t)
						s.killed(t, &testaws.Killer{At: n + 1, Before: early}, tt.spec)
						s.attempt++
						s.succeeds(t, tt.spec)
						s.is(t, tt.after)
						if tt.back == "" {
							return
						}
						s.succeeds(t, rollback)
						s.is(t, tt.back)
					})
					if tt.back == "" {
						continue
					}
					t.Run(fmt.Sprintf("%s %d %s, taken back at once", when, n+1, call), func(t *testing.T) {
						t.Parallel()
						s := fresh(t)
						s.killed(t, &testaws.Killer{At: n + 1, Before: early}, tt.spec)
						s.succeeds(t, rollback)
						if name == "after a creation that fails" && early && n == 0 {
							s.is(t, "none") // what held nothing goes too
							return
						}
						s.is(t, tt.back)
					})
				}
			}
		})
	}
}

// The statuses in which a stack is found, and in which it ends.
func TestStatuses(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if r := s.refused(t, makes(template("Sales", "CrashBills", "Mails")), `is ROLLBACK_COMPLETE: CrashBills (AWS::SNS::Topic): Resource handler returned message`); len(r.FailureTypes) != 1 || r.FailureTypes[0] != fault.Unknown {
		t.Errorf("it failed by %v", r.FailureTypes)
	}
	s.next("e2").succeeds(t, makes(template("Sales")))
	if deletes, creates := s.Count("cloudformation:DeleteStack"), s.Count("cloudformation:CreateStack"); deletes != 1 || creates != 2 {
		t.Errorf("it was deleted %d times and made %d times; want 1 and 2", deletes, creates)
	}
	s.next("e3")
	s.refused(t, makes(template("Sales", "CrashBills")), "is UPDATE_ROLLBACK_COMPLETE: CrashBills")
	s.attempt++
	if got := s.succeeds(t, makes(template("Sales", "CrashBills"), func(c *steps.Create) { c.Enough = []string{"UPDATE_ROLLBACK_COMPLETE"} })); !strings.Contains(got, `"stackStatus":"UPDATE_ROLLBACK_COMPLETE"`) || !strings.Contains(got, `"Topic":"arn`) {
		t.Errorf("the outputs are %s", got)
	}
	s.is(t, "Sales")
	s.succeeds(t, steps.Spec{Op: steps.OpRollback}) // CloudFormation has taken it back
	s.is(t, "Sales")
	s.refused(t, makes("Resources:\n"+strings.Repeat("# much\n", 8000)), "at most 51,200 with a request")
	s.attempt++
	s.refused(t, makes("Resources: {Role: {Type: 'AWS::IAM::Role', Properties: {AssumeRolePolicyDocument: {}}}}\nOutputs: {}"), "CAPABILITY_IAM")
}

// A task that comes again goes on where it was: nothing is updated twice.
func TestDeliveredAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.succeeds(t, makes(template("Sales")))
	s.next("e2")
	for range 2 {
		s.refused(t, makes(template("Sales", "CrashBills")), "is UPDATE_ROLLBACK_COMPLETE: CrashBills")
	}
	s.attempt++
	for range 2 {
		s.succeeds(t, makes(template("Sales", "Bills")))
	}
	if n := s.Count("cloudformation:UpdateStack"); n != 2 {
		t.Errorf("the stack was updated %d times; want 2", n)
	}
	s.is(t, "Bills Sales")
}

// What somebody else does is neither waited for nor disturbed, but for a rollback.
func TestSomebodyElsesOperation(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.succeeds(t, makes(template("Sales")))
	s.next("e2")
	name, body, token := "web", template("Sales", "SlowBills"), "theirs"
	s.Hold()
	if _, err := s.client().UpdateStack(t.Context(), &awscfn.UpdateStackInput{StackName: &name, TemplateBody: &body, ClientRequestToken: &token}); err != nil {
		t.Fatal(err)
	}
	s.refused(t, makes(template("Sales", "Mails")), "is being changed by another operation: it is UPDATE_IN_PROGRESS, by a call with the token theirs")
	s.refused(t, steps.Spec{Op: steps.OpDelete}, "is being changed by another operation")
	s.Go()
}

// A stack that can't be deleted says why.
func TestUndeletable(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.succeeds(t, makes(template("Sales", "StickyBills")))
	s.next("e2").refused(t, steps.Spec{Op: steps.OpDelete}, "is DELETE_FAILED: StickyBills (AWS::SNS::Topic): Resource handler returned message")
	s.refused(t, makes(template("Sales")), "is DELETE_FAILED, in which CloudFormation doesn't update it: delete it again")
}

// Calls that are denied, or that are too many, and answers that get lost.
func TestDeniedAndThrottled(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Fail("cloudformation:CreateStack", testaws.Fault{Code: "AccessDenied", Message: "User is not authorized to perform: cloudformation:CreateStack", Times: 1})
	if r := s.refused(t, makes(template("Sales")), "cloudformation:CreateStack: AccessDenied"); r.FailureTypes[0] != fault.Authorization || !strings.Contains(r.Message, "the caller is arn:aws:") {
		t.Errorf("it failed by %v: %s", r.FailureTypes, r.Message)
	}
	s.succeeds(t, steps.Spec{Op: steps.OpRollback})
	s.is(t, "none")
	s.next("e2")
	s.Throttle("cloudformation:DescribeStacks", 3)
	s.Fail("cloudformation:CreateStack", testaws.Fault{Cut: testaws.CutAfter, Times: 1})
	s.succeeds(t, makes(template("Sales")))
	s.Fail("cloudformation:UpdateStack", testaws.Fault{Cut: testaws.CutAfter, Times: 1})
	s.attempt++
	s.succeeds(t, makes(template("Sales", "Bills")))
	s.is(t, "Bills Sales")
	for operation, spec := range map[string]steps.Spec{"UpdateStack": makes(template("Sales", "Mails")), "DeleteStack": {Op: steps.OpDelete}} {
		s.next("e3 " + operation)
		s.Fail("cloudformation:"+operation, testaws.Fault{Code: "AccessDenied", Message: "User is not authorized to perform: cloudformation:" + operation, Times: 1})
		s.refused(t, spec, "cloudformation:"+operation+": AccessDenied")
		s.succeeds(t, steps.Spec{Op: steps.OpRollback})
		s.is(t, "Bills Sales")
	}
}

// A step whose time is up says how things stood; one that is aborted changes
// nothing any more. CloudFormation goes on in both cases, until the rollback.
func TestStopped(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.succeeds(t, makes(template("Sales")))
	s.next("e2")
	s.Hold()
	r, err := s.does(executortest.Ending(t.Context(), 2*time.Second), t, makes(template("Sales", "Bills")))
	if err != nil || r.Status != task.Failed || r.FailureTypes[0] != fault.Timeout || !strings.Contains(r.Message, "is UPDATE_IN_PROGRESS") {
		t.Errorf("got %+v, %v; want a timeout with the last status", r, err)
	}
	s.Go()
	s.succeeds(t, steps.Spec{Op: steps.OpRollback})
	s.is(t, "Sales")
	s.next("e3")
	s.Hold()
	aborted, abort := context.WithCancelCause(t.Context())
	updates := s.Count("cloudformation:UpdateStack")
	go func() {
		s.Await("cloudformation:UpdateStack", updates+1)
		abort(executor.ErrCancelled)
	}()
	if _, err := s.does(aborted, t, makes(template("Sales", "Mails"))); !errors.Is(err, executor.ErrCancelled) {
		t.Errorf("got %v; want that it was cancelled", err)
	}
	s.Go()
	s.succeeds(t, steps.Spec{Op: steps.OpRollback})
	s.is(t, "Sales")
}

// A secret is neither in the log nor in what is kept, and a rollback leaves what
// the stack has.
func TestSecretsOfStacks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.env.Mask("correct-horse")
	colored := func(color string) steps.Spec {
		return makes(parametered, func(c *steps.Create) {
			c.Overrides = []steps.Parameter{{Name: "Color", Value: color}, {Name: "Password", Value: "correct-horse", Secret: true}}
		})
	}
	s.succeeds(t, colored("red"))
	s.next("e2").succeeds(t, colored("a correct-horse one"))
	known := s.env.Provided()
	for _, kept := range [][]byte{known.Own.Before, known.Own.Inputs, known.Earlier.Before, known.Earlier.Inputs} {
		if strings.Contains(string(kept), "correct-horse") {
			t.Errorf("it is kept: %s", kept)
		}
	}
	if strings.Contains(s.log(), "correct-horse") {
		t.Errorf("the log is\n%s", s.log())
	}
	s.succeeds(t, steps.Spec{Op: steps.OpRollback})
	s.is(t, "Sales Size=1 Color=red Password=****")
	calls := s.CallsOf("cloudformation:UpdateStack")
	var in awscfn.UpdateStackInput
	calls[len(calls)-1].Decode(t, &in)
	for _, p := range in.Parameters {
		if *p.ParameterKey == "Password" && (p.UsePreviousValue == nil || !*p.UsePreviousValue) {
			t.Errorf("the password is set to %v", p.ParameterValue)
		}
	}
}
