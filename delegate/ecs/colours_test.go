package ecs //nolint:testpackage // what is decided by what there is has many cases, and no door of its own

import (
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/alb"
)

// there is a service behind target groups, told by their letters.
func there(name, groups string, running int32, colour string) types.Service {
	one := types.Service{ServiceName: &name, Status: sdk.String(active), RunningCount: running, DesiredCount: running}
	for _, g := range strings.Split(groups, "") {
		one.LoadBalancers = append(one.LoadBalancers, types.LoadBalancer{TargetGroupArn: &g})
	}
	if colour != "" {
		one.Tags = []types.Tag{{Key: sdk.String(colourTag), Value: &colour}}
	}
	return one
}

// sending is a route to target groups with weights.
func sending(weights ...alb.Weight) alb.Route {
	a := elbtypes.Action{Type: elbtypes.ActionTypeEnumForward, ForwardConfig: &elbtypes.ForwardActionConfig{}}
	for _, w := range weights {
		a.ForwardConfig.TargetGroups = append(a.ForwardConfig.TargetGroups, elbtypes.TargetGroupTuple{TargetGroupArn: &w.TargetGroup, Weight: &w.Weight})
	}
	return alb.Route{Listener: "l", Rule: "r", Actions: []elbtypes.Action{a}}
}

// Which service has the traffic, which ones make room, and what the
// new one is called. Target group a has the traffic, b is the stage's.
func TestColours(t *testing.T) {
	t.Parallel()
	gone := there("web__7", "a", 1, blue)
	gone.Status = sdk.String(inactive)
	shifted := sending(alb.Weight{TargetGroup: "a", Weight: 0}, alb.Weight{TargetGroup: "b", Weight: 100})
	for name, c := range map[string]struct {
		all      []types.Service
		prod     alb.Route // without one: all to a
		stage    string    // its target group; empty: b
		update   bool
		old, new string
		doomed   []string
		wrong    string
	}{
		"the first":                              {new: "web__1"},
		"the second":                             {all: []types.Service{there("web__1", "a", 2, blue)}, old: "web__1", new: "web__2"},
		"the one without traffic makes room":     {all: []types.Service{there("web__4", "a", 2, blue), there("web__3", "b", 0, green)}, old: "web__4", new: "web__5", doomed: []string{"web__3"}},
		"it is updated instead":                  {all: []types.Service{there("web__4", "a", 2, blue), there("web__3", "b", 0, green)}, update: true, old: "web__4", new: "web__3"},
		"there is none to update":                {all: []types.Service{there("web__4", "a", 2, blue)}, update: true, old: "web__4", new: "web__5"},
		"a name that makes room is free":         {all: []types.Service{there("web__4", "a", 2, blue), there("web__5", "b", 1, green)}, old: "web__4", new: "web__5", doomed: []string{"web__5"}},
		"a name that is taken isn't":             {all: []types.Service{there("web__4", "a", 2, blue), there("web__5", "c", 0, green)}, old: "web__4", new: "web__6"},
		"one that was deleted":                   {all: []types.Service{gone, there("web__1", "a", 1, blue)}, old: "web__1", new: "web__2"},
		"tags that lie":                          {all: []types.Service{there("web__1", "a", 2, green), there("web__2", "b", 0, blue)}, old: "web__1", new: "web__2", doomed: []string{"web__2"}},
		"nothing runs: the tag says it":          {all: []types.Service{there("web__1", "a", 0, blue), there("web__2", "b", 0, green)}, old: "web__1", new: "web__2", doomed: []string{"web__2"}},
		"two have the traffic":                   {all: []types.Service{there("web__1", "a", 1, ""), there("web__2", "a", 1, "")}, wrong: "both run behind the target group a"},
		"one is behind both":                     {all: []types.Service{there("web__1", "ab", 1, "")}, wrong: "is behind both target groups"},
		"the stage's has the traffic":            {all: []types.Service{there("web__1", "b", 1, blue)}, prod: shifted, wrong: "want a there"},
		"the stage's has the traffic, unmarked":  {all: []types.Service{there("web__1", "b", 1, ""), there("web__2", "a", 1, "")}, prod: shifted, wrong: "service web__1 has traffic by the target group b"},
		"no tasks, no traffic":                   {all: []types.Service{there("web__1", "b", 0, ""), there("web__2", "a", 1, "")}, prod: shifted, old: "web__2", new: "web__3", doomed: []string{"web__1"}},
		"one target group for both":              {all: []types.Service{there("web__1", "a", 1, blue)}, stage: "a", old: "web__1", new: "web__2"},
		"one target group for both, a third one": {all: []types.Service{there("web__2", "a", 1, blue), there("web__1", "a", 0, green)}, stage: "a", old: "web__2", new: "web__3", doomed: []string{"web__1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := &colours{Service: "web", Prod: c.prod, ProdGroup: "a", StageGroup: "b"}
			if c.prod.Actions == nil {
				found.Prod = sending(alb.Weight{TargetGroup: "a", Weight: 1})
			}
			if c.stage != "" {
				found.StageGroup = c.stage
			}
			err := found.choose(c.all, c.update)
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) || !strings.HasPrefix(err.Error(), "Invalid load balancer configuration") {
					t.Fatalf("error %v; want one with %q", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if found.Old != c.old || found.New != c.new {
				t.Errorf("old %q, new %q; want %q and %q", found.Old, found.New, c.old, c.new)
			}
			if diff := cmp.Diff(c.doomed, found.Doomed); diff != "" {
				t.Errorf("the services that make room (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNumberOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"web__1": 1, "web__12": 12, "web": 0, "web__": 0, "web__x": 0, "web__01": 0, "web__0": 0, "web__-1": 0, "web__+1": 0, "webs__1": 0, "web__1__2": 0} {
		if got, ok := numberOf("web", name); got != want && ok || ok != (want > 0) {
			t.Errorf("%s: %d, %t; want %d", name, got, ok, want)
		}
	}
}
