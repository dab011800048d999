package testaws_test

import (
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
	c.service(t)
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

// look is what DescribeServices says of the service: the reason of a failure, or
// its status, counts, task definition and deployments.
func (c cluster) look(t *testing.T) string {
	t.Helper()
	out, err := c.DescribeServices(t.Context(), &ecs.DescribeServicesInput{Cluster: aws.String("test"), Services: []string{"web"}})
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

// service is the service of the tests, which has been made a while ago.
func (c cluster) service(t *testing.T) types.Service {
	t.Helper()
	for range 3 {
		out, err := c.DescribeServices(t.Context(), &ecs.DescribeServicesInput{Cluster: aws.String("test"), Services: []string{"web"}})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Services) > 0 {
			return out.Services[0]
		}
	}
	t.Fatal("the service isn't found")
	return types.Service{}
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
		got = append(got, c.look(t))
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
			if got := c.look(t); got != tt.want {
				t.Errorf("after two minutes %s, want %s", got, tt.want)
			}
			var said bool
			for _, e := range c.service(t).Events {
				said = said || strings.Contains(*e.Message, "(deployment "+own+") deployment failed: tasks failed to start.")
			}
			if said != tt.failed {
				t.Errorf("the failure is among the events: %v, want %v", said, tt.failed)
			}
			tasks, err := c.ListTasks(t.Context(), &ecs.ListTasksInput{
				Cluster: aws.String("test"), ServiceName: aws.String("web"), DesiredStatus: types.DesiredStatusStopped, MaxResults: aws.Int32(1),
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

// CreateService answers a repeated request with the service, and refuses what
// can't run.
func TestECSCreateService(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	definition := c.define(t, "web", "web:1")
	first, err := c.CreateService(t.Context(), c.web(definition))
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.CreateService(t.Context(), c.web(definition))
	if err != nil || *again.Service.Deployments[0].Id != *first.Service.Deployments[0].Id {
		t.Errorf("the same request: %v, want the same service", err)
	}
	old := c.define(t, "old", "old:1")
	if _, err := c.DeregisterTaskDefinition(t.Context(), &ecs.DeregisterTaskDefinitionInput{TaskDefinition: &old}); err != nil {
		t.Fatal(err)
	}
	other := func(change func(*ecs.CreateServiceInput)) *ecs.CreateServiceInput {
		in := c.web(definition)
		in.ServiceName, in.ClientToken = aws.String("other"), nil
		change(in)
		return in
	}
	tests := []struct {
		name string
		in   *ecs.CreateServiceInput
		code string
		want string
	}{
		{name: "other parameters", in: func() *ecs.CreateServiceInput {
			in := c.web(definition)
			in.DesiredCount = aws.Int32(3)
			return in
		}(), code: "InvalidParameterException", want: "Creation of service was not idempotent."},
		{name: "an inactive definition", in: other(func(in *ecs.CreateServiceInput) { in.TaskDefinition = &old }), code: "ClientException", want: "TaskDefinition is inactive"},
		{name: "an inactive family", in: other(func(in *ecs.CreateServiceInput) { in.TaskDefinition = aws.String("old") }), code: "ClientException", want: "Unable to describe"},
		{name: "no network", in: other(func(in *ecs.CreateServiceInput) { in.NetworkConfiguration = nil }), code: "InvalidParameterException", want: "Network Configuration must be provided"},
		{name: "no count", in: other(func(in *ecs.CreateServiceInput) { in.DesiredCount = nil }), code: "InvalidParameterException", want: "DesiredCount"},
		{name: "no cluster", in: other(func(in *ecs.CreateServiceInput) { in.Cluster = aws.String("none") }), code: "ClusterNotFoundException"},
		{name: "two kinds of capacity", in: other(func(in *ecs.CreateServiceInput) {
			in.CapacityProviderStrategy = []types.CapacityProviderStrategyItem{{CapacityProvider: aws.String("FARGATE_SPOT")}}
		}), code: "InvalidParameterException", want: "both a launch type and capacity provider strategy"},
		{name: "a port that isn't there", in: other(func(in *ecs.CreateServiceInput) {
			in.LoadBalancers = []types.LoadBalancer{{TargetGroupArn: aws.String("tg"), ContainerName: aws.String("app"), ContainerPort: aws.Int32(81)}}
		}), code: "InvalidParameterException", want: "did not have a container port 81"},
	}
	for _, tt := range tests {
		_, err := c.CreateService(t.Context(), tt.in)
		wantCode(t, tt.name, err, tt.code)
		if err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

// All members of a service are kept.
func TestECSServiceMembers(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	in := c.web(c.define(t, "web", "web:1"))
	in.LaunchType = ""
	in.CapacityProviderStrategy = []types.CapacityProviderStrategyItem{{CapacityProvider: aws.String("FARGATE_SPOT"), Weight: 1}}
	in.DeploymentConfiguration = &types.DeploymentConfiguration{MaximumPercent: aws.Int32(150)}
	in.EnableExecuteCommand = true
	in.Tags = []types.Tag{{Key: aws.String("team"), Value: aws.String("shop")}}
	out, err := c.CreateService(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	s := out.Service
	got := []any{
		len(s.CapacityProviderStrategy), s.LaunchType, aws.ToInt32(s.DeploymentConfiguration.MaximumPercent),
		aws.ToInt32(s.DeploymentConfiguration.MinimumHealthyPercent), s.EnableExecuteCommand, len(s.Tags), s.SchedulingStrategy,
	}
	if d := cmp.Diff([]any{1, types.LaunchType(""), int32(150), int32(100), true, 1, types.SchedulingStrategyReplica}, got); d != "" {
		t.Errorf("members (-want +got):\n%s", d)
	}
}

// UpdateService starts a deployment for some members only.
func TestECSUpdateService(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	definition := c.define(t, "web", "web:1")
	c.create(t, c.web(definition))
	tests := []struct {
		name string
		in   ecs.UpdateServiceInput
		want int
	}{
		{name: "nothing", want: 1},
		{name: "the same definition", in: ecs.UpdateServiceInput{TaskDefinition: &definition}, want: 1},
		{name: "the count", in: ecs.UpdateServiceInput{DesiredCount: aws.Int32(1)}, want: 1},
		{name: "the bounds", in: ecs.UpdateServiceInput{DeploymentConfiguration: &types.DeploymentConfiguration{MinimumHealthyPercent: aws.Int32(50)}}, want: 1},
		{name: "a definition", in: ecs.UpdateServiceInput{TaskDefinition: aws.String(c.define(t, "web", "web:2"))}, want: 2},
		{name: "by force", in: ecs.UpdateServiceInput{ForceNewDeployment: true}, want: 2},
	}
	for _, tt := range tests {
		if got := len(c.update(t, tt.in).Deployments); got != tt.want {
			t.Errorf("%s: %d deployments, want %d", tt.name, got, tt.want)
		}
		c.world.Pass(time.Minute)
	}
	if got, want := c.look(t), "ACTIVE 1/1+0 web:2, PRIMARY COMPLETED 1/1"; got != want {
		t.Errorf("in the end %s, want %s", got, want)
	}
}

// A service that is deleted drains, and then may be made again.
func TestECSDeleteService(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	in := c.web(c.define(t, "web", "web:1"))
	c.create(t, in)
	_, err := c.DeleteService(t.Context(), &ecs.DeleteServiceInput{Cluster: in.Cluster, Service: in.ServiceName})
	wantCode(t, "without force", err, "InvalidParameterException")
	if _, err := c.DeleteService(t.Context(), &ecs.DeleteServiceInput{Cluster: in.Cluster, Service: in.ServiceName, Force: aws.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	if got, want := c.look(t), "DRAINING 2/0+0 web:1, PRIMARY COMPLETED 2/0"; got != want {
		t.Errorf("deleted: %s, want %s", got, want)
	}
	list, err := c.ListServices(t.Context(), &ecs.ListServicesInput{Cluster: in.Cluster})
	if err != nil || len(list.ServiceArns) != 0 {
		t.Errorf("listed: %v, %v, want none", list.ServiceArns, err)
	}
	_, err = c.CreateService(t.Context(), in)
	wantCode(t, "while it drains", err, "InvalidParameterException")
	c.world.Pass(10 * time.Second)
	if got, want := c.look(t), "INACTIVE 0/0+0 web:1"; got != want {
		t.Errorf("then: %s, want %s", got, want)
	}
	_, err = c.UpdateService(t.Context(), &ecs.UpdateServiceInput{Cluster: in.Cluster, Service: in.ServiceName, DesiredCount: aws.Int32(1)})
	wantCode(t, "update it", err, "ServiceNotActiveException")
	_, err = c.CreateService(t.Context(), in)
	wantCode(t, "again", err, "")
}

// Lists have pages, and there are bounds to what is described at once.
func TestECSLists(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	definition := c.define(t, "web", "web:1")
	names := make([]string, 11)
	for i := range names {
		in := c.web(definition)
		names[i] = fmt.Sprintf("web-%d", i)
		in.ServiceName, in.ClientToken, in.DesiredCount = &names[i], nil, aws.Int32(0)
		if _, err := c.CreateService(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	page, err := c.ListServices(t.Context(), &ecs.ListServicesInput{Cluster: aws.String("test")})
	if err != nil || len(page.ServiceArns) != 10 || page.NextToken == nil {
		t.Errorf("a page of services: %d, token %v, %v", len(page.ServiceArns), page.NextToken, err)
	}
	_, err = c.DescribeServices(t.Context(), &ecs.DescribeServicesInput{Cluster: aws.String("test"), Services: names})
	wantCode(t, "eleven services", err, "InvalidParameterException")
	_, err = c.ListTasks(t.Context(), &ecs.ListTasksInput{Cluster: aws.String("test"), StartedBy: aws.String("x"), ServiceName: &names[0]})
	wantCode(t, "two filters", err, "InvalidParameterException")
	c.define(t, "web", "web:2")
	described, err := c.DescribeTaskDefinition(t.Context(), &ecs.DescribeTaskDefinitionInput{
		TaskDefinition: aws.String("web"), Include: []types.TaskDefinitionField{types.TaskDefinitionFieldTags},
	})
	if err != nil || described.TaskDefinition.Revision != 2 || len(described.Tags) != 1 {
		t.Errorf("the family's definition: %+v, %v", described, err)
	}
	definitions, err := c.ListTaskDefinitions(t.Context(), &ecs.ListTaskDefinitionsInput{
		FamilyPrefix: aws.String("web"), Sort: types.SortOrderDesc, MaxResults: aws.Int32(1),
	})
	if err != nil || len(definitions.TaskDefinitionArns) != 1 || !strings.HasSuffix(definitions.TaskDefinitionArns[0], "/web:2") {
		t.Errorf("the newest definition: %v, %v", definitions.TaskDefinitionArns, err)
	}
}

// Tasks of RunTask end as their images say, once for each token.
func TestECSRunTask(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	run := func(image, token string, count int32) (*ecs.RunTaskOutput, error) {
		return c.RunTask(t.Context(), &ecs.RunTaskInput{
			Cluster: aws.String("test"), TaskDefinition: aws.String(image), LaunchType: types.LaunchTypeFargate, NetworkConfiguration: c.network,
			Count: &count, ClientToken: &token, StartedBy: aws.String("slipway-1"),
		})
	}
	c.define(t, "job", "job:exit-3")
	c.define(t, "fine", "fine:1")
	c.define(t, "big", "big:noroom-1")
	first, err := run("job", "a", 2)
	if err != nil {
		t.Fatal(err)
	}
	again, err := run("job", "a", 2)
	if err != nil || *again.Tasks[1].TaskArn != *first.Tasks[1].TaskArn {
		t.Errorf("the same token: %v, want the same tasks", err)
	}
	_, err = run("fine", "a", 2)
	wantCode(t, "the token of another request", err, "ConflictException")
	_, err = run("job", "b", 11)
	wantCode(t, "eleven tasks", err, "InvalidParameterException")
	full, err := run("big", "c", 1)
	if err != nil || len(full.Tasks) != 0 || !strings.HasPrefix(aws.ToString(full.Failures[0].Reason), "Capacity is unavailable") {
		t.Errorf("no room: %+v, %v", full, err)
	}
	if room, err := run("big", "d", 1); err != nil || len(room.Tasks) != 1 {
		t.Errorf("room then: %+v, %v", room, err)
	}
	fine, err := run("fine", "e", 1)
	if err != nil {
		t.Fatal(err)
	}
	c.world.Pass(time.Minute)
	out, err := c.DescribeTasks(t.Context(), &ecs.DescribeTasksInput{
		Cluster: aws.String("test"), Tasks: []string{*first.Tasks[0].TaskArn, *fine.Tasks[0].TaskArn, "none"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{aws.ToString(out.Failures[0].Reason)}
	for _, task := range out.Tasks {
		text := []string{aws.ToString(task.LastStatus), aws.ToString(task.StoppedReason)}
		for _, container := range task.Containers {
			text = append(text, fmt.Sprintf("%s %d", *container.Name, aws.ToInt32(container.ExitCode)))
		}
		got = append(got, strings.Join(text, ", "))
	}
	want := []string{
		"MISSING", "STOPPED, Essential container in task exited, app 3, side 137",
		"STOPPED, Essential container in task exited, app 0, side 137",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("tasks (-want +got):\n%s", d)
	}
}

// Service deployments tell how each deployment ended, and can be stopped.
func TestECSServiceDeployments(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.create(t, c.web(c.define(t, "web", "web:1")))
	c.update(t, ecs.UpdateServiceInput{TaskDefinition: aws.String(c.define(t, "web", "web:slow"))})
	states := func() (states []types.ServiceDeploymentStatus, newest *string) {
		out, err := c.ListServiceDeployments(t.Context(), &ecs.ListServiceDeploymentsInput{Cluster: aws.String("test"), Service: aws.String("web")})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range out.ServiceDeployments {
			states = append(states, d.Status)
		}
		return states, out.ServiceDeployments[0].ServiceDeploymentArn
	}
	before, newest := states()
	if _, err := c.StopServiceDeployment(t.Context(), &ecs.StopServiceDeploymentInput{ServiceDeploymentArn: newest}); err != nil {
		t.Fatal(err)
	}
	during, _ := states()
	c.world.Pass(time.Minute)
	after, _ := states()
	want := [][]types.ServiceDeploymentStatus{
		{types.ServiceDeploymentStatusInProgress, types.ServiceDeploymentStatusSuccessful},
		{types.ServiceDeploymentStatusRollbackInProgress, types.ServiceDeploymentStatusSuccessful},
		{types.ServiceDeploymentStatusRollbackSuccessful, types.ServiceDeploymentStatusSuccessful},
	}
	if d := cmp.Diff(want, [][]types.ServiceDeploymentStatus{before, during, after}); d != "" {
		t.Errorf("service deployments (-want +got):\n%s", d)
	}
	described, err := c.DescribeServiceDeployments(t.Context(), &ecs.DescribeServiceDeploymentsInput{ServiceDeploymentArns: []string{*newest}})
	if err != nil {
		t.Fatal(err)
	}
	revision := described.ServiceDeployments[0].TargetServiceRevision.Arn
	revisions, err := c.DescribeServiceRevisions(t.Context(), &ecs.DescribeServiceRevisionsInput{ServiceRevisionArns: []string{*revision}})
	if err != nil || !strings.HasSuffix(*revisions.ServiceRevisions[0].TaskDefinition, "/web:2") {
		t.Errorf("the revision: %+v, %v", revisions, err)
	}
}

// A deployment by which ECS moves the traffic has its tasks beside the old ones
// until its bake time is over.
func TestServicesWhoseTrafficECSMoves(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	in := c.web(c.define(t, "web", "web:1"))
	in.DeploymentConfiguration = &types.DeploymentConfiguration{Strategy: types.DeploymentStrategyBlueGreen, BakeTimeInMinutes: aws.Int32(5)}
	c.create(t, in)
	c.update(t, ecs.UpdateServiceInput{TaskDefinition: aws.String(c.define(t, "web", "web:2"))})
	stage := func(want types.ServiceDeploymentLifecycleStage, status types.ServiceDeploymentStatus, look string) {
		t.Helper()
		list, err := c.ListServiceDeployments(t.Context(), &ecs.ListServiceDeploymentsInput{Cluster: aws.String("test"), Service: aws.String("web")})
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.DescribeServiceDeployments(t.Context(), &ecs.DescribeServiceDeploymentsInput{ServiceDeploymentArns: []string{*list.ServiceDeployments[0].ServiceDeploymentArn}})
		if err != nil {
			t.Fatal(err)
		}
		if d := out.ServiceDeployments[0]; d.LifecycleStage != want || d.Status != status {
			t.Errorf("the deployment is %s at %s; want %s at %s", d.Status, d.LifecycleStage, status, want)
		}
		if got := c.look(t); got != look {
			t.Errorf("the service is %s; want %s", got, look)
		}
	}
	stage(types.ServiceDeploymentLifecycleStageScaleUp, types.ServiceDeploymentStatusInProgress, "ACTIVE 2/2+0 web:2, PRIMARY IN_PROGRESS 0/2, ACTIVE COMPLETED 2/0")
	c.world.Pass(time.Minute)
	stage(types.ServiceDeploymentLifecycleStageBakeTime, types.ServiceDeploymentStatusInProgress, "ACTIVE 4/2+0 web:2, PRIMARY IN_PROGRESS 2/2, ACTIVE COMPLETED 2/0")
	c.world.Pass(6 * time.Minute)
	stage(types.ServiceDeploymentLifecycleStageCleanUp, types.ServiceDeploymentStatusSuccessful, "ACTIVE 2/2+0 web:2, PRIMARY COMPLETED 2/2")
}
