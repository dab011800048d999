package testaws_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
)

// balancer is a load balancer of a world: its listener forwards to the first
// of two target groups, a rule of it to the second.
type balancer struct {
	*elb.Client
	listener, rule string
	groups         [2]string
}

func newBalancer(t *testing.T, c cluster) balancer {
	t.Helper()
	b := balancer{Client: elb.NewFromConfig(c.world.Config(), func(o *elb.Options) { o.RetryMaxAttempts = 1 })}
	network := c.world.Network()
	for i, name := range []string{"blue", "green"} {
		out, err := b.CreateTargetGroup(t.Context(), &elb.CreateTargetGroupInput{
			Name: &name, Protocol: types.ProtocolEnumHttp, Port: aws.Int32(80), VpcId: &network.VPC, TargetType: types.TargetTypeEnumIp,
		})
		if err != nil {
			t.Fatal(err)
		}
		b.groups[i] = *out.TargetGroups[0].TargetGroupArn
	}
	made, err := b.CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{Name: aws.String("shop"), Subnets: network.Subnets})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := b.CreateListener(t.Context(), &elb.CreateListenerInput{
		LoadBalancerArn: made.LoadBalancers[0].LoadBalancerArn, Protocol: types.ProtocolEnumHttp, Port: aws.Int32(80), DefaultActions: forward(b.groups[0]),
	})
	if err != nil {
		t.Fatal(err)
	}
	b.listener = *listener.Listeners[0].ListenerArn
	rule, err := b.CreateRule(t.Context(), &elb.CreateRuleInput{
		ListenerArn: &b.listener, Priority: aws.Int32(1), Actions: forward(b.groups[1]),
		Conditions: []types.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{"/green"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.rule = *rule.Rules[0].RuleArn
	return b
}

func forward(group string) []types.Action {
	return []types.Action{{Type: types.ActionTypeEnumForward, TargetGroupArn: &group}}
}

// weighted forwards to target groups with a weight each.
func weighted(weight int32, groups ...string) []types.Action {
	config := &types.ForwardActionConfig{}
	for _, group := range groups {
		config.TargetGroups = append(config.TargetGroups, types.TargetGroupTuple{TargetGroupArn: &group, Weight: &weight})
	}
	return []types.Action{{Type: types.ActionTypeEnumForward, ForwardConfig: config}}
}

// health is the states of a group's targets, sorted.
func (b balancer) health(t *testing.T, group string) string {
	t.Helper()
	out, err := b.DescribeTargetHealth(t.Context(), &elb.DescribeTargetHealthInput{TargetGroupArn: &group})
	if err != nil {
		t.Fatal(err)
	}
	var states []string
	for _, d := range out.TargetHealthDescriptions {
		states = append(states, string(d.TargetHealth.State))
	}
	slices.Sort(states)
	return strings.Join(states, " ")
}

// Rules keep to their limits, the default one is the listener's, and groups
// know their load balancers.
func TestLoadBalancerRules(t *testing.T) {
	t.Parallel()
	b := newBalancer(t, newCluster(t))
	rules, err := b.DescribeRules(t.Context(), &elb.DescribeRulesInput{ListenerArn: &b.listener})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(rules.Rules, func(r types.Rule) bool { return aws.ToBool(r.IsDefault) })
	action := rules.Rules[i].Actions[0]
	if *action.TargetGroupArn != b.groups[0] || *action.ForwardConfig.TargetGroups[0].TargetGroupArn != b.groups[0] {
		t.Errorf("the default action isn't shown both ways: %+v", action)
	}
	tests := []struct {
		name    string
		rule    *string
		actions []types.Action
		want    string
	}{
		{name: "the default rule", rule: rules.Rules[i].RuleArn, actions: forward(b.groups[1]), want: "OperationNotPermitted"},
		{name: "too heavy", rule: &b.rule, actions: weighted(1000, b.groups[0]), want: "ValidationError"},
		{name: "too many", rule: &b.rule, actions: weighted(1, slices.Repeat(b.groups[:1], 6)...), want: "TooManyTargetGroups"},
		{name: "two", rule: &b.rule, actions: weighted(999, b.groups[:]...)},
		{name: "one", rule: &b.rule, actions: forward(b.groups[0])},
	}
	for _, tt := range tests {
		_, err := b.ModifyRule(t.Context(), &elb.ModifyRuleInput{RuleArn: tt.rule, Actions: tt.actions})
		wantCode(t, tt.name, err, tt.want)
	}
	_, err = b.ModifyListener(t.Context(), &elb.ModifyListenerInput{ListenerArn: &b.listener, DefaultActions: weighted(1000, b.groups[0])})
	wantCode(t, "too heavy for a listener", err, "ValidationError")
	groups, err := b.DescribeTargetGroups(t.Context(), &elb.DescribeTargetGroupsInput{TargetGroupArns: b.groups[:]})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, g := range groups.TargetGroups {
		got[*g.TargetGroupName] = len(g.LoadBalancerArns)
	}
	if d := cmp.Diff(map[string]int{"blue": 1, "green": 0}, got); d != "" {
		t.Errorf("load balancers of each group (-want +got):\n%s", d)
	}
}

// A service's tasks are targets that become healthy, and drain; those that
// don't become healthy are replaced.
func TestECSTargets(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	b := newBalancer(t, c)
	in := c.web(c.define(t, "web", "web:1"))
	in.LoadBalancers = []ecstypes.LoadBalancer{{TargetGroupArn: &b.groups[0], ContainerName: aws.String("app"), ContainerPort: aws.Int32(80)}}
	if _, err := c.CreateService(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	c.world.Pass(8 * time.Second)
	got := []string{b.health(t, b.groups[0])}
	c.world.Pass(time.Minute)
	got = append(got, b.health(t, b.groups[0]))
	c.update(t, ecs.UpdateServiceInput{DesiredCount: aws.Int32(1)})
	c.world.Pass(10 * time.Second)
	got = append(got, b.health(t, b.groups[0]))
	c.world.Pass(5 * time.Minute)
	got = append(got, b.health(t, b.groups[0]))
	c.update(t, ecs.UpdateServiceInput{TaskDefinition: aws.String(c.define(t, "web", "web:sick"))})
	c.world.Pass(20 * time.Second)
	got = append(got, b.health(t, b.groups[0]))
	if d := cmp.Diff([]string{"initial initial", "healthy healthy", "draining healthy", "healthy", "healthy unhealthy"}, got); d != "" {
		t.Errorf("states (-want +got):\n%s", d)
	}
	c.world.Pass(2 * time.Minute)
	d := c.service(t).Deployments[0]
	if d.RolloutState != ecstypes.DeploymentRolloutStateInProgress || d.FailedTasks < 2 {
		t.Errorf("the sick deployment is %s with %d failed tasks", d.RolloutState, d.FailedTasks)
	}
	in.LoadBalancers[0].TargetGroupArn, in.ServiceName = &b.groups[1], aws.String("other")
	if _, err := b.DeleteRule(t.Context(), &elb.DeleteRuleInput{RuleArn: &b.rule}); err != nil {
		t.Fatal(err)
	}
	_, err := c.CreateService(t.Context(), in)
	wantCode(t, "a group that no listener forwards to", err, "InvalidParameterException")
}
