package awssam_test

import (
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awssam"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/internal/testaws"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awssam"
	"github.com/slipway-cd/slipway/pkg/task"
)

// A template that is too large to come with a call, and for a checkpoint, is put back
// through the delegate's bucket, in which nothing stays; without one the rollback fails
// and changes nothing.
func TestLargeTemplateIsPutBack(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	client, bucket := s3.NewFromConfig(w.Config()), sdk.String("templates")
	much := make([]byte, 300_000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(much) // never fails
	large := strings.Replace(queue("Queue", "30"), "{", `{"Metadata": {"much": "`+hex.EncodeToString(much)+`"}, `, 1)
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: bucket, CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: testaws.Region},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: sdk.String("first"), Body: strings.NewReader(large)}); err != nil {
		t.Fatal(err)
	}
	url := aws.S3URL("templates", testaws.Region, "first")
	stacks, name := cloudformation.NewFromConfig(w.Config()), sdk.String("app")
	set, err := stacks.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
		StackName: name, ChangeSetName: sdk.String("first"), ChangeSetType: cfntypes.ChangeSetTypeCreate, TemplateURL: &url,
	})
	if err == nil {
		w.Pass(time.Minute)
		_, err = stacks.ExecuteChangeSet(t.Context(), &cloudformation.ExecuteChangeSetInput{ChangeSetName: set.Id})
	}
	if err != nil {
		t.Fatal(err)
	}
	w.Go()
	s := begin(t, w, map[string]string{"template.json": queue("Queue", "60")})
	s.sam(lane.OpDeploy, task.Succeeded)
	if r := s.sam(lane.OpRollback, task.Failed); !strings.Contains(r.Message, "--cloudformation-bucket") {
		t.Errorf("without a bucket: %s", r.Message)
	}
	if _, doc := s.Stack("app"); !strings.Contains(doc, `"VisibilityTimeout": 60`) {
		t.Errorf("without a bucket the stack has %.200s", doc)
	}
	run := awssam.New(awssam.Config{Sessions: s.Sessions, Accesses: s.Accesses, Sandbox: s.sandbox, Pace: awswait.Every(20 * time.Millisecond), Bucket: "templates"})
	s.Do(run, s.step(lane.OpRollback), task.Succeeded)
	if _, doc := s.Stack("app"); !strings.Contains(doc, `"VisibilityTimeout": 30`) || !strings.Contains(doc, hex.EncodeToString(much)) {
		t.Errorf("the stack has %.200s", doc)
	}
	out, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: bucket})
	if err != nil || len(out.Contents) != 1 { // the first
		t.Errorf("the bucket has %d objects, %v", len(out.Contents), err)
	}
}
