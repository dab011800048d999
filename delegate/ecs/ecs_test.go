package ecs_test

import (
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	scaling "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/ecs"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/internal/testaws"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
	ecslane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
	"github.com/slipway-cd/slipway/pkg/task"
)

// The documents of a service, as people write them.
const (
	taskDefinition = `
family: web
networkMode: awsvpc
requiresCompatibilities: [FARGATE]
cpu: 256 # a number, where AWS has a text
memory: "512"
containerDefinitions:
  - {name: web, image: IMAGE, portMappings: [{containerPort: 80}]}
`
	serviceDefinition = `
serviceName: web
launchType: FARGATE
desiredCount: 2
networkConfiguration: {awsvpcConfiguration: {subnets: [SUBNET]}}
deploymentConfiguration: {deploymentCircuitBreaker: {enable: true, rollback: true}}
`
	scalableTarget = "minCapacity: 1\nmaxCapacity: 4\n"
	scalingPolicy  = `
policyName: cpu
policyType: TargetTrackingScaling
targetTrackingScalingPolicyConfiguration:
  targetValue: 60.0
  predefinedMetricSpecification: {predefinedMetricType: ECSServiceAverageCPUUtilization}
`
)

// stage is a stage that deploys to an account's cluster.
type stage struct {
	*testaws.World
	kind    executor.Kind
	env     *executortest.Env
	image   string
	service string
	attempt int
	// execution is another for each stage of an account.
	execution string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	w := testaws.NewWorld(t)
	s := &stage{World: w, service: strings.Replace(serviceDefinition, "SUBNET", w.Network().Subnets[0], 1)}
	s.kind = kindAt(w)
	s.UnderPolicy("../../docs/ecs.md",
		"ecs:DeregisterTaskDefinition", "ecs:ListTaskDefinitions", "ecr:CreateRepository", "ecr:PutImage", "ecr:CreatePullThroughCacheRule", "secretsmanager:CreateSecret", "secretsmanager:DeleteSecret", "ssm:PutParameter", "elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:CreateTargetGroup",
		"elasticloadbalancing:CreateListener", "elasticloadbalancing:CreateRule")
	return s.next(t, "web:1")
}

// kindAt does tasks in an account.
func kindAt(w *testaws.World) executor.Kind {
	return ecs.Kind(ecs.Config{
		Accesses: &aws.Accesses{Options: []func(*config.LoadOptions) error{config.WithBaseEndpoint(w.Endpoint)}}, Pace: awswait.Every(10 * time.Millisecond),
	})
}

// copy is the same stage in a copy of its account.
func (s *stage) copy(t *testing.T) *stage {
	t.Helper()
	other := *s
	other.World, other.env = s.Copy(t), s.env.Copy(t)
	other.kind = kindAt(other.World)
	return &other
}

// next is another execution, of another image.
func (s *stage) next(t *testing.T, image string) *stage {
	t.Helper()
	other := *s
	other.env, other.image, other.attempt = executortest.New(t, nil), image, 1
	other.execution = "e" + image
	return &other
}

func manifest(kind, text string) *lane.Manifest {
	return &lane.Manifest{ID: strings.ToLower(kind), Type: kind, Store: task.Store{Inline: text}}
}

// assignment is a task of the stage.
func (s *stage) assignment(t *testing.T, op ecslane.Op, change ...func(*ecslane.Spec)) task.Assignment {
	t.Helper()
	account := task.AWS{Auth: task.AWSKeys, AccessKey: "AKIA", SecretKey: "s", Region: testaws.Region}
	spec := ecslane.Spec{Op: op, Target: ecslane.Target{
		AWS: account, Cluster: "test",
		TaskDefinition: manifest("EcsTaskDefinition", strings.Replace(taskDefinition, "IMAGE", s.image, 1)),
		Service:        manifest("EcsServiceDefinition", s.service),
	}}
	for _, c := range change {
		c(&spec)
	}
	w := task.Work{Execution: s.execution, Stage: "deploy", Step: string(op), Target: task.Target{Service: "web", Environment: "dev", Infrastructure: "ecs"}}
	a := executortest.Work(t, ecslane.Kind, w, spec, ecslane.Place{AWS: account, Cluster: "test"})
	a.Execution, a.Node, a.Attempt = s.execution, string(op), s.attempt
	return a
}

// does does a task.
func (s *stage) does(t *testing.T, op ecslane.Op, change ...func(*ecslane.Spec)) task.Result {
	t.Helper()
	return s.env.Does(t, s.kind, s.assignment(t, op, change...))
}

// succeeds does a task that must go well.
func (s *stage) succeeds(t *testing.T, op ecslane.Op, change ...func(*ecslane.Spec)) task.Result {
	t.Helper()
	return s.env.Succeeds(t, s.kind, s.assignment(t, op, change...))
}

// refused does a task that must fail with a message.
func (s *stage) refused(t *testing.T, message string, op ecslane.Op, change ...func(*ecslane.Spec)) task.Result {
	t.Helper()
	return s.env.Refused(t, message, s.kind, s.assignment(t, op, change...))
}

// compares does a task of a preview, which changes nothing.
func (s *stage) compares(t *testing.T, op ecslane.Op, changed string, lines []string, change ...func(*ecslane.Spec)) {
	t.Helper()
	since := len(s.Calls())
	s.env.Compares(t, s.kind, s.assignment(t, op, change...), changed, lines)
	if got := s.changes(since); len(got) > 0 {
		t.Errorf("the preview changes %v", got)
	}
}

func (s *stage) log() string { return s.env.Logged() }

func (s *stage) client() *awsecs.Client  { return awsecs.NewFromConfig(s.Config()) }
func (s *stage) scaler() *scaling.Client { return scaling.NewFromConfig(s.Config()) }
func resource(service string) string     { return "service/test/" + service }

// live is a service of the cluster; nil for none.
func (s *stage) live(t *testing.T, name string) *types.Service {
	t.Helper()
	out, err := s.client().DescribeServices(t.Context(), &awsecs.DescribeServicesInput{Cluster: sdk.String("test"), Services: []string{name}, Include: []types.ServiceField{types.ServiceFieldTags}})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Services) == 0 || sdk.ToString(out.Services[0].Status) == "INACTIVE" {
		return nil
	}
	return &out.Services[0]
}

// changes are the operations that changed something since a number of calls.
func (s *stage) changes(since int) []string { return s.Changes(since) }

// output is one of a result's outputs.
func output(t *testing.T, r task.Result, name string) any {
	t.Helper()
	return executortest.Output(t, r, name)
}

// Where tagging is forbidden, a delegate can do without: nothing is tagged, and all
// goes on as before.
func TestUntagged(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.kind = ecs.Kind(ecs.Config{
		Accesses: &aws.Accesses{Untagged: true, Options: []func(*config.LoadOptions) error{config.WithBaseEndpoint(s.Endpoint)}}, Pace: awswait.Every(10 * time.Millisecond),
	})
	s.succeeds(t, ecslane.OpRolling, withScaling)
	next := s.next(t, "web:2")
	next.succeeds(t, ecslane.OpRolling, withScaling)
	next.succeeds(t, ecslane.OpRollingRollback)
	if got := next.running(t); got != "web:1" {
		t.Errorf("after the rollback runs %s", got)
	}
	for _, c := range s.Calls() {
		if strings.Contains(string(c.Parameters), "slipway:") || strings.HasSuffix(c.Operation, ":TagResource") {
			t.Errorf("%s tags: %s", c.Operation, c.Parameters)
		}
	}
}
