package asg_test

import (
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/internal/testaws"
	asglane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
)

// refreshes are those of the group, the newest first.
func (s *stage) refreshes(t *testing.T) []types.InstanceRefresh {
	t.Helper()
	out, err := s.groups().DescribeInstanceRefreshes(t.Context(), &autoscaling.DescribeInstanceRefreshesInput{AutoScalingGroupName: sdk.String("web")})
	if err != nil {
		t.Fatal(err)
	}
	return out.InstanceRefreshes
}

// disturb starts a refresh of somebody else, and holds the time in which it goes on.
func (s *stage) disturb(t *testing.T) string {
	t.Helper()
	s.Hold()
	out, err := s.groups().StartInstanceRefresh(t.Context(), &autoscaling.StartInstanceRefreshInput{AutoScalingGroupName: sdk.String("web")})
	if err != nil {
		t.Fatal(err)
	}
	return *out.InstanceRefreshId
}

// A refresh of somebody else goes on: the step fails before it changes anything,
// or waits for its end, or cancels it.
func TestAnotherRefresh(t *testing.T) {
	t.Parallel()
	another := func(how asglane.Another) func(*asglane.Spec) {
		return func(s *asglane.Spec) { s.Refresh.Another = how }
	}
	for how, want := range map[asglane.Another]types.InstanceRefreshStatus{
		asglane.AnotherFails: "", asglane.AnotherWaits: types.InstanceRefreshStatusSuccessful, asglane.AnotherYields: types.InstanceRefreshStatusCancelled,
	} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			first := newStage(t)
			first.succeeds(t, asglane.OpRolling)
			s := first.next(t, "web-2")
			id := s.disturb(t)
			since := len(s.Calls())
			if how == asglane.AnotherFails {
				s.refused(t, "another instance refresh of Asg web goes on: "+id+", 0 % completed", asglane.OpRolling)
				if got := s.changes(since); len(got) > 0 {
					t.Errorf("it changes %v; want nothing", got)
				}
				return
			}
			seen := map[asglane.Another]string{asglane.AnotherWaits: "autoscaling:DescribeInstanceRefreshes", asglane.AnotherYields: "autoscaling:CancelInstanceRefresh"}[how]
			go func(n int) { // it goes on until it is seen, or cancelled
				s.Await(seen, n)
				s.Go()
			}(s.Count(seen) + 1)
			s.succeeds(t, asglane.OpRolling, another(how))
			all := s.refreshes(t)
			if len(all) != 2 || all[0].Status != types.InstanceRefreshStatusSuccessful || all[1].Status != want {
				t.Errorf("the refreshes are %+v; want that of somebody else %s", all, want)
			}
			if got := s.runs(t, "web"); got != "version 2, 1 to 4, 2 desired: 2 2" {
				t.Errorf("the group is %s", got)
			}
		})
	}
}

// A rollback during the refresh is AWS's own; where AWS can't, the refresh is
// cancelled and another one leads back.
func TestRollbackDuringTheRefresh(t *testing.T) {
	t.Parallel()
	for name, irreversible := range map[string]bool{"by AWS": false, "irreversible": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := newStage(t)
			first.succeeds(t, asglane.OpRolling)
			s := first.next(t, "slow-2")
			s.Hold()
			s.killed(t, &testaws.Killer{At: 3}, asglane.OpRolling) // after StartInstanceRefresh
			if all := s.refreshes(t); len(all) != 1 {
				t.Fatalf("the refreshes are %+v", all)
			}
			if irreversible {
				s.Fail("autoscaling:RollbackInstanceRefresh", testaws.Fault{Code: "IrreversibleInstanceRefresh", Message: "no", Times: 1})
			}
			since := len(s.Calls())
			go func() {
				s.Await("autoscaling:RollbackInstanceRefresh", 1)
				s.Go()
			}()
			s.succeeds(t, asglane.OpRollingRollback)
			got := strings.Join(s.changes(since), " ")
			if irreversible {
				if !strings.HasPrefix(got, "RollbackInstanceRefresh CancelInstanceRefresh") {
					t.Errorf("the rollback changes %s", got)
				}
			} else if !strings.HasPrefix(got, "RollbackInstanceRefresh") || strings.Contains(got, "StartInstanceRefresh") {
				t.Errorf("the rollback changes %s", got)
			}
			if got := s.runs(t, "web"); got != "version 1, 1 to 4, 2 desired: 1 1" {
				t.Errorf("after the rollback the group is %s", got)
			}
		})
	}
}

// The step ends when as many new machines serve as should; AsgSteadyState waits for
// the refresh.
func TestSkipTerminationThenSteadyState(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, asglane.OpRolling)
	s := first.next(t, "web-2")
	r := s.succeeds(t, asglane.OpRolling, func(s *asglane.Spec) { s.Refresh.Early, s.Refresh.MaxHealthy = true, 190 })
	steady := s.succeeds(t, asglane.OpSteadyState)
	if id := output(t, r, "instanceRefreshId"); id == nil || output(t, steady, "instanceRefreshId") != id {
		t.Errorf("the refreshes are %v and %v", id, output(t, steady, "instanceRefreshId"))
	}
	if all := s.refreshes(t); all[0].Status != types.InstanceRefreshStatusSuccessful {
		t.Errorf("after AsgSteadyState the refresh is %s", all[0].Status)
	}
	if got := s.runs(t, "web"); got != "version 2, 1 to 4, 2 desired: 2 2" {
		t.Errorf("the group is %s", got)
	}
}

// AsgSteadyState waits for a refresh: after a canary there is none, nor where there
// is no group.
func TestSteadyStateWithoutARefresh(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.refused(t, "there is no Asg web", asglane.OpSteadyState)
	s.succeeds(t, asglane.OpRolling)
	s.succeeds(t, asglane.OpSteadyState) // the stage has made the group
	s = s.next(t, "web-2")
	s.succeeds(t, asglane.OpCanary, count(1))
	s.refused(t, "not supported for canary and blue/green", asglane.OpSteadyState)
	s.refused(t, "there is no Asg other", asglane.OpSteadyState, func(s *asglane.Spec) { s.Name = "other" })
}

// A group that follows the newest version of its template is held to what it has
// until the refresh has succeeded.
func TestNewestVersionIsPinned(t *testing.T) {
	t.Parallel()
	first := newStage(t)
	first.succeeds(t, asglane.OpRolling)
	live := first.live(t, "web")
	if _, err := first.groups().UpdateAutoScalingGroup(t.Context(), &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: sdk.String("web"), LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateId: live.LaunchTemplate.LaunchTemplateId, Version: sdk.String("$Latest")},
	}); err != nil {
		t.Fatal(err)
	}
	s := first.next(t, "crash-2")
	s.refused(t, "is Failed", asglane.OpRolling)
	if got := *s.live(t, "web").LaunchTemplate.Version; got != "1" {
		t.Errorf("after the failure the group has version %s", got)
	}
	s.succeeds(t, asglane.OpRollingRollback)
	if got := s.runs(t, "web"); got != "version 1, 1 to 4, 2 desired: 1 1" {
		t.Errorf("after the rollback the group is %s", got)
	}
}

// There is no room for machines: the step's time is up, and AWS's reason is told.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	s := newStage(t).next(t, "noroom")
	s.Pass(time.Minute)
	s.Go()
	r := s.expires(t, asglane.OpRolling)
	if !strings.Contains(r.Message, "0/2 instances are healthy") || !strings.Contains(r.Message, "We currently do not have sufficient capacity") {
		t.Errorf("it failed by %s", r.Message)
	}
	if log := s.env.Text("Deploy", executor.Info); !strings.Contains(log, "Failed: Launching a new EC2 instance") {
		t.Errorf("the log says:\n%s", log)
	}
	s.succeeds(t, asglane.OpRollingRollback)
	if got := s.runs(t, "web"); got != "gone" {
		t.Errorf("after the rollback the group is %s", got)
	}
}
