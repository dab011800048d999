// Package alb reads and changes where load balancers send traffic: the rules of
// an Application Load Balancer's listeners, and the default actions of
// listeners, which is all that a Network Load Balancer has.
//
// When traffic is moved, and what is rolled back, is said by the deployment types
// that use it.
package alb

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awswait"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// What Elastic Load Balancing bounds: https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_ForwardActionConfig.html
const (
	MaxGroups = 5 // target groups of one action
	MaxWeight = 999
)

// Balancers are the load balancers of an account in a region.
type Balancers struct {
	api    *elb.Client
	access *aws.Access
}

// New makes those that an access reaches.
func New(a *aws.Access) *Balancers { return &Balancers{api: elb.NewFromConfig(a.Config), access: a} }

// Route is a place in a listener from which traffic is sent on.
type Route struct {
	Listener string         `json:"listener"`       // its ARN
	Rule     string         `json:"rule,omitempty"` // its ARN; empty: the listener's default actions
	Actions  []types.Action `json:"actions"`
}

// ARN is that of the rule or, of default actions, of the listener.
func (r Route) ARN() string {
	if r.Rule != "" {
		return r.Rule
	}
	return r.Listener
}

// Weight is a target group and how much of the traffic it gets, beside others.
type Weight struct {
	TargetGroup string `json:"targetGroupArn"`
	Weight      int32  `json:"weight"`
}

// Route finds a rule of a listener of a load balancer, which is told by its name
// or its ARN, and reads it. Without a rule, or with the listener's own ARN in its place, it is
// the listener's default actions.
func (b *Balancers) Route(ctx context.Context, balancer, listener, rule string) (Route, error) {
	of, err := b.balancer(ctx, balancer)
	if err != nil {
		return Route{}, err
	}
	l, err := b.listener(ctx, listener)
	if err != nil {
		return Route{}, err
	}
	if arn := sdk.ToString(l.LoadBalancerArn); arn != of {
		return Route{}, wrong("listener %s belongs to the load balancer %s; want one of %s", listener, arn, of)
	}
	if rule == "" || rule == listener {
		return Route{Listener: listener, Actions: untold(l.DefaultActions)}, nil
	}
	if own := listenerOf(rule); own != listener {
		return Route{}, wrong("rule %s belongs to the listener %s; want one of %s", rule, own, listener)
	}
	return b.rule(ctx, listener, rule)
}

func wrong(format string, args ...any) error {
	return fault.New(fault.Invalid, format, args...).Causing(fault.ConfigurationFailure)
}

// listenerOf is the ARN of a rule's listener, which is a part of its own.
func listenerOf(rule string) string {
	arn := strings.Replace(rule, ":listener-rule/", ":listener/", 1)
	return arn[:max(strings.LastIndexByte(arn, '/'), 0)]
}

// balancer is the ARN of a load balancer.
func (b *Balancers) balancer(ctx context.Context, balancer string) (string, error) {
	in := &elb.DescribeLoadBalancersInput{Names: []string{balancer}}
	if strings.HasPrefix(balancer, "arn:") {
		in = &elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{balancer}}
	}
	out, err := b.api.DescribeLoadBalancers(ctx, in)
	if err != nil {
		return "", b.access.Failed(ctx, "elasticloadbalancing:DescribeLoadBalancers", err)
	}
	if len(out.LoadBalancers) != 1 {
		return "", wrong("found %d load balancers %s; want one", len(out.LoadBalancers), balancer)
	}
	return sdk.ToString(out.LoadBalancers[0].LoadBalancerArn), nil
}

// Listener is the ARN of the listener of a load balancer, which is told by its name
// or its ARN, at a port.
func (b *Balancers) Listener(ctx context.Context, balancer, port string) (string, error) {
	of, err := b.balancer(ctx, balancer)
	if err != nil {
		return "", err
	}
	var ports []string
	pages := elb.NewDescribeListenersPaginator(b.api, &elb.DescribeListenersInput{LoadBalancerArn: &of})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", b.access.Failed(ctx, "elasticloadbalancing:DescribeListeners", err)
		}
		for _, l := range page.Listeners {
			at := strconv.Itoa(int(sdk.ToInt32(l.Port)))
			if at == port {
				return sdk.ToString(l.ListenerArn), nil
			}
			ports = append(ports, at)
		}
	}
	return "", wrong("load balancer %s has no listener at port %s; it has some at %s", balancer, port, cmp.Or(strings.Join(ports, ", "), "none"))
}

func (b *Balancers) listener(ctx context.Context, arn string) (types.Listener, error) {
	out, err := b.api.DescribeListeners(ctx, &elb.DescribeListenersInput{ListenerArns: []string{arn}})
	if err != nil {
		return types.Listener{}, b.access.Failed(ctx, "elasticloadbalancing:DescribeListeners", err)
	}
	if len(out.Listeners) != 1 {
		return types.Listener{}, wrong("found %d listeners %s; want one", len(out.Listeners), arn)
	}
	return out.Listeners[0], nil
}

// rule reads a rule; the default one is the listener's default actions.
func (b *Balancers) rule(ctx context.Context, listener, arn string) (Route, error) {
	out, err := b.api.DescribeRules(ctx, &elb.DescribeRulesInput{RuleArns: []string{arn}})
	if err != nil {
		return Route{}, b.access.Failed(ctx, "elasticloadbalancing:DescribeRules", err)
	}
	if len(out.Rules) != 1 {
		return Route{}, wrong("found %d rules %s; want one", len(out.Rules), arn)
	}
	r := Route{Listener: listener, Rule: arn, Actions: untold(out.Rules[0].Actions)}
	if sdk.ToBool(out.Rules[0].IsDefault) { // ModifyRule refuses it
		r.Rule = ""
	}
	return r, nil
}

// Read reads a route again that was found before.
func (b *Balancers) Read(ctx context.Context, r Route) (Route, error) {
	if r.Rule != "" {
		return b.rule(ctx, r.Listener, r.Rule)
	}
	l, err := b.listener(ctx, r.Listener)
	return Route{Listener: r.Listener, Actions: untold(l.DefaultActions)}, err
}

// Write gives a route the actions that it is given with.
func (b *Balancers) Write(ctx context.Context, want Route) error {
	if want.Rule == "" {
		if _, err := b.api.ModifyListener(ctx, &elb.ModifyListenerInput{ListenerArn: &want.Listener, DefaultActions: written(want.Actions)}); err != nil {
			return b.access.Failed(ctx, "elasticloadbalancing:ModifyListener", err)
		}
		return nil
	}
	if _, err := b.api.ModifyRule(ctx, &elb.ModifyRuleInput{RuleArn: &want.Rule, Actions: written(want.Actions)}); err != nil {
		return b.access.Failed(ctx, "elasticloadbalancing:ModifyRule", err)
	}
	return nil
}

// Set sees to it that a route has the actions that it is given with. One that
// has them is left alone.
func (b *Balancers) Set(ctx context.Context, want Route) (changed bool, err error) {
	live, err := b.Read(ctx, want)
	if err != nil || Same(live.Actions, want.Actions) {
		return false, err
	}
	err = b.Write(ctx, want)
	return err == nil, err
}

// Health counts the targets of a target group.
type Health struct {
	Healthy int
	Coming  int // registered, and not checked often enough yet
	All     int
	// Unchecked are targets that no load balancer sends traffic to.
	Unchecked int
}

// Health asks how a target group's targets are: some of them by their ids, or all.
func (b *Balancers) Health(ctx context.Context, group string, some ...string) (Health, error) {
	out, err := b.api.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: &group})
	if err != nil {
		return Health{}, b.access.Failed(ctx, "elasticloadbalancing:DescribeTargetHealth", err)
	}
	var h Health
	for _, t := range out.TargetHealthDescriptions {
		if len(some) > 0 && (t.Target == nil || !slices.Contains(some, sdk.ToString(t.Target.Id))) {
			continue
		}
		h.All++
		switch {
		case t.TargetHealth == nil:
		case t.TargetHealth.State == types.TargetHealthStateEnumUnused:
			h.Unchecked++
		case t.TargetHealth.State == types.TargetHealthStateEnumHealthy:
			h.Healthy++
		case t.TargetHealth.State == types.TargetHealthStateEnumInitial:
			h.Coming++
		}
	}
	return h, nil
}

// Answering waits until a target of a target group is healthy, as long as one may
// still become so.
func (b *Balancers) Answering(ctx context.Context, wait awswait.Wait, group string) error {
	return awswait.Until(ctx, wait, func(ctx context.Context) (awswait.State, error) {
		h, err := b.Health(ctx, group)
		if err != nil {
			return awswait.State{}, err
		}
		if h.Healthy == 0 && h.Coming == 0 {
			return awswait.State{}, fault.New(fault.Conflict, "none of the %d targets of the target group %s is healthy; the traffic stays where it is", h.All, group).Causing(fault.Unknown)
		}
		return awswait.State{Done: h.Healthy > 0, Progress: "Waiting for a healthy target in " + group}, nil
	})
}

// Weights are the target groups of a route's first action that forwards.
func (r Route) Weights() []Weight {
	i := r.forward()
	if i < 0 {
		return nil
	}
	return weights(r.Actions[i])
}

func (r Route) forward() int {
	return slices.IndexFunc(r.Actions, func(a types.Action) bool { return a.Type == types.ActionTypeEnumForward })
}

// weights are those of an action that forwards. Where there is one target group
// its weight says nothing, unless it is 0.
func weights(a types.Action) []Weight {
	if a.ForwardConfig == nil || len(a.ForwardConfig.TargetGroups) == 0 {
		return []Weight{{TargetGroup: sdk.ToString(a.TargetGroupArn), Weight: 1}}
	}
	groups := a.ForwardConfig.TargetGroups
	out := make([]Weight, len(groups))
	for i, g := range groups {
		out[i] = Weight{TargetGroup: sdk.ToString(g.TargetGroupArn), Weight: 1}
		if g.Weight != nil && (len(groups) > 1 || *g.Weight == 0) {
			out[i].Weight = *g.Weight
		}
	}
	return out
}

// Sending is the route with other target groups. The actions around it stay, such
// as one that has people log in, and so does the stickiness.
func (r Route) Sending(to ...Weight) (Route, error) {
	i := r.forward()
	if i < 0 {
		return r, wrong("%s forwards to no target group", r.ARN())
	}
	config := &types.ForwardActionConfig{}
	if old := r.Actions[i].ForwardConfig; old != nil {
		config.TargetGroupStickinessConfig = old.TargetGroupStickinessConfig
	}
	for _, w := range to {
		config.TargetGroups = append(config.TargetGroups, types.TargetGroupTuple{TargetGroupArn: &w.TargetGroup, Weight: &w.Weight})
	}
	r.Actions = slices.Clone(r.Actions)
	r.Actions[i].ForwardConfig, r.Actions[i].TargetGroupArn = config, nil
	return r, nil
}

// Check says whether a load balancer could send traffic so.
func Check(to []Weight) error {
	sum := int32(0)
	for _, w := range to {
		if w.TargetGroup == "" {
			return wrong("a weight has no targetGroupArn")
		}
		if w.Weight < 0 || w.Weight > MaxWeight {
			return wrong("the weight of %s is %d; want 0 to %d", w.TargetGroup, w.Weight, MaxWeight)
		}
		sum += w.Weight
	}
	switch {
	case len(to) == 0 || len(to) > MaxGroups:
		return wrong("found %d target groups; want 1 to %d", len(to), MaxGroups)
	case sum == 0:
		return wrong("all weights are 0; want at least one above it")
	}
	return nil
}

// Same says whether two lists of actions do the same.
func Same(a, b []types.Action) bool { return slices.EqualFunc(a, b, sameAction) }

func sameAction(a, b types.Action) bool {
	x, err := json.Marshal(plain(a))
	if err != nil {
		return false
	}
	y, err := json.Marshal(plain(b))
	return err == nil && string(x) == string(y)
}

// plain is an action in the one form of all that it may be described in.
func plain(a types.Action) types.Action {
	if a.Type == types.ActionTypeEnumForward {
		config := &types.ForwardActionConfig{}
		for _, w := range weights(a) {
			config.TargetGroups = append(config.TargetGroups, types.TargetGroupTuple{TargetGroupArn: &w.TargetGroup, Weight: &w.Weight})
		}
		slices.SortFunc(config.TargetGroups, func(a, b types.TargetGroupTuple) int {
			return strings.Compare(*a.TargetGroupArn, *b.TargetGroupArn)
		})
		if sticky := stickiness(a); sdk.ToBool(sticky.Enabled) {
			config.TargetGroupStickinessConfig = &sticky
		}
		a.ForwardConfig, a.TargetGroupArn = config, nil
	}
	if a.AuthenticateOidcConfig != nil {
		c := *a.AuthenticateOidcConfig
		c.ClientSecret, c.UseExistingClientSecret = nil, nil
		a.AuthenticateOidcConfig = &c
	}
	return a
}

func stickiness(a types.Action) types.TargetGroupStickinessConfig {
	if a.ForwardConfig == nil || a.ForwardConfig.TargetGroupStickinessConfig == nil {
		return types.TargetGroupStickinessConfig{}
	}
	return *a.ForwardConfig.TargetGroupStickinessConfig
}

// untold are actions without the client secrets of identity providers: a route is
// kept, and needs none.
func untold(actions []types.Action) []types.Action {
	for i, a := range actions {
		if a.AuthenticateOidcConfig != nil {
			actions[i].AuthenticateOidcConfig = plain(a).AuthenticateOidcConfig
		}
	}
	return actions
}

// written are actions as a call takes them that were read before: one target
// group by itself, which every load balancer takes, and the client secret of an
// identity provider as it is.
func written(actions []types.Action) []types.Action {
	out := slices.Clone(actions)
	for i, a := range out {
		switch {
		case a.Type == types.ActionTypeEnumForward:
			config := plain(a).ForwardConfig
			if len(config.TargetGroups) == 1 && config.TargetGroupStickinessConfig == nil {
				out[i].TargetGroupArn, out[i].ForwardConfig = config.TargetGroups[0].TargetGroupArn, nil
				continue
			}
			sticky := stickiness(a)
			config.TargetGroupStickinessConfig = nil
			if sticky.Enabled != nil {
				config.TargetGroupStickinessConfig = &sticky
			}
			out[i].TargetGroupArn, out[i].ForwardConfig = nil, config
		case a.AuthenticateOidcConfig != nil:
			c := *a.AuthenticateOidcConfig
			c.ClientSecret, c.UseExistingClientSecret = nil, sdk.Bool(true)
			out[i].AuthenticateOidcConfig = &c
		}
	}
	return out
}

// String is where the route sends traffic, for people.
func (r Route) String() string {
	var parts []string
	all := r.Weights()
	for _, w := range all {
		if len(all) == 1 {
			return w.TargetGroup
		}
		parts = append(parts, fmt.Sprintf("%s with weight %d", w.TargetGroup, w.Weight))
	}
	return strings.Join(parts, ", ")
}
