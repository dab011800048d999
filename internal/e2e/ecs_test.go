package e2e_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/api"
)

// ecsFolder is what the ECS examples deploy.
const ecsFolder = "../../examples/ecs"

// ecsEntities are the documents of examples/ecs for an account.
func ecsEntities(t *testing.T, w *testaws.World) string {
	t.Helper()
	return strings.NewReplacer("eu-central-1", testaws.Region, "subnet-1", w.Network().Subnets[0]).Replace(read(t, ecsFolder+"/entities.yaml"))
}

// colours is a service of an example that is deployed in two colours, for an account
// with a load balancer: each listener has a rule for one target group, production's
// also one for both, and one for developers.
func colours(t *testing.T, w *testaws.World, file string, kind elbtypes.TargetTypeEnum) (string, *testaws.Front) {
	t.Helper()
	f := w.Front("shop", kind)
	values := map[string]string{
		"subnet": w.Network().Subnets[0], "prodListener": f.Listeners[0], "stageListener": f.Listeners[1], "prodGroup": f.A, "stageGroup": f.B,
		"prodRule": f.Rules[0], "stageRule": f.Rules[1], "sharedRule": f.Rule(f.Listeners[0], f.Both(100, 0)), "devRule": f.Rule(f.Listeners[0], testaws.To(f.A, 1)),
	}
	text := strings.ReplaceAll(read(t, file), "eu-central-1", testaws.Region)
	for name, value := range values {
		text = regexp.MustCompile(`(name: `+name+`, type: String, value: )[^}]+`).ReplaceAllString(text, "${1}"+value)
	}
	return text, f
}

// TestECSRollsOutAndBack: a service is made, updated, and rolled back to what it
// was, with what scales it; the ledger knows which tasks run.
func TestECSRollsOutAndBack(t *testing.T) {
	t.Parallel()
	onEveryHost(t, func(t *testing.T, start func(testing.TB) *e2e.Server) {
		t.Helper()
		s, w := start(t), testaws.NewWorld(t)
		delegateOf(t, s, w, often)
		entities := byTheAccounts(ecsEntities(t, w))
		s.Apply(t, entities)
		s.Apply(t, awsPipeline("ecs", "ECS", "EcsRollingDeploy", "EcsRollingRollback", "serviceName"))
		run := func(script string) e2e.Execution {
			t.Helper()
			return finish(t, s, s.Begin(t, "ecs", map[string]string{"variables.script": script}))
		}
		runs := func(image string) {
			t.Helper()
			var l api.PlacementList
			if err := s.Call(t.Context(), "GET", "/v1/instances"+ofProject, nil, &l); err != nil {
				t.Fatal(err)
			}
			if len(l.Placements) != 1 || l.Placements[0].Count != 2 || l.Placements[0].Artifact != image {
				t.Errorf("the ledger has %+v; want two tasks of %s", l.Placements, image)
			}
			service := describeService(t, w)
			definition, err := ecs.NewFromConfig(w.Config()).DescribeTaskDefinition(t.Context(), &ecs.DescribeTaskDefinitionInput{TaskDefinition: service.TaskDefinition})
			if err != nil {
				t.Fatal(err)
			}
			if got := *definition.TaskDefinition.ContainerDefinitions[0].Image; got != image || service.RunningCount != 2 {
				t.Errorf("the service runs %d tasks of %s; want 2 of %s", service.RunningCount, got, image)
			}
		}
		const image = "registry.example.com/web:"
		if e := run("true"); e.Status != "Success" {
			t.Fatalf("the first deployment is %s: %s", e.Status, e.Message)
		}
		runs(image + "1")
		s.Apply(t, strings.Replace(service(entities), `value: "1"`, `value: "2"`, 1))
		updates := w.Count("ecs:UpdateService")
		if d := preview(t, s, "ecs", map[string]string{"variables.script": "true"}); !slices.Equal(d.Changed, []string{"TaskDefinition/web"}) || !strings.Contains(d.Diff, "+      \"image\": \""+image+"2\",\n") {
			t.Errorf("the preview tells of %v:\n%s", d.Changed, d.Diff)
		}
		if n := w.Count("ecs:UpdateService"); n != updates {
			t.Errorf("the preview has updated the service %d times", n-updates)
		}
		if e := run("true"); e.Status != "Success" {
			t.Fatalf("the update is %s: %s", e.Status, e.Message)
		}
		runs(image + "2")
		s.Apply(t, strings.Replace(service(entities), `value: "1"`, `value: crash-3`, 1))
		if e := run("true"); e.Status != "Failed" || e.Root.Find("back").Status != "Success" || !strings.Contains(e.Root.Find("roll").Message, "ECS rolled back") {
			t.Fatalf("what crashes is %s: %s", e.Status, e.Message)
		}
		runs(image + "2")
		s.Apply(t, strings.Replace(service(entities), `value: "1"`, `value: "4"`, 1))
		if e := run("exit 1"); e.Status != "Failed" || e.Root.Find("back").Status != "Success" {
			t.Fatalf("what is rolled back is %s: %s", e.Status, e.Message)
		}
		runs(image + "2")
		undone(t, s, run("true")) // long after its stage has ended
		runs(image + "2")
		rests := w.CallsOf("application-autoscaling:RegisterScalableTarget")
		if last := string(rests[len(rests)-1].Parameters); !strings.Contains(last, `"DynamicScalingInSuspended": false`) && !strings.Contains(last, `"DynamicScalingInSuspended":false`) {
			t.Errorf("scaling was put back as %s", last)
		}
		drifts(t, s, "Service/web has the images "+image+"1, ", func() error {
			_, err := ecs.NewFromConfig(w.Config()).UpdateService(t.Context(), &ecs.UpdateServiceInput{Cluster: ptr("test"), Service: ptr("web"), TaskDefinition: ptr("web:1")})
			return err
		})
	})
}

// service is the document of the service among some.
func service(documents string) string {
	return documents[strings.Index(documents, "service:\n"):]
}

func describeService(t *testing.T, w *testaws.World) types.Service {
	t.Helper()
	name, cluster := "web", "test"
	out, err := ecs.NewFromConfig(w.Config()).DescribeServices(t.Context(), &ecs.DescribeServicesInput{Cluster: &cluster, Services: []string{name}})
	if err != nil || len(out.Services) != 1 {
		t.Fatalf("describe the service: %v, %v", out, err)
	}
	return out.Services[0]
}
