package testaws

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// Front is a load balancer with two listeners, each with a rule that forwards to a
// target group of its own: the first one's to A, the second one's to B.
type Front struct {
	API       *elb.Client
	Name      string
	Balancer  string // its ARN, as are those that follow
	Listeners [2]string
	Rules     [2]string
	A, B      string

	tb    testing.TB
	rules int // that it has
}

// Front makes a load balancer for targets of a kind.
func (w *World) Front(name string, kind types.TargetTypeEnum) *Front {
	w.tb.Helper()
	f := &Front{API: elb.NewFromConfig(w.Config()), Name: name, tb: w.tb}
	net := w.Network()
	made, err := f.API.CreateLoadBalancer(w.tb.Context(), &elb.CreateLoadBalancerInput{Name: &name, Subnets: net.Subnets[:2]})
	if err != nil {
		w.tb.Fatal(err)
	}
	f.Balancer = *made.LoadBalancers[0].LoadBalancerArn
	for i, group := range []*string{&f.A, &f.B} {
		g, err := f.API.CreateTargetGroup(w.tb.Context(), &elb.CreateTargetGroupInput{
			Name: aws.String(name + "-" + string(rune('a'+i))), Protocol: types.ProtocolEnumHttp, Port: aws.Int32(80), VpcId: &net.VPC, TargetType: kind,
		})
		if err != nil {
			w.tb.Fatal(err)
		}
		*group = *g.TargetGroups[0].TargetGroupArn
		l, err := f.API.CreateListener(w.tb.Context(), &elb.CreateListenerInput{
			LoadBalancerArn: &f.Balancer, Protocol: types.ProtocolEnumHttp, Port: aws.Int32(int32(80 + i)), DefaultActions: To(*group, 1),
		})
		if err != nil {
			w.tb.Fatal(err)
		}
		f.Listeners[i] = *l.Listeners[0].ListenerArn
		f.Rules[i] = f.Rule(f.Listeners[i], To(*group, 1))
	}
	return f
}

// In is the same load balancer in a copy of its account.
func (f *Front) In(w *World) *Front {
	other := *f
	other.API, other.tb = elb.NewFromConfig(w.Config()), w.tb
	return &other
}

// To forwards to a target group, and to others by weights.
func To(group string, weight int32, more ...types.TargetGroupTuple) []types.Action {
	groups := append([]types.TargetGroupTuple{{TargetGroupArn: &group, Weight: &weight}}, more...)
	return []types.Action{{Type: types.ActionTypeEnumForward, ForwardConfig: &types.ForwardActionConfig{TargetGroups: groups}}}
}

// Both forwards to A and B by weights.
func (f *Front) Both(a, b int32) []types.Action {
	return To(f.A, a, types.TargetGroupTuple{TargetGroupArn: &f.B, Weight: &b})
}

// Rule makes a rule of a listener.
func (f *Front) Rule(listener string, actions []types.Action) string {
	f.tb.Helper()
	f.rules++
	out, err := f.API.CreateRule(f.tb.Context(), &elb.CreateRuleInput{
		ListenerArn: &listener, Priority: aws.Int32(int32(f.rules)), Actions: actions, //nolint:gosec // a few
		Conditions: []types.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{"/*"}}},
	})
	if err != nil {
		f.tb.Fatal(err)
	}
	return *out.Rules[0].RuleArn
}

// Set gives a rule other actions, as somebody else does.
func (f *Front) Set(rule string, actions []types.Action) {
	f.tb.Helper()
	if _, err := f.API.ModifyRule(f.tb.Context(), &elb.ModifyRuleInput{RuleArn: &rule, Actions: actions}); err != nil {
		f.tb.Fatal(err)
	}
}

// Traffic is where a rule sends it: a, or b, or both with their weights.
func (f *Front) Traffic(rule string) string {
	f.tb.Helper()
	out, err := f.API.DescribeRules(f.tb.Context(), &elb.DescribeRulesInput{RuleArns: []string{rule}})
	if err != nil {
		f.tb.Fatal(err)
	}
	letter := map[string]string{f.A: "a", f.B: "b"}
	for _, a := range out.Rules[0].Actions {
		if a.Type != types.ActionTypeEnumForward {
			continue
		}
		if a.ForwardConfig == nil || len(a.ForwardConfig.TargetGroups) < 2 {
			return letter[aws.ToString(a.TargetGroupArn)]
		}
		var parts []string
		for _, g := range a.ForwardConfig.TargetGroups {
			parts = append(parts, fmt.Sprintf("%s %d", letter[*g.TargetGroupArn], *g.Weight))
		}
		return strings.Join(parts, ", ")
	}
	return ""
}

// Targets counts those of a target group: those that are healthy, and all.
func (f *Front) Targets(group string) (healthy, all int) {
	f.tb.Helper()
	out, err := f.API.DescribeTargetHealth(f.tb.Context(), &elb.DescribeTargetHealthInput{TargetGroupArn: &group})
	if err != nil {
		f.tb.Fatal(err)
	}
	for _, one := range out.TargetHealthDescriptions {
		if one.TargetHealth.State == types.TargetHealthStateEnumHealthy {
			healthy++
		}
	}
	return healthy, len(out.TargetHealthDescriptions)
}

// Leave waits until a target group has no targets any more, for which somebody has to
// look on: time passes with the calls.
func (f *Front) Leave(group string) {
	f.tb.Helper()
	for _, all := f.Targets(group); all > 0; _, all = f.Targets(group) {
		if f.tb.Context().Err() != nil {
			return
		}
	}
}
