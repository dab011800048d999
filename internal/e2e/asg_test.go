package e2e_test

import (
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	autoscalingtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/api"
)

// asgFolder is what the examples of Auto Scaling groups deploy.
const asgFolder = "../../examples/asg"

// asgEntities are the documents of examples/asg for an account.
func asgEntities(t *testing.T, w *testaws.World) string {
	t.Helper()
	return strings.NewReplacer("eu-central-1", testaws.Region, "subnet-1", w.Network().Subnets[0]).Replace(read(t, asgFolder+"/entities.yaml"))
}

// imageOf makes an image of a name.
func imageOf(t *testing.T, w *testaws.World, name string) string {
	t.Helper()
	api := ec2.NewFromConfig(w.Config())
	machine, err := api.RunInstances(t.Context(), &ec2.RunInstancesInput{ImageId: sdk.String("ami-12c6146b"), MinCount: sdk.Int32(1), MaxCount: sdk.Int32(1)})
	if err != nil {
		t.Fatal(err)
	}
	image, err := api.CreateImage(t.Context(), &ec2.CreateImageInput{InstanceId: machine.Instances[0].InstanceId, Name: &name})
	if err != nil {
		t.Fatal(err)
	}
	return *image.ImageId
}

// TestAsgRollsOutAndBack: a group is made, updated, and rolled back to what it
// was; the ledger knows which machines run.
func TestAsgRollsOutAndBack(t *testing.T) {
	t.Parallel()
	onEveryHost(t, func(t *testing.T, start func(testing.TB) *e2e.Server) {
		t.Helper()
		s, w := start(t), testaws.NewWorld(t)
		delegateOf(t, s, w, often)
		images := map[string]string{}
		for _, name := range []string{"web-1", "web-2", "crash-3", "web-4"} {
			images[name] = imageOf(t, w, name)
		}
		entities := byTheAccounts(asgEntities(t, w))
		s.Apply(t, entities)
		s.Apply(t, awsPipeline("asg", "Asg", "AsgRollingDeploy", "AsgRollingRollback", "asgName"))
		run := func(image, script string) e2e.Execution {
			t.Helper()
			s.Apply(t, strings.Replace(service(entities), "web-1", image, 1))
			return finish(t, s, s.Begin(t, "asg", map[string]string{"variables.script": script}))
		}
		runs := func(image string) {
			t.Helper()
			var l api.PlacementList
			if err := s.Call(t.Context(), "GET", "/v1/instances"+ofProject, nil, &l); err != nil {
				t.Fatal(err)
			}
			if len(l.Placements) != 1 || l.Placements[0].Count != 2 || l.Placements[0].Artifact != images[image] {
				t.Errorf("the ledger has %+v; want two machines of %s", l.Placements, image)
			}
			out, err := autoscaling.NewFromConfig(w.Config()).DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{})
			if err != nil || len(out.AutoScalingGroups) != 1 {
				t.Fatalf("the groups are %+v, %v", out, err)
			}
		}
		if e := run("web-1", "true"); e.Status != "Success" {
			t.Fatalf("the first deployment is %s: %s", e.Status, e.Message)
		}
		runs("web-1")
		s.Apply(t, strings.Replace(service(entities), "web-1", "web-2", 1))
		d := preview(t, s, "asg", map[string]string{"variables.script": "true"})
		if !slices.Equal(d.Changed, []string{"LaunchTemplate/web"}) || !strings.Contains(d.Diff, "+  \"imageId\": \""+images["web-2"]+"\",\n") {
			t.Errorf("the preview tells of %v:\n%s", d.Changed, d.Diff)
		}
		other := strings.NewReplacer("  identifier: asg\n  name: asg\n", "  identifier: other\n  name: other\n", "type: AsgRollingDeploy, timeout: 5m, spec: {}", "type: AsgRollingDeploy, timeout: 5m, spec: {asgName: other}")
		s.Apply(t, other.Replace(awsPipeline("asg", "Asg", "AsgRollingDeploy", "AsgRollingRollback", "asgName")))
		if d := preview(t, s, "other", map[string]string{"variables.script": "true"}); !slices.Contains(d.Changed, "AutoScalingGroup/other") {
			t.Errorf("the preview of another group tells of %v", d.Changed)
		}
		if n := w.Count("autoscaling:StartInstanceRefresh"); n != 0 {
			t.Errorf("the preview has started %d refreshes", n)
		}
		if e := run("web-2", "true"); e.Status != "Success" {
			t.Fatalf("the update is %s: %s", e.Status, e.Message)
		}
		runs("web-2")
		if e := run("crash-3", "true"); e.Status != "Failed" || e.Root.Find("back").Status != "Success" || !strings.Contains(e.Root.Find("roll").Message, "Instance refresh has failed") {
			t.Fatalf("what crashes is %s: %s", e.Status, e.Message)
		}
		runs("web-2")
		if e := run("web-4", "exit 1"); e.Status != "Failed" || e.Root.Find("back").Status != "Success" {
			t.Fatalf("what is rolled back is %s: %s", e.Status, e.Message)
		}
		runs("web-2")
		undone(t, s, run("web-4", "true"))
		runs("web-2")
		drifts(t, s, "Group/web has the images "+images["web-1"]+", ", func() error {
			_, err := autoscaling.NewFromConfig(w.Config()).UpdateAutoScalingGroup(t.Context(), &autoscaling.UpdateAutoScalingGroupInput{
				AutoScalingGroupName: ptr("web"), LaunchTemplate: &autoscalingtypes.LaunchTemplateSpecification{LaunchTemplateName: ptr("web"), Version: ptr("1")},
			})
			return err
		})
	})
}

// TestAsgSwapsAndBack: two groups take turns behind a load balancer, and one that was
// swapped in and is rolled back leaves the other one with the traffic.
func TestAsgSwapsAndBack(t *testing.T) {
	t.Parallel()
	onEveryHost(t, func(t *testing.T, start func(testing.TB) *e2e.Server) {
		t.Helper()
		s, w := start(t), testaws.NewWorld(t)
		delegateOf(t, s, w)
		images := map[string]string{}
		for _, name := range []string{"web-1", "web-2", "web-3"} {
			images[name] = imageOf(t, w, name)
		}
		service, f := colours(t, w, asgFolder+"/colours.yaml", elbtypes.TargetTypeEnumInstance)
		s.Apply(t, byTheAccounts(asgEntities(t, w)))
		// Its examples have the pipeline, but for what fails at the end.
		pipeline := read(t, filesOf(t, "AsgBlueGreenRollback").Example)
		pipeline = strings.Replace(pipeline, "script: exit 1", "script: <+pipeline.variables.script>", 1)
		s.Apply(t, strings.Replace(pipeline, "  stages:\n", "  variables:\n    - {name: script, type: String, value: <+input>}\n  stages:\n", 1))
		run := func(image, script string) e2e.Execution {
			t.Helper()
			s.Apply(t, strings.Replace(service, "web-1", image, 1))
			return finish(t, s, s.Begin(t, "asg_blue_green_back", map[string]string{"variables.script": script}))
		}
		serves := func(image, prod, stage string) {
			t.Helper()
			if f.Traffic(f.Rules[0]) != prod || f.Traffic(f.Rules[1]) != stage {
				t.Errorf("traffic goes to %s, the stage's to %s; want %s and %s", f.Traffic(f.Rules[0]), f.Traffic(f.Rules[1]), prod, stage)
			}
			var l api.PlacementList
			if err := s.Call(t.Context(), "GET", "/v1/instances"+ofProject, nil, &l); err != nil {
				t.Fatal(err)
			}
			if len(l.Placements) != 1 || l.Placements[0].Artifact != images[image] {
				t.Errorf("the ledger has %+v; want machines of %s", l.Placements, image)
			}
		}
		if e := run("web-1", "true"); e.Status != "Success" {
			t.Fatalf("the first deployment is %s: %s", e.Status, e.Message)
		}
		serves("web-1", "a", "b")
		if e := run("web-2", "true"); e.Status != "Success" {
			t.Fatalf("the second is %s: %s", e.Status, e.Message)
		}
		serves("web-2", "b", "a")
		if e := run("web-3", "exit 1"); e.Status != "Failed" || e.Root.Find("asgBlueGreenRollback").Status != "Success" {
			t.Fatalf("what is rolled back is %s: %s", e.Status, e.Message)
		}
		serves("web-2", "b", "a")
	})
}

// TestAsgMovesInPhasesAndBack: machines move in phases to a group of the next version,
// and back where the stage fails; a preview says before what that group would be.
func TestAsgMovesInPhasesAndBack(t *testing.T) {
	t.Parallel()
	onEveryHost(t, func(t *testing.T, start func(testing.TB) *e2e.Server) {
		t.Helper()
		s, w := start(t), testaws.NewWorld(t)
		delegateOf(t, s, w)
		images := map[string]string{}
		for _, name := range []string{"web-1", "web-2"} {
			images[name] = imageOf(t, w, name)
		}
		entities := byTheAccounts(asgEntities(t, w))
		s.Apply(t, entities)
		s.Apply(t, phasedPipeline("asg", "Asg", "AsgSetup", "{asgName: web, instances: {type: Fixed, spec: {min: 1, max: 4, desired: 2}}, resizeStrategy: resize_new_first}",
			"AsgPhasedDeploy", "instanceSelection", "newAsgName", "AsgRollback"))
		run := func(image, script string) e2e.Execution {
			t.Helper()
			s.Apply(t, strings.Replace(service(entities), "web-1", image, 1))
			return finish(t, s, s.Begin(t, "asg", map[string]string{"variables.script": script}))
		}
		runs := func(image string, sizes map[string]int32) {
			t.Helper()
			out, err := autoscaling.NewFromConfig(w.Config()).DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int32{}
			for _, one := range out.AutoScalingGroups {
				got[*one.AutoScalingGroupName] = *one.DesiredCapacity
			}
			if diff := cmp.Diff(sizes, got); diff != "" {
				t.Errorf("the groups (-want +got):\n%s", diff)
			}
			var l api.PlacementList
			if err := s.Call(t.Context(), "GET", "/v1/instances"+ofProject, nil, &l); err != nil {
				t.Fatal(err)
			}
			if len(l.Placements) != 1 || l.Placements[0].Count != 2 || l.Placements[0].Artifact != images[image] {
				t.Errorf("the ledger has %+v; want two machines of %s", l.Placements, image)
			}
		}
		if e := run("web-1", "true"); e.Status != "Success" {
			t.Fatalf("the first deployment is %s: %s", e.Status, e.Message)
		}
		runs("web-1", map[string]int32{"web__1": 2})
		s.Apply(t, strings.Replace(service(entities), "web-1", "web-2", 1))
		d := preview(t, s, "asg", map[string]string{"variables.script": "true"})
		if !slices.Equal(d.Changed, []string{"LaunchTemplate/web__2"}) || !strings.Contains(d.Diff, "--- LaunchTemplate/web__1\n") {
			t.Errorf("the preview tells of %v:\n%s", d.Changed, d.Diff)
		}
		if e := run("web-2", "exit 1"); e.Status != "Failed" || e.Root.Find("back").Status != "Success" {
			t.Fatalf("what is rolled back is %s: %s", e.Status, e.Message)
		}
		runs("web-1", map[string]int32{"web__1": 2})
		if e := run("web-2", "true"); e.Status != "Success" {
			t.Fatalf("the next deployment is %s: %s", e.Status, e.Message)
		}
		runs("web-2", map[string]int32{"web__1": 0, "web__2": 2})
	})
}
