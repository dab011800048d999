package testaws_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testaws"
)

// cluster is the ECS of a world whose time is held, with the cluster "test".
type cluster struct {
	*ecs.Client
	world   *testaws.World
	network *types.NetworkConfiguration
}

func newCluster(t *testing.T) cluster {
	t.Helper()
	w := testaws.NewWorld(t)
	w.Hold()
	network := w.Network()
	return cluster{
		Client: ecs.NewFromConfig(w.Config(), func(o *ecs.Options) { o.RetryMaxAttempts = 1 }), world: w,
		network: &types.NetworkConfiguration{AwsvpcConfiguration: &types.AwsVpcConfiguration{
			Subnets: network.Subnets, SecurityGroups: []string{network.Group},
		}},
	}
}

// define registers a task definition of one image and gives its ARN.
func (c cluster) define(t *testing.T, family, image string) string {
	t.Helper()
	out, err := c.RegisterTaskDefinition(t.Context(), &ecs.RegisterTaskDefinitionInput{
		Family: &family, RequiresCompatibilities: []types.Compatibility{types.CompatibilityFargate}, Cpu: aws.String("256"), Memory: aws.String("512"),
		NetworkMode: types.NetworkModeAwsvpc, Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("shop")}},
		ContainerDefinitions: []types.ContainerDefinition{
			{Name: aws.String("app"), Image: &image, PortMappings: []types.PortMapping{{ContainerPort: aws.Int32(80)}}},
			{Name: aws.String("side"), Image: aws.String("side:1"), Essential: aws.Bool(false)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Tags) != 1 {
		t.Errorf("a new task definition is answered with %d tags, want 1", len(out.Tags))
	}
	return aws.ToString(out.TaskDefinition.TaskDefinitionArn)
}

// web is the service of the tests, as CreateService takes it.
func (c cluster) web(definition string) *ecs.CreateServiceInput {
	return &ecs.CreateServiceInput{
		Cluster: aws.String("test"), ServiceName: aws.String("web"), TaskDefinition: &definition, DesiredCount: aws.Int32(2),
		LaunchType: types.LaunchTypeFargate, NetworkConfiguration: c.network, ClientToken: aws.String("once"),
	}
}

// create makes the service and waits until it is found and steady.
func (c cluster) create(t *testing.T, in *ecs.CreateServiceInput) {
	t.Helper()
	if _, err := c.CreateService(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c.look(t.Context(), t, "web")
	}
	c.world.Pass(time.Minute)
}

func (c cluster) update(t *testing.T, in ecs.UpdateServiceInput) *types.Service {
	t.Helper()
	in.Cluster, in.Service = aws.String("test"), aws.String("web")
	out, err := c.UpdateService(t.Context(), &in)
	if err != nil {
		t.Fatal(err)
	}
	return out.Service
}

// look is what DescribeServices says of a service: the reason of a failure, or
// its status, counts, task definition and deployments.
func (c cluster) look(ctx context.Context, t *testing.T, service string) string {
	t.Helper()
	out, err := c.DescribeServices(ctx, &ecs.DescribeServicesInput{Cluster: aws.String("test"), Services: []string{service}})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Failures) > 0 {
		return aws.ToString(out.Failures[0].Reason)
	}
	s := out.Services[0]
	definition := (*s.TaskDefinition)[strings.LastIndex(*s.TaskDefinition, "/")+1:]
	text := []string{fmt.Sprintf("%s %d/%d+%d %s", *s.Status, s.RunningCount, s.DesiredCount, s.PendingCount, definition)}
	for _, d := range s.Deployments {
		text = append(text, fmt.Sprintf("%s %s %d/%d", *d.Status, d.RolloutState, d.RunningCount, d.DesiredCount))
	}
	return strings.Join(text, ", ")
}

// A deployment starts the new tasks, then stops the old ones, and is then
// complete. A new service isn't found at first.
func TestECSDeployment(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	if _, err := c.CreateService(t.Context(), c.web(c.define(t, "web", "web:1"))); err != nil {
		t.Fatal(err)
	}
	var got []string
	look := func(pass time.Duration) {
		c.world.Pass(pass)
		got = append(got, c.look(t.Context(), t, "web"))
	}
	look(0)
	look(0)
	look(3 * time.Second)
	look(4 * time.Second)
	look(10 * time.Second)
	c.update(t, ecs.UpdateServiceInput{TaskDefinition: aws.String(c.define(t, "web", "web:2"))})
	look(0)
	look(3 * time.Second)
	look(time.Minute)
	want := []string{
		"MISSING", "MISSING", "ACTIVE 0/2+2 web:1, PRIMARY IN_PROGRESS 0/2", "ACTIVE 2/2+0 web:1, PRIMARY IN_PROGRESS 2/2",
		"ACTIVE 2/2+0 web:1, PRIMARY COMPLETED 2/2", "ACTIVE 2/2+0 web:2, PRIMARY IN_PROGRESS 0/2, ACTIVE COMPLETED 2/0",
		"ACTIVE 2/2+2 web:2, PRIMARY IN_PROGRESS 0/2, ACTIVE COMPLETED 2/0", "ACTIVE 2/2+0 web:2, PRIMARY COMPLETED 2/2",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the service (-want +got):\n%s", d)
	}
}

// The circuit breaker counts tasks that don't come up and goes back to the
// deployment before; without it the deployment goes on for ever.
func TestECSCircuitBreaker(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		breaker types.DeploymentCircuitBreaker
		want    string
		failed  bool // the event
	}{
		{name: "none", want: "ACTIVE 2/2+2 web:2, PRIMARY IN_PROGRESS 0/2, ACTIVE COMPLETED 2/0"},
		{
			name: "stops", breaker: types.DeploymentCircuitBreaker{Enable: true}, failed: true,
			want: "ACTIVE 2/2+0 web:2, PRIMARY FAILED 0/2, ACTIVE COMPLETED 2/0",
		},
		{
			name: "rolls back", breaker: types.DeploymentCircuitBreaker{Enable: true, Rollback: true}, failed: true,
			want: "ACTIVE 2/2+0 web:1, PRIMARY COMPLETED 2/2",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			in := c.web(c.define(t, "web", "web:1"))
			in.DeploymentConfiguration = &types.DeploymentConfiguration{DeploymentCircuitBreaker: &tt.breaker}
			c.create(t, in)
			own := *c.update(t, ecs.UpdateServiceInput{TaskDefinition: aws.String(c.define(t, "web", "web:crash-1"))}).Deployments[0].Id
			c.world.Pass(2 * time.Minute)
			if got := c.look(t.Context(), t, "web"); got != tt.want {
				t.Errorf("after two minutes %s, want %s", got, tt.want)
			}
			out, err := c.DescribeServices(t.Context(), &ecs.DescribeServicesInput{Cluster: aws.String("test"), Services: []string{"web"}})
			if err != nil {
				t.Fatal(err)
			}
			var said bool
			for _, e := range out.Services[0].Events {
				said = said || strings.Contains(*e.Message, "(deployment "+own+") deployment failed: tasks failed to start.")
			}
			if said != tt.failed {
				t.Errorf("the failure is among the events: %v, want %v", said, tt.failed)
			}
			tasks, err := c.ListTasks(t.Context(), &ecs.ListTasksInput{
				Cluster: aws.String("test"), StartedBy: &own, DesiredStatus: types.DesiredStatusStopped, MaxResults: aws.Int32(1),
			})
			if err != nil || len(tasks.TaskArns) != 1 || tasks.NextToken == nil {
				t.Fatalf("a page of one stopped task: %+v, %v", tasks, err)
			}
			described, err := c.DescribeTasks(t.Context(), &ecs.DescribeTasksInput{Cluster: aws.String("test"), Tasks: tasks.TaskArns})
			if err != nil {
				t.Fatal(err)
			}
			task := described.Tasks[0]
			if task.StopCode != types.TaskStopCodeEssentialContainerExited || aws.ToInt32(task.Containers[0].ExitCode) != 1 {
				t.Errorf("a task stopped with %s, exit code %d", task.StopCode, aws.ToInt32(task.Containers[0].ExitCode))
			}
		})
	}
}
