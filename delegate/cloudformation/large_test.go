package cloudformation_test

import (
	"context"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/cloudformation"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/internal/testaws"
	steps "github.com/slipway-cd/slipway/pkg/provisioner/cloudformation"
)

// large is a template that is too large to come with a request.
func large(names ...string) string { return template(names...) + strings.Repeat("# much\n", 8000) }

// bucketed gives the stage's delegate a bucket. What it puts there is counted, and
// deleting it is denied where the test says so.
func (s *stage) bucketed(t *testing.T, undeletable bool) (left func() []string) {
	t.Helper()
	client := s3.NewFromConfig(s.Config())
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: sdk.String("templates"), CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: testaws.Region},
	}); err != nil {
		t.Fatal(err)
	}
	accesses := &aws.Accesses{Options: []func(*config.LoadOptions) error{config.WithBaseEndpoint(s.Endpoint)}}
	if undeletable {
		accesses.Options = append(accesses.Options, config.WithAPIOptions([]func(*middleware.Stack) error{stubborn}))
	}
	s.do = cloudformation.New(cloudformation.Config{Accesses: accesses, Pace: awswait.Every(10 * time.Millisecond), Bucket: "templates"})
	return func() []string {
		t.Helper()
		out, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: sdk.String("templates")})
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, o := range out.Contents {
			keys = append(keys, sdk.ToString(o.Key))
		}
		return keys
	}
}

// stubborn is an AWS in which no object can be deleted.
func stubborn(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("stubborn",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			if _, ok := in.Parameters.(*s3.DeleteObjectInput); ok {
				return middleware.InitializeOutput{}, middleware.Metadata{}, &smithy.GenericAPIError{Code: "AccessDenied", Message: "no"}
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
}

// A template that is too large to come with a request goes through the delegate's
// bucket, in which nothing stays; so does the one that a rollback puts back.
func TestLargeTemplates(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	left := s.bucketed(t, false)
	s.succeeds(t, makes(large("Sales")))
	s.is(t, "Sales")
	if log := s.env.Text("Fetch Files", executor.Info); !strings.Contains(log, "is in the bucket templates until the step ends") {
		t.Errorf("the log is\n%s", log)
	}
	s.next("e2").succeeds(t, seen(large("Sales", "Bills")))
	s.attempt++
	s.succeeds(t, makes(large("Sales", "Bills")))
	s.is(t, "Bills Sales")
	s.attempt++
	s.refused(t, makes(large("Sales", "CrashMails")), "CrashMails")
	s.succeeds(t, steps.Spec{Op: steps.OpRollback})
	s.is(t, "Sales")
	if keys := left(); len(keys) > 0 {
		t.Errorf("the bucket has %v", keys)
	}
	for _, op := range []string{"GetTemplateSummary", "CreateStack", "UpdateStack", "CreateChangeSet"} {
		for _, call := range s.CallsOf("cloudformation:" + op) {
			if body := string(call.Parameters); strings.Contains(body, "# much") || !strings.Contains(body, "https://templates.s3."+testaws.Region+".amazonaws.com/slipway/e") {
				t.Errorf("%s was called with %.200s", op, body)
			}
		}
	}
}

// Without a bucket such a template is refused before anything is changed, and so is
// its return; one in a bucket of the user's own comes from there again.
func TestLargeTemplatesWithoutABucket(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.refused(t, makes(large("Sales")), "at most 51,200 with a request")
	if !strings.Contains(r.Message, "--cloudformation-bucket") || !strings.Contains(r.Message, "S3URL") {
		t.Errorf("the message is %s", r.Message)
	}
	s.bucketed(t, false)
	s.attempt++
	s.succeeds(t, makes(large("Sales")))
	s.next("e2").succeeds(t, makes(template("Sales", "Bills")))
	without := s.with()
	s.do = without
	s.refused(t, steps.Spec{Op: steps.OpRollback}, "--cloudformation-bucket")
	s.is(t, "Bills Sales")

	if _, err := s3.NewFromConfig(s.Config()).PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: sdk.String("templates"), Key: sdk.String("own"), Body: strings.NewReader(large("Mails")),
	}); err != nil {
		t.Fatal(err)
	}
	s.next("e3").succeeds(t, makes("", func(c *steps.Create) { c.Template, c.URL = nil, "s3://templates/own" }))
	s.is(t, "Mails")
	s.next("e4").succeeds(t, makes(template("Sales")))
	s.succeeds(t, steps.Spec{Op: steps.OpRollback})
	s.is(t, "Mails")
}

// What can't be put fails the step with the call's name, and what can't be deleted
// is told and fails nothing.
func TestTheBucketRefuses(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.refused(t, makes(large("Sales")), "at most 51,200")
	s.do = cloudformation.New(cloudformation.Config{
		Accesses: &aws.Accesses{Options: []func(*config.LoadOptions) error{config.WithBaseEndpoint(s.Endpoint)}}, Pace: awswait.Every(10 * time.Millisecond), Bucket: "nowhere",
	})
	s.refused(t, makes(large("Sales")), "s3://nowhere: NoSuchBucket: ")
	if n := s.Count("cloudformation:CreateStack"); n > 0 {
		t.Errorf("the stack was made %d times", n)
	}
	left := s.bucketed(t, true)
	s.attempt++
	s.succeeds(t, makes(large("Sales")))
	if keys := left(); len(keys) != 1 || !strings.Contains(s.log(), "Warning: the template is still in the bucket templates: s3:DeleteObject") {
		t.Errorf("the bucket has %v, the log\n%s", keys, s.log())
	}
}

// Of a template that is too large to be kept its URL is, and without one it can't
// be put back.
func TestHugeTemplates(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.bucketed(t, false)
	huge := template("Sales") + strings.Repeat("# very much\n", 50_000)
	s.succeeds(t, makes(huge))
	if kept := s.env.Provided().Own.Inputs; len(kept) > 1000 {
		t.Errorf("%d bytes are kept", len(kept))
	}
	s.next("e2").succeeds(t, makes(template("Bills")))
	s.refused(t, steps.Spec{Op: steps.OpRollback}, "is too large to be kept, and where it came from isn't known")
	s.is(t, "Bills")
}
