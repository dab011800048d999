package elastigroup_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/fault"
	awslane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
	spot "github.com/slipway-cd/slipway/pkg/swimlane/elastigroup"
)

// The first group is made without machines, and gets them in phases.
func TestTheFirstGroup(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.succeeds(t, spot.OpSetup)
	s.are(t, "web__1: 0 to 4, 0 desired of ami-1, 0 there")
	if name, id, n := output(t, r, "newElastigroupName"), output(t, r, "newElastigroupId"), output(t, r, "targetCount"); name != "web__1" || id != "sig-1" || n != 4.0 {
		t.Errorf("the outputs are %v, %v, %v", name, id, n)
	}
	g := s.Group("web__1")
	launch := g["compute"].(map[string]any)["launchSpecification"].(map[string]any)
	if launch["userData"] != base64.StdEncoding.EncodeToString([]byte("#!/bin/sh\nstart\n")) || launch["keyPair"] != "keys" {
		t.Errorf("it starts %v", launch)
	}
	if tags := fmt.Sprint(launch["tags"]); !strings.Contains(tags, "tagKey:slipway:service tagValue:web") {
		t.Errorf("its tags are %s", tags)
	}

	s.succeeds(t, spot.OpDeploy, percent(50))
	s.are(t, "web__1: 1 to 4, 2 desired of ami-1, 2 there")
	r = s.succeeds(t, spot.OpDeploy, count(4))
	s.are(t, "web__1: 1 to 4, 4 desired of ami-1, 4 there")
	if len(r.Changes) != 1 || len(r.Changes[0].Instances) != 4 || r.Changes[0].Instances[0].Images[0] != "ami-1" || !r.Changes[0].Instances[0].Ready {
		t.Errorf("the ledger gets %+v", r.Changes)
	}
	if !strings.Contains(string(r.Outputs), `"serverInstanceInfoList":[{"elastigroupId":"sig-1","elastigroupName":"web__1","ec2InstanceId":"i-`) {
		t.Errorf("the outputs are %s", r.Outputs)
	}
}

// deployed is an account in which a group serves.
func deployed(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.succeeds(t, spot.OpSetup)
	s.succeeds(t, spot.OpDeploy, percent(100))
	return s
}

// The next group takes over in phases, and is taken back: the old one first.
func TestTheNextGroup(t *testing.T) {
	t.Parallel()
	s := deployed(t).next(t, "ami-2")
	running := func(s *spot.Spec) { s.Size = &awslane.Size{Running: true} }
	s.succeeds(t, spot.OpSetup, running)
	s.are(t, "web__1: 1 to 4, 4 desired of ami-1, 4 there", "web__2: 0 to 4, 0 desired of ami-2, 0 there")
	r := s.succeeds(t, spot.OpDeploy, percent(25))
	s.are(t, "web__1: 1 to 4, 3 desired of ami-1, 3 there", "web__2: 1 to 4, 1 desired of ami-2, 1 there")
	if up, down := output(t, r, "newCount"), output(t, r, "oldCount"); up != 1.0 || down != 3.0 {
		t.Errorf("the outputs are %v and %v", up, down)
	}
	s.succeeds(t, spot.OpDeploy, func(s *spot.Spec) {
		s.Deploy = &spot.Deploy{New: awslane.Amount{Value: 2}, Old: &awslane.Amount{Value: 25, Percent: true}}
	})
	s.succeeds(t, spot.OpDeploy, count(4))
	before := len(s.Calls())
	s.succeeds(t, spot.OpRollback)
	if diff := cmp.Diff([]string{"PUT sig-1", "DELETE sig-6"}, s.Changes(before)); diff != "" {
		t.Errorf("the rollback's calls (-want +got):\n%s", diff)
	}
	s.are(t, "web__1: 1 to 4, 4 desired of ami-1, 4 there")
	before = len(s.Calls())
	if s.succeeds(t, spot.OpRollback); len(s.Changes(before)) > 0 {
		t.Errorf("a second rollback did %v", s.Changes(before))
	}
}

// Of the groups without machines that earlier stages have left the newest stays.
func TestGroupsWithoutMachines(t *testing.T) {
	t.Parallel()
	s := deployed(t)
	for _, image := range []string{"ami-2", "ami-3", "ami-4"} {
		s = s.next(t, image)
		s.succeeds(t, spot.OpSetup)
		s.succeeds(t, spot.OpDeploy, percent(100))
	}
	s.are(t,
		"web__2: 0 to 4, 0 desired of ami-2, 0 there", "web__3: 0 to 4, 0 desired of ami-3, 0 there", "web__4: 1 to 4, 4 desired of ami-4, 4 there")
}

// What Slipway doesn't know of a group is as it was after an update.
func TestMembersThatNobodyKnows(t *testing.T) {
	t.Parallel()
	s := deployed(t)
	s.Change("web__1", map[string]any{"future": map[string]any{"x": []any{1.0}}, "strategy": map[string]any{"risk": 7.0}})
	s = s.next(t, "ami-2")
	s.succeeds(t, spot.OpSetup)
	s.succeeds(t, spot.OpDeploy, percent(50))
	s.are(t, "web__1: 1 to 4, 2 desired of ami-1, 2 there", "web__2: 1 to 4, 2 desired of ami-2, 2 there")
	s.succeeds(t, spot.OpRollback)
	g := s.Group("web__1")
	if diff := cmp.Diff(map[string]any{"x": []any{1.0}}, g["future"]); diff != "" || g["strategy"].(map[string]any)["risk"] != 7.0 {
		t.Errorf("the group is %v", g)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	with := func(configuration string) func(*spot.Spec) {
		return func(s *spot.Spec) { s.Target.Configuration = document("configuration", configuration) }
	}
	for name, tt := range map[string]struct {
		change  func(*spot.Spec)
		message string
		why     fault.FailureType
	}{
		"an unknown member": {with(strings.Replace(configuration, `"keyPair"`, `"keyPear"`, 1)), "compute.launchSpecification.keyPear: is not a known member", fault.ConfigurationFailure},
		"another token":     {func(s *spot.Spec) { s.Target.Spot.Token = "expired" }, "Spot doesn't take the connector's token", fault.Authentication},
		"another account":   {func(s *spot.Spec) { s.Target.Spot.Account = "act-2" }, "may not do it in its account", fault.Authorization},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.refused(t, tt.message, tt.why, spot.OpSetup, tt.change)
			s.are(t)
			if strings.Contains(s.log(), testservers.SpotToken) {
				t.Error("the log has the token")
			}
		})
	}
}

func TestDeployIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.refused(t, "ElastigroupSetup must run before, in the same stage", fault.ConfigurationFailure, spot.OpDeploy, count(1))
	s.succeeds(t, spot.OpSetup)
	s.refused(t, "newService wants 5 instances; the Elastigroup has at most 4", fault.ConfigurationFailure, spot.OpDeploy, count(5))
	if r := s.next(t, "ami-2").succeeds(t, spot.OpRollback); len(r.Changes) > 0 {
		t.Errorf("a stage that changed nothing rolled back %+v", r.Changes)
	}
}
