package ecs_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/slipway-cd/slipway/internal/testaws"
	ecslane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
	"github.com/slipway-cd/slipway/pkg/task"
)

// watch is what a watch of what was deployed reports first.
func (s *stage) watch(t *testing.T, deployed task.Change) task.Observed {
	t.Helper()
	place, err := json.Marshal(ecslane.Place{AWS: task.AWS{Auth: task.AWSKeys, AccessKey: "AKIA", SecretKey: "s", Region: testaws.Region}, Cluster: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var got task.Observed
	err = s.kind.Watch(ctx, task.Watch{Kind: ecslane.Kind, Place: place, Workloads: deployed.Workloads}, func(_ context.Context, o task.Observed) error {
		got = o
		stop()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the watch ended by %v", err)
	}
	return got
}

// What runs is seen, and what differs from what was deployed: a count that
// somebody has set, another revision of its task definition, a service that is gone, but no count where something scales.
func TestWatch(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	deployed := s.succeeds(t, ecslane.OpRolling).Changes[0]
	o := s.watch(t, deployed)
	if len(o.Instances) != 2 || o.Instances[0].Images[0] != "web:1" || !o.Instances[0].Ready || o.Instances[0].Properties["launchType"] != "FARGATE" {
		t.Errorf("instances %+v", o.Instances)
	}
	if want := deployed.Workloads[0]; len(o.Workloads) != 1 || *o.Workloads[0].Replicas != *want.Replicas || !slices.Equal(o.Workloads[0].Images, want.Images) {
		t.Errorf("workloads %+v; want %+v", o.Workloads, deployed.Workloads)
	}
	if _, err := s.client().UpdateService(t.Context(), &awsecs.UpdateServiceInput{Cluster: sdk.String("test"), Service: sdk.String("web"), DesiredCount: sdk.Int32(3)}); err != nil {
		t.Fatal(err)
	}
	if o = s.watch(t, deployed); *o.Workloads[0].Replicas != 3 {
		t.Errorf("scaled by hand, workloads %+v", o.Workloads)
	}
	again := s.next(t, "web:1") // the same image, by another revision
	again.execution = "another"
	again.succeeds(t, ecslane.OpRolling)
	if o = s.watch(t, deployed); !slices.Equal(o.Workloads[0].Images, []string{"web:1", "task definition web:2"}) || slices.Equal(o.Workloads[0].Images, deployed.Workloads[0].Images) {
		t.Errorf("of another revision is seen %v; deployed was %v", o.Workloads[0].Images, deployed.Workloads[0].Images)
	}
	scaled := s.next(t, "web:2")
	if o = s.watch(t, scaled.succeeds(t, ecslane.OpRolling, withScaling).Changes[0]); o.Workloads[0].Replicas != nil {
		t.Errorf("scaled by Application Auto Scaling, workloads %+v", o.Workloads)
	}
	if _, err := s.client().DeleteService(t.Context(), &awsecs.DeleteServiceInput{Cluster: sdk.String("test"), Service: sdk.String("web"), Force: sdk.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	s.Pass(time.Hour)
	s.Go()
	if o = s.watch(t, deployed); !o.Workloads[0].Gone || len(o.Instances) != 0 {
		t.Errorf("of a service that is gone is seen %+v", o)
	}
	s.Fail("ecs:DescribeServices", testaws.Fault{Code: "AccessDeniedException", Times: 1})
	if o = s.watch(t, deployed); !strings.Contains(o.Trouble, "AccessDenied") {
		t.Errorf("of what is denied is seen %+v", o)
	}
}
