package cloudformation_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/slipway-cd/slipway/internal/testaws"
	steps "github.com/slipway-cd/slipway/pkg/provisioner/cloudformation"
)

// proposes is the change set of what CreateStack makes.
func proposes(spec steps.Spec) steps.Spec {
	spec.Op = steps.OpChangeSet
	return spec
}

// proposed reads what expressions read of one.
func proposed(t *testing.T, doc string) (out struct {
	Output struct {
		Diff        string
		Changed     []string
		HasChanges  bool
		ChangeSetID string
		StackID     string
	}
}) {
	t.Helper()
	if err := json.Unmarshal([]byte(doc), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// sets are the change sets that stack web has.
func (s *stage) sets(t *testing.T) int {
	t.Helper()
	out, err := s.client().ListChangeSets(t.Context(), &awscfn.ListChangeSetsInput{StackName: sdk.String("web")})
	if err != nil {
		t.Fatal(err)
	}
	return len(out.Summaries)
}

// hidden is a stack with a parameter that is a secret.
func hidden(names ...string) steps.Spec {
	return makes("Parameters:\n  Password: {Type: String, NoEcho: true}\n"+template(names...), func(c *steps.Create) {
		c.Overrides = []steps.Parameter{{Name: "Password", Value: "correct-horse", Secret: true}}
	})
}

// What was shown is executed, of a stack that isn't there as of one that is, and
// nothing else; what is taken back is what was there before.
func TestAChangeSetIsShownAndExecuted(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.env.Mask("correct-horse")
	first := hidden("Sales")
	out := proposed(t, s.succeeds(t, proposes(first))).Output
	if !out.HasChanges || strings.Join(out.Changed, " ") != "AWS::SNS::Topic/Sales" || !strings.Contains(out.ChangeSetID, ":changeSet/") || out.StackID == "" {
		t.Errorf("the outputs are %+v", out)
	}
	if now := s.live(t, "web"); now == nil || now.StackStatus != types.StackStatusReviewInProgress {
		t.Errorf("before it is executed the stack is %+v", now)
	}
	s.succeeds(t, first)
	s.is(t, "Sales Password=****")
	s.next("e2")
	s.succeeds(t, proposes(hidden("Sales", "Bills")))
	s.is(t, "Sales Password=****")
	s.succeeds(t, hidden("Sales", "Bills"))
	s.is(t, "Bills Sales Password=****")
	if s.Count("cloudformation:CreateStack")+s.Count("cloudformation:UpdateStack") != 0 || s.Count("cloudformation:ExecuteChangeSet") != 2 {
		t.Error("the stack wasn't changed by its change sets alone")
	}
	s.succeeds(t, steps.Spec{Op: steps.OpRollback})
	s.is(t, "Sales Password=****")
	for _, kept := range s.env.Kept() {
		if strings.Contains(string(kept.Data), "correct-horse") {
			t.Errorf("kept is %s", kept.Data)
		}
	}
	if strings.Contains(s.log(), "correct-horse") {
		t.Error("the log has the secret")
	}
}

// Once the stack, or what the step wants, is another than was shown, nothing is
// done; another change set that is shown makes it good.
func TestAChangeAfterwardsVoidsTheChangeSet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		between func(t *testing.T, s *stage)
		then    steps.Spec
		want    string
	}{
		"the stack": {func(t *testing.T, s *stage) {
			t.Helper()
			body := template("Theirs")
			if _, err := s.client().UpdateStack(t.Context(), &awscfn.UpdateStackInput{StackName: sdk.String("web"), TemplateBody: &body}); err != nil {
				t.Fatal(err)
			}
			s.Pass(time.Minute)
			s.Go()
		}, makes(template("New")), "stack web has changed since its change set was made: nothing is changed"},
		"the template": {nil, makes(template("Other")), "was made of another template"},
		"a parameter": {nil, makes("Parameters:\n  A: {Type: String, Default: x}\n"+template("New"), func(c *steps.Create) {
			c.Overrides = []steps.Parameter{{Name: "A", Value: "y"}}
		}), "was made of another template, or of other parameters"},
		"the change set": {func(t *testing.T, s *stage) {
			t.Helper()
			out, err := s.client().ListChangeSets(t.Context(), &awscfn.ListChangeSetsInput{StackName: sdk.String("web")})
			if err == nil {
				_, err = s.client().DeleteChangeSet(t.Context(), &awscfn.DeleteChangeSetInput{ChangeSetName: out.Summaries[0].ChangeSetId})
			}
			if err != nil {
				t.Fatal(err)
			}
		}, makes(template("New")), "can't be executed any more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.succeeds(t, makes(template("Old")))
			s.next("e2").succeeds(t, proposes(makes(template("New"))))
			if c.between != nil {
				c.between(t, s)
			}
			before := s.state(t, "web")
			s.refused(t, c.then, c.want)
			s.is(t, before)
			s.attempt++
			s.succeeds(t, proposes(c.then))
			s.succeeds(t, c.then)
			s.is(t, map[bool]string{true: "Other", false: "New"}[name == "the template"]+map[bool]string{true: " A=y"}[name == "a parameter"])
		})
	}
}

// What nobody has executed is taken back: the change set, and a stack that was made
// for it.
func TestAChangeSetThatIsRejected(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.succeeds(t, proposes(makes(template("Sales"))))
	s.succeeds(t, steps.Spec{Op: steps.OpRollback})
	if now := s.live(t, "web"); now != nil {
		t.Errorf("the stack is %s", now.StackStatus)
	}
}

// The same where somebody had changed the stack, whose changes stay.
func TestAChangeSetThatIsRejectedAfterAStrangersChange(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.succeeds(t, makes(template("Sales")))
	body := template("Theirs")
	if _, err := s.client().UpdateStack(t.Context(), &awscfn.UpdateStackInput{StackName: sdk.String("web"), TemplateBody: &body}); err != nil {
		t.Fatal(err)
	}
	s.Pass(time.Minute)
	s.Go()
	s.next("e2").succeeds(t, proposes(makes(template("New"))))
	s.succeeds(t, steps.Spec{Op: steps.OpRollback})
	if s.is(t, "Theirs"); s.sets(t) != 0 {
		t.Error("its change set is still there")
	}
}

// Nothing to change is shown, and nothing is changed then.
func TestAChangeSetOfNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.succeeds(t, makes(template("Sales")))
	s.next("e2")
	if out := proposed(t, s.succeeds(t, proposes(makes(template("Sales"))))).Output; out.HasChanges || out.ChangeSetID != "" {
		t.Errorf("the outputs are %+v", out)
	}
	s.succeeds(t, makes(template("Sales")))
	if s.Count("cloudformation:ExecuteChangeSet")+s.Count("cloudformation:UpdateStack") != 0 || s.sets(t) != 0 {
		t.Error("the stack was changed")
	}
}

// A task that is delivered again finds the change set that it has made, and one that
// executes it what it has begun.
func TestAChangeSetDeliveredAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Fail("cloudformation:CreateChangeSet", testaws.Fault{Cut: testaws.CutAfter, Times: 1})
	spec := makes(template("Sales"))
	s.succeeds(t, proposes(spec)) // the SDK asks again, and is told that it is there
	s.succeeds(t, proposes(spec))
	s.succeeds(t, spec)
	s.succeeds(t, spec)
	s.attempt++ // whose delegate was killed while it waited
	s.succeeds(t, spec)
	if n := s.Count("cloudformation:ExecuteChangeSet"); n != 1 {
		t.Errorf("%d change sets were executed; want 1", n)
	}
	s.is(t, "Sales")
}

// A stack of which no change set can be made fails the step, with the way out.
func TestStacksWithoutChangeSets(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.refused(t, makes(template("CrashSales")), "CrashSales")
	s.next("e2").refused(t, proposes(makes(template("Sales"))), "no change set can be made of it; delete it")
	s.succeeds(t, steps.Spec{Op: steps.OpDelete})
	s.Fail("cloudformation:DescribeChangeSet", testaws.Fault{Code: "AccessDenied", Message: "no", Times: -1})
	s.next("e3").refused(t, proposes(makes(template("Sales"))), "DescribeChangeSet")
	if now := s.live(t, "web"); now != nil {
		t.Errorf("the stack is %s", now.StackStatus)
	}
}
