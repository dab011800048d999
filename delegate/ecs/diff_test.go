package ecs_test

import (
	"fmt"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/fault"
	ecslane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
	"github.com/slipway-cd/slipway/pkg/task"
)

// A preview tells what a deployment would change, and changes nothing itself.
func TestDiff(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.succeeds(t, ecslane.OpDiff, withScaling)
	if got := fmt.Sprint(output(t, r, "changed")); got != "[TaskDefinition/web Service/web Scaling/web]" {
		t.Errorf("of nothing there would change %s:\n%v", got, output(t, r, "diff"))
	}
	if got := s.changes(0); len(got) != 0 || len(s.env.Kept()) != 0 {
		t.Errorf("the preview changes %v and keeps %v", got, s.env.Kept())
	}
	s.succeeds(t, ecslane.OpRolling, withScaling)
	r = s.succeeds(t, ecslane.OpDiff, withScaling)
	if got := output(t, r, "hasChanges"); got != false {
		t.Errorf("of the same would change:\n%v", output(t, r, "diff"))
	}
	next := s.next(t, "web:2")
	next.service = strings.Replace(next.service, "desiredCount: 2", "desiredCount: 3", 1)
	r = next.succeeds(t, ecslane.OpDiff)
	diff := fmt.Sprint(output(t, r, "diff"))
	for _, line := range []string{`-      "image": "web:1",`, `+      "image": "web:2",`, `-  "desiredCount": 2,`, `+  "desiredCount": 3,`, `-      "policyName": "cpu",`} {
		if !strings.Contains(diff, line+"\n") {
			t.Errorf("the difference lacks %s:\n%s", line, diff)
		}
	}
	if len(r.Changes) != 0 {
		t.Errorf("the ledger gets %+v", r.Changes)
	}
}

// Documents may be in a bucket, which the delegate reaches as it does the cluster;
// one that isn't there is no trouble of the network.
func TestDocumentsInABucket(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	bucket := s3.NewFromConfig(s.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := bucket.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: sdk.String("docs"), CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: testaws.Region},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.PutObject(t.Context(), &s3.PutObjectInput{Bucket: sdk.String("docs"), Key: sdk.String("service.yaml"), Body: strings.NewReader(s.service)}); err != nil {
		t.Fatal(err)
	}
	from := func(key string) func(*ecslane.Spec) {
		return func(spec *ecslane.Spec) {
			spec.Target.Service.Store = task.Store{S3: &task.S3Objects{AWS: spec.Target.AWS, Bucket: "docs", Paths: []string{key}}}
		}
	}
	if got := output(t, s.succeeds(t, ecslane.OpDiff, from("service.yaml")), "hasChanges"); got != true {
		t.Errorf("of a service that isn't there would change: %v", got)
	}
	r := s.refused(t, "manifest ecsservicedefinition: ", ecslane.OpDiff, from("none.yaml"))
	if diff := cmp.Diff([]fault.FailureType{fault.ConfigurationFailure}, r.FailureTypes); diff != "" {
		t.Errorf("failure types (-want +got):\n%s", diff)
	}
}

// A service that takes the place of another is compared with that one, and nothing is
// made or deleted for it.
func TestDiffOfTwoServices(t *testing.T) {
	t.Parallel()
	three := func(s *stage) { s.service = strings.Replace(s.service, "desiredCount: 2", "desiredCount: 3", 1) }
	newImage := []string{`-      "image": "web:2",`, `+      "image": "web:3",`}
	t.Run("canary", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.compares(t, ecslane.OpCanaryDiff, "[TaskDefinition/web Service/webCanary]", nil, withScaling)
		s.succeeds(t, ecslane.OpRolling, withScaling)
		s.next(t, "web:1").compares(t, ecslane.OpCanaryDiff, "<nil>", nil, withScaling)
		next := s.next(t, "web:2")
		three(next)
		next.compares(t, ecslane.OpCanaryDiff, "[TaskDefinition/web]", []string{`-      "image": "web:1",`, `+      "image": "web:2",`}, withScaling)
	})
	t.Run("swap", func(t *testing.T) {
		t.Parallel()
		f := newFront(t, newStage(t))
		f.stage.compares(t, ecslane.OpBlueGreenDiff, "[TaskDefinition/web Service/web__1 Scaling/web__1]", []string{`+  "serviceName": "web__1"`}, f.swapped, withScaling)
		f.bluegreen(t, "web:1")
		f.bluegreen(t, "web:2")
		f.next(t, "web:2").compares(t, ecslane.OpBlueGreenDiff, "<nil>", nil, f.swapped)
		s := f.next(t, "web:3")
		three(s)
		s.compares(t, ecslane.OpBlueGreenDiff, "[TaskDefinition/web Service/web__3 Scaling/web__3]",
			append(newImage, "--- Service/web__2", "+++ Service/web__3", `-  "desiredCount": 2,`, `+  "desiredCount": 3,`), f.swapped, withScaling)
		if text := s.log(); !strings.Contains(text, "Service web__1 would make room") {
			t.Errorf("nothing says what makes room:\n%s", text)
		}
		s.compares(t, ecslane.OpBlueGreenDiff, "[TaskDefinition/web]", newImage, f.swapped, func(s *ecslane.Spec) { s.SameCount = true })
		s.refused(t, "Invalid load balancer configuration", ecslane.OpBlueGreenDiff, f.shifted)
	})
	t.Run("phases", func(t *testing.T) {
		t.Parallel()
		s := phasing(t, newStage(t)).next(t, "web:3")
		three(s)
		s.compares(t, ecslane.OpSetupDiff, "[TaskDefinition/web Service/web__2]",
			[]string{"--- Service/web__1", "+++ Service/web__2", `+      "image": "web:3",`, `+  "desiredCount": 3,`}, withScaling)
	})
	t.Run("options", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.succeeds(t, ecslane.OpRolling, withScaling)
		next := s.next(t, "web:1")
		three(next)
		next.compares(t, ecslane.OpDiff, "<nil>", nil, func(s *ecslane.Spec) { s.SameCount, s.SkipScaling = true, true })
	})
}
