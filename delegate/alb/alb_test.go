package alb_test

import (
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/alb"
)

func forward(weights ...alb.Weight) types.Action {
	a := types.Action{Type: types.ActionTypeEnumForward, ForwardConfig: &types.ForwardActionConfig{}}
	for _, w := range weights {
		a.ForwardConfig.TargetGroups = append(a.ForwardConfig.TargetGroups, types.TargetGroupTuple{TargetGroupArn: &w.TargetGroup, Weight: &w.Weight})
	}
	return a
}

func login() types.Action {
	return types.Action{
		Type: types.ActionTypeEnumAuthenticateOidc, Order: sdk.Int32(1),
		AuthenticateOidcConfig: &types.AuthenticateOidcActionConfig{ClientId: sdk.String("web"), Issuer: sdk.String("https://id.example.com")},
	}
}

func sticky(a types.Action, seconds int32) types.Action {
	c := *a.ForwardConfig
	c.TargetGroupStickinessConfig = &types.TargetGroupStickinessConfig{Enabled: sdk.Bool(true), DurationSeconds: &seconds}
	a.ForwardConfig = &c
	return a
}

// What a load balancer says of a route has several forms.
func TestSame(t *testing.T) {
	t.Parallel()
	short := types.Action{Type: types.ActionTypeEnumForward, TargetGroupArn: sdk.String("a")}
	both := forward(alb.Weight{TargetGroup: "a", Weight: 1})
	both.TargetGroupArn = sdk.String("a")
	off := forward(alb.Weight{TargetGroup: "a", Weight: 1})
	off.ForwardConfig.TargetGroupStickinessConfig = &types.TargetGroupStickinessConfig{Enabled: sdk.Bool(false)}
	known := login()
	known.AuthenticateOidcConfig.UseExistingClientSecret = sdk.Bool(true)
	for name, c := range map[string]struct {
		a, b types.Action
		want bool
	}{
		"one group, by itself or in a list":     {short, both, true},
		"the weight of one group":               {forward(alb.Weight{TargetGroup: "a", Weight: 7}), short, true},
		"no traffic for the only group":         {forward(alb.Weight{TargetGroup: "a"}), short, false},
		"another group":                         {forward(alb.Weight{TargetGroup: "b", Weight: 1}), short, false},
		"the order of groups":                   {forward(alb.Weight{TargetGroup: "a", Weight: 9}, alb.Weight{TargetGroup: "b", Weight: 1}), forward(alb.Weight{TargetGroup: "b", Weight: 1}, alb.Weight{TargetGroup: "a", Weight: 9}), true},
		"other weights":                         {forward(alb.Weight{TargetGroup: "a", Weight: 9}, alb.Weight{TargetGroup: "b", Weight: 1}), forward(alb.Weight{TargetGroup: "a", Weight: 8}, alb.Weight{TargetGroup: "b", Weight: 2}), false},
		"stickiness that is off":                {off, short, true},
		"stickiness":                            {sticky(both, 60), short, false},
		"a client secret that is there already": {known, login(), true},
	} {
		if got := alb.Same([]types.Action{c.a}, []types.Action{c.b}); got != c.want {
			t.Errorf("%s: the same %t; want %t", name, got, c.want)
		}
	}
	if alb.Same([]types.Action{short}, []types.Action{login(), short}) {
		t.Error("a login before it makes no difference")
	}
}

// Only the action that forwards is replaced, and its stickiness stays.
func TestSending(t *testing.T) {
	t.Parallel()
	r := alb.Route{Listener: "l", Rule: "r", Actions: []types.Action{login(), sticky(forward(alb.Weight{TargetGroup: "a", Weight: 1}), 60)}}
	got, err := r.Sending(alb.Weight{TargetGroup: "b", Weight: 30}, alb.Weight{TargetGroup: "a", Weight: 70})
	if err != nil {
		t.Fatal(err)
	}
	want := []types.Action{login(), sticky(forward(alb.Weight{TargetGroup: "b", Weight: 30}, alb.Weight{TargetGroup: "a", Weight: 70}), 60)}
	if !alb.Same(got.Actions, want) {
		t.Errorf("found %s; want b and a with stickiness behind the login", got)
	}
	if diff := cmp.Diff([]alb.Weight{{TargetGroup: "a", Weight: 1}}, r.Weights()); diff != "" {
		t.Errorf("the route that it was made of has changed:\n%s", diff)
	}
	if _, err := (alb.Route{Listener: "l", Actions: []types.Action{login()}}).Sending(alb.Weight{TargetGroup: "b", Weight: 1}); err == nil {
		t.Error("a route that forwards to nothing was given a target group")
	}
}

// What a load balancer would refuse is refused before.
func TestCheck(t *testing.T) {
	t.Parallel()
	many := func(n int) (out []alb.Weight) {
		for i := range n {
			out = append(out, alb.Weight{TargetGroup: string(rune('a' + i)), Weight: 1})
		}
		return out
	}
	for name, c := range map[string]struct {
		to   []alb.Weight
		good bool
	}{
		"five":           {many(5), true},
		"six":            {many(6), false},
		"none":           {nil, false},
		"nothing for it": {[]alb.Weight{{TargetGroup: "a"}, {TargetGroup: "b"}}, false},
		"the most":       {[]alb.Weight{{TargetGroup: "a", Weight: 999}}, true},
		"too much":       {[]alb.Weight{{TargetGroup: "a", Weight: 1000}}, false},
		"less than none": {[]alb.Weight{{TargetGroup: "a", Weight: -1}, {TargetGroup: "b", Weight: 2}}, false},
		"no group":       {[]alb.Weight{{Weight: 2}}, false},
	} {
		if err := alb.Check(c.to); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}
