package elastigroup_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	delegateaws "github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/delegate/elastigroup"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
	spot "github.com/slipway-cd/slipway/pkg/swimlane/elastigroup"
	"github.com/slipway-cd/slipway/pkg/task"
)

// configuration is a group as people write it.
const configuration = `{"group": {
	"name": "whatever", "region": "eu-central-1",
	"capacity": {"minimum": 1, "maximum": 1, "target": 1, "unit": "instance"},
	"strategy": {"risk": 100, "availabilityVsCost": "balanced", "fallbackToOd": true},
	"compute": {
		"instanceTypes": {"ondemand": "t3.micro", "spot": ["t3.micro"]},
		"availabilityZones": [{"name": "eu-central-1a", "subnetIds": ["subnet-1"]}],
		"product": "Linux/UNIX",
		"launchSpecification": {"imageId": "ami-of-the-file", "keyPair": "keys", "securityGroupIds": ["sg-1"], "healthCheckType": "EC2"}
	},
	"scaling": {}, "scheduling": {}, "thirdPartiesIntegration": {}
}}`

// stage is a stage that deploys to an account of Spot.
type stage struct {
	*testservers.Spot
	kind    executor.Kind
	env     *executortest.Env
	image   string
	attempt int
	// execution is another for each stage of an account.
	execution string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Spot: testservers.NewSpot(t)}
	s.kind = with(s.via())
	return s.next(t, "ami-1")
}

func (s *stage) via() http.RoundTripper { return testservers.Reroute{testservers.SpotHost: s.URL} }

// with is a delegate that reaches Spot in a way, and AWS perhaps in another.
func with(via http.RoundTripper, options ...func(*config.LoadOptions) error) executor.Kind {
	return elastigroup.Kind(elastigroup.Config{
		Accesses: accesses(options...), Via: via, Pace: awswait.Every(time.Millisecond), Patience: time.Millisecond,
	})
}

func accesses(options ...func(*config.LoadOptions) error) *delegateaws.Accesses {
	return &delegateaws.Accesses{Options: options}
}

// next is another execution, of another image.
func (s *stage) next(t *testing.T, image string) *stage {
	t.Helper()
	other := *s
	other.env, other.image, other.attempt, other.execution = executortest.New(t, nil), image, 1, "e"+image
	return &other
}

func account() task.Server {
	a := task.Server{URL: "https://" + testservers.SpotHost, Auth: task.AuthBearer, Account: testservers.SpotAccount}
	a.Token = testservers.SpotToken
	return a
}

func document(name, text string) *lane.Manifest {
	return &lane.Manifest{ID: name, Type: name, Store: task.Store{Inline: text}}
}

// assignment is a task of the stage.
func (s *stage) assignment(t *testing.T, op spot.Op, change ...func(*spot.Spec)) task.Assignment {
	t.Helper()
	spec := spot.Spec{Op: op, Target: spot.Target{Spot: account(), Image: s.image}}
	if op == spot.OpSetup {
		spec.Name, spec.Size = "web", &lane.Size{Min: 1, Max: 4, Desired: 4}
		spec.Target.Configuration, spec.Target.Startup = document("configuration", configuration), document("startupScript", "#!/bin/sh\nstart\n")
	}
	for _, c := range change {
		c(&spec)
	}
	w := task.Work{Execution: s.execution, Stage: "deploy", Step: string(op), Target: task.Target{Service: "web", Environment: "dev", Infrastructure: "spot"}}
	a := executortest.Work(t, spot.Kind, w, spec, spot.Place{Spot: account()})
	a.Execution, a.Node, a.Attempt = s.execution, string(op), s.attempt
	return a
}

// does does a task.
func (s *stage) does(t *testing.T, op spot.Op, change ...func(*spot.Spec)) task.Result {
	t.Helper()
	return s.env.Does(t, s.kind, s.assignment(t, op, change...))
}

// succeeds does a task that must go well.
func (s *stage) succeeds(t *testing.T, op spot.Op, change ...func(*spot.Spec)) task.Result {
	t.Helper()
	return s.env.Succeeds(t, s.kind, s.assignment(t, op, change...))
}

// refused does a task that must fail with a message, for a reason.
func (s *stage) refused(t *testing.T, message string, why fault.FailureType, op spot.Op, change ...func(*spot.Spec)) {
	t.Helper()
	r := s.does(t, op, change...)
	if r.Status != task.Failed || !strings.Contains(r.Message, message) || !slices.Contains(r.FailureTypes, why) {
		t.Fatalf("%s is %s by %v: %s; want a failure by %s with %q\n%s", op, r.Status, r.FailureTypes, r.Message, why, message, s.log())
	}
}

func (s *stage) log() string { return s.env.Logged() }

// are checks which groups there are.
func (s *stage) are(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(slices.Concat([]string{}, want), s.Groups(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the groups (-want +got):\n%s\n%s", diff, s.log())
	}
}

// output is one of a result's outputs.
func output(t *testing.T, r task.Result, name string) any {
	t.Helper()
	return executortest.Output(t, r, name)
}

func percent(n int) func(*spot.Spec) {
	return func(s *spot.Spec) { s.Deploy = &spot.Deploy{New: lane.Amount{Value: n, Percent: true}} }
}

func count(n int) func(*spot.Spec) {
	return func(s *spot.Spec) { s.Deploy = &spot.Deploy{New: lane.Amount{Value: n}} }
}
