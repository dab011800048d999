package asg_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/slipway-cd/slipway/delegate/asg"
	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/internal/testaws"
	asglane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/task"
)

// The documents of a service, as people write them.
const (
	launchTemplate = `
LaunchTemplateData: {InstanceType: t3.micro, ImageId: ami-of-the-file}
`
	configuration = `
autoScalingGroupName: web
minSize: 1
maxSize: 4
desiredCapacity: 2
vpcZoneIdentifier: SUBNET
`
)

// stage is a stage that deploys to an account.
type stage struct {
	*testaws.World
	kind          executor.Kind
	env           *executortest.Env
	images        map[string]string // ids by their names
	image         string            // the name of the one that is deployed
	configuration string
	attempt       int
	// execution is another for each stage of an account.
	execution string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	w := testaws.NewWorld(t)
	s := &stage{World: w, images: map[string]string{}, configuration: strings.Replace(configuration, "SUBNET", w.Network().Subnets[0], 1)}
	s.kind = s.with()
	w.UnderPolicy("../../docs/asg.md", "ec2:CreateImage", "ec2:DescribeLaunchTemplates", "ec2:RunInstances", "ec2:TerminateInstances",
		"elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:CreateTargetGroup", "elasticloadbalancing:CreateListener", "elasticloadbalancing:CreateRule")
	return s.next(t, "web-1")
}

// with is a delegate, perhaps with more options.
func (s *stage) with(more ...func(*config.LoadOptions) error) executor.Kind {
	return asg.Kind(asg.Config{
		Accesses: &aws.Accesses{Options: append(more, config.WithBaseEndpoint(s.Endpoint))}, Pace: awswait.Every(10 * time.Millisecond),
	})
}

// copy is the same stage in a copy of its account.
func (s *stage) copy(t *testing.T) *stage {
	t.Helper()
	other := *s
	other.World, other.env, other.images = s.Copy(t), s.env.Copy(t), maps.Clone(s.images)
	other.kind = other.with()
	return &other
}

// next is another execution, of another image.
func (s *stage) next(t *testing.T, image string) *stage {
	t.Helper()
	other := *s
	other.env, other.image, other.attempt = executortest.New(t, nil), image, 1
	other.execution = "e" + image
	s.imageOf(t, image)
	return &other
}

// imageOf gives the id of the account's image of a name, which is made if there is
// none.
func (s *stage) imageOf(t *testing.T, name string) string {
	t.Helper()
	if s.images[name] != "" {
		return s.images[name]
	}
	if s.images[""] == "" { // whose image it is
		out, err := s.machines().RunInstances(t.Context(), &ec2.RunInstancesInput{ImageId: sdk.String("ami-12c6146b"), MinCount: sdk.Int32(1), MaxCount: sdk.Int32(1)})
		if err != nil {
			t.Fatal(err)
		}
		s.images[""] = *out.Instances[0].InstanceId
	}
	out, err := s.machines().CreateImage(t.Context(), &ec2.CreateImageInput{InstanceId: sdk.String(s.images[""]), Name: &name})
	if err != nil {
		t.Fatal(err)
	}
	s.images[name] = *out.ImageId
	return s.images[name]
}

func manifest(kind, text string) *lane.Manifest {
	return &lane.Manifest{ID: strings.ToLower(kind), Type: kind, Store: task.Store{Inline: text}}
}

// account is how the delegate reaches the account.
func account() task.AWS {
	return task.AWS{Auth: task.AWSKeys, AccessKey: "AKIA", SecretKey: "s", Region: testaws.Region}
}

// assignment is a task of the stage.
func (s *stage) assignment(t *testing.T, op asglane.Op, change ...func(*asglane.Spec)) task.Assignment {
	t.Helper()
	spec := asglane.Spec{Op: op, Target: asglane.Target{
		AWS: account(), Image: s.images[s.image],
		Template: manifest("AsgLaunchTemplate", launchTemplate), Configuration: manifest("AsgConfiguration", s.configuration),
	}}
	if op == asglane.OpRolling {
		spec.Refresh = &asglane.Refresh{MinHealthy: 90, MaxHealthy: 110, SkipMatching: true, Another: asglane.AnotherFails}
	}
	for _, c := range change {
		c(&spec)
	}
	w := task.Work{Execution: s.execution, Stage: "deploy", Step: string(op), Target: task.Target{Service: "web", Environment: "dev", Infrastructure: "asg"}}
	a := executortest.Work(t, asglane.Kind, w, spec, asglane.Place{AWS: account()})
	a.Execution, a.Node, a.Attempt = s.execution, string(op), s.attempt
	return a
}

// does does a task.
func (s *stage) does(t *testing.T, op asglane.Op, change ...func(*asglane.Spec)) task.Result {
	t.Helper()
	return s.env.Does(t, s.kind, s.assignment(t, op, change...))
}

// succeeds does a task that must go well.
func (s *stage) succeeds(t *testing.T, op asglane.Op, change ...func(*asglane.Spec)) task.Result {
	t.Helper()
	return s.env.Succeeds(t, s.kind, s.assignment(t, op, change...))
}

// refused does a task that must fail with a message.
func (s *stage) refused(t *testing.T, message string, op asglane.Op, change ...func(*asglane.Spec)) task.Result {
	t.Helper()
	return s.env.Refused(t, message, s.kind, s.assignment(t, op, change...))
}

// compares does a task of a preview, which changes nothing.
func (s *stage) compares(t *testing.T, op asglane.Op, changed string, lines []string, change ...func(*asglane.Spec)) {
	t.Helper()
	since := len(s.Calls())
	s.env.Compares(t, s.kind, s.assignment(t, op, change...), changed, lines)
	if got := s.changes(since); len(got) > 0 {
		t.Errorf("the preview changes %v", got)
	}
}

func (s *stage) log() string { return s.env.Logged() }

func (s *stage) groups() *autoscaling.Client { return autoscaling.NewFromConfig(s.Config()) }
func (s *stage) machines() *ec2.Client       { return ec2.NewFromConfig(s.Config()) }

// live is a group of the account; nil for none.
func (s *stage) live(t *testing.T, name string) *types.AutoScalingGroup {
	t.Helper()
	out, err := s.groups().DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.AutoScalingGroups) == 0 || sdk.ToString(out.AutoScalingGroups[0].Status) != "" {
		return nil
	}
	return &out.AutoScalingGroups[0]
}

// runs is the version from which a group starts machines, how many it should have,
// and of which versions those are that serve.
func (s *stage) runs(t *testing.T, name string) string {
	t.Helper()
	one := s.live(t, name)
	if one == nil {
		return "gone"
	}
	var serve []string
	for _, i := range one.Instances {
		if i.LifecycleState == types.LifecycleStateInService {
			serve = append(serve, sdk.ToString(i.LaunchTemplate.Version))
		}
	}
	slices.Sort(serve)
	return fmt.Sprintf("version %s, %d to %d, %d desired: %s",
		sdk.ToString(one.LaunchTemplate.Version), *one.MinSize, *one.MaxSize, *one.DesiredCapacity, strings.Join(serve, " "))
}

// becomes waits until a group runs what it should.
func (s *stage) becomes(t *testing.T, name, want string) {
	t.Helper()
	for got := s.runs(t, name); got != want; got = s.runs(t, name) {
		select {
		case <-t.Context().Done():
			t.Fatalf("the group is %s; want %s", got, want)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// changes are the operations that changed something since a number of calls.
func (s *stage) changes(since int) []string { return s.Changes(since, "RunInstances", "CreateImage") }

// output is one of a result's outputs.
func output(t *testing.T, r task.Result, name string) any {
	t.Helper()
	return executortest.Output(t, r, name)
}

// serverInstances are the machines of a result's deploymentInfoOutcome.
func serverInstances(t *testing.T, r task.Result) string {
	t.Helper()
	var doc struct {
		Info struct {
			List []struct {
				Strategy   string `json:"executionStrategy"`
				Production bool   `json:"production"`
			} `json:"serverInstanceInfoList"`
		} `json:"deploymentInfoOutcome"`
	}
	if err := json.Unmarshal(r.Outputs, &doc); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, one := range doc.Info.List {
		all = append(all, fmt.Sprintf("%s %t", one.Strategy, one.Production))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
