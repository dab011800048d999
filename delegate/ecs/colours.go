package ecs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/delegate/alb"
	"github.com/slipway-cd/slipway/delegate/executor"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
)

// The services of a blue/green deployment are numbered, and one of them has the
// traffic: its tag says blue. The target groups tell it for certain.
const (
	colourTag = "BG_VERSION"
	blue      = "BLUE"
	green     = "GREEN"

	coloursKept = "ecs/bluegreen/" // begins the key of its checkpoint
)

// colours is what a stage has found before it makes a service beside the one that
// has the traffic, and what it has decided by that.
type colours struct {
	Service string   `json:"service"`          // as its definition names it
	New     string   `json:"new"`              // the service that the stage makes, or updates
	Old     string   `json:"old,omitempty"`    // the one that has the traffic; empty: none
	Doomed  []string `json:"doomed,omitempty"` // services that make room

	LoadBalancer string     `json:"loadBalancer"`
	Prod         alb.Route  `json:"prod"`
	Stage        *alb.Route `json:"stage,omitempty"` // nil: the two share a route, by weights
	ProdGroup    string     `json:"prodGroup"`       // the target group of the old service
	StageGroup   string     `json:"stageGroup"`      // of the new one
	// ScaleInSwap leaves it to the swap to scale the new service.
	ScaleInSwap bool `json:"scaleInSwap,omitempty"`

	Services []before `json:"services,omitempty"` // all that there were
}

// was is how one of the services was; false: it wasn't there.
func (c *colours) was(name string) (before, bool) {
	i := slices.IndexFunc(c.Services, func(b before) bool { return b.Service == name })
	if i < 0 {
		return before{Service: name, First: true}, false
	}
	return c.Services[i], true
}

func unbalanced(format string, args ...any) error {
	return wrong("Invalid load balancer configuration: %w", fmt.Errorf(format, args...))
}

// routes reads where the traffic goes, and so which target group is for the new
// service.
func routes(ctx context.Context, b *alb.Balancers, how lane.BlueGreen) (*colours, error) {
	c := &colours{LoadBalancer: how.LoadBalancer, StageGroup: how.StageTargetGroup, ScaleInSwap: how.ScaleInSwap}
	var err error
	if c.Prod, err = b.Route(ctx, how.LoadBalancer, how.ProdListener, how.ProdRule); err != nil {
		return nil, err
	}
	weights := c.Prod.Weights()
	if len(weights) == 0 {
		return nil, unbalanced("%s forwards to no target group", c.Prod.ARN())
	}
	if how.Shift {
		own := slices.IndexFunc(weights, func(w alb.Weight) bool { return w.TargetGroup == c.StageGroup })
		if len(weights) != 2 || own < 0 {
			return nil, unbalanced("%s forwards to %s; to shift traffic it has to forward to two target groups, one of them %s", c.Prod.ARN(), c.Prod, c.StageGroup)
		}
		c.ProdGroup = weights[1-own].TargetGroup
		return c, nil
	}
	stage, err := b.Route(ctx, how.LoadBalancer, how.StageListener, how.StageRule)
	if err != nil {
		return nil, err
	}
	if len(stage.Weights()) == 0 {
		return nil, unbalanced("%s forwards to no target group", stage.ARN())
	}
	c.Stage, c.ProdGroup, c.StageGroup = &stage, weights[0].TargetGroup, stage.Weights()[0].TargetGroup
	return c, nil
}

// choose decides by the services that there are which one has the traffic, which
// ones make room, and what the new one is called. Nothing that may have traffic
// ever makes room.
func (c *colours) choose(all []types.Service, updateGreen bool) error {
	all = slices.DeleteFunc(slices.Clone(all), func(one types.Service) bool { return sdk.ToString(one.Status) != active })
	old, err := c.serving(all)
	if err != nil {
		return err
	}
	c.Old = nameOf(old)
	var newest *types.Service // of those behind the stage's target group
	for i, one := range all {
		if nameOf(&one) == c.Old || !behind(one, c.StageGroup) {
			continue
		}
		if group := c.traffic(one); group != "" {
			return c.busy(one, group)
		}
		c.Doomed = append(c.Doomed, nameOf(&one))
		if newest == nil || c.number(&one) > c.number(newest) {
			newest = &all[i]
		}
	}
	if updateGreen && newest != nil {
		c.New, c.Doomed = nameOf(newest), nil
		return nil
	}
	for n := c.number(old) + 1; ; n++ {
		c.New = fmt.Sprintf("%s__%d", c.Service, n)
		taken := slices.ContainsFunc(all, func(one types.Service) bool { return nameOf(&one) == c.New })
		if !taken || slices.Contains(c.Doomed, c.New) {
			return nil
		}
	}
}

// serving is the service that has the traffic: the one that runs behind the
// target group which gets it, or else the one whose tag says so; nil for none.
func (c *colours) serving(all []types.Service) (*types.Service, error) {
	var running, tagged *types.Service
	for i, one := range all {
		switch {
		case behind(one, c.ProdGroup) && one.RunningCount > 0:
			if running != nil {
				return nil, unbalanced("the services %s and %s both run behind the target group %s, which has the traffic", nameOf(running), nameOf(&one), c.ProdGroup)
			}
			running = &all[i]
		case !has(one.Tags, colourTag, blue) || c.StageGroup != c.ProdGroup && behind(one, c.StageGroup): // target groups tell it for certain
		case tagged == nil || c.number(&one) > c.number(tagged):
			tagged = &all[i]
		}
	}
	if running == nil {
		return tagged, nil
	}
	if c.StageGroup != c.ProdGroup && behind(*running, c.StageGroup) {
		return nil, unbalanced("service %s is behind both target groups, %s and %s", nameOf(running), c.ProdGroup, c.StageGroup)
	}
	return running, nil
}

// traffic is a target group by which a service that has tasks gets traffic; empty:
// none.
func (c *colours) traffic(one types.Service) string {
	if one.RunningCount == 0 && one.DesiredCount == 0 {
		return ""
	}
	for _, w := range c.Prod.Weights() {
		if w.Weight > 0 && behind(one, w.TargetGroup) {
			return w.TargetGroup
		}
	}
	return ""
}

// busy says that the new service would take the place of one with traffic.
func (c *colours) busy(one types.Service, group string) error {
	return unbalanced("service %s has traffic by the target group %s, which is the stage's; want %s there, or whichever target group has no traffic", nameOf(&one), group, c.ProdGroup)
}

// number is a service's; 0 for none.
func (c *colours) number(one *types.Service) int {
	n, _ := numberOf(c.Service, nameOf(one))
	return n
}

// numberOf is the number of a numbered service of a name.
func numberOf(service, name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, service+"__")
	if !ok || digits == "" || digits[0] == '0' || digits[0] == '+' {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n > 0
}

func nameOf(one *types.Service) string {
	if one == nil {
		return ""
	}
	return sdk.ToString(one.ServiceName)
}

// behind says whether a target group has a service's tasks.
func behind(one types.Service, group string) bool {
	return slices.ContainsFunc(one.LoadBalancers, func(l types.LoadBalancer) bool { return sdk.ToString(l.TargetGroupArn) == group })
}

// colours are those that the stage has found before; nil: it has made no service
// beside another one.
func (g bluegreen) colours(ctx context.Context) (*colours, error) {
	all, err := executor.Kept[*colours](ctx, g.s.Env, coloursKept)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

// decide decides by what there is, which it gives.
func (g bluegreen) decide(ctx context.Context, c *colours, updateGreen bool) ([]types.Service, error) {
	found, err := g.s.numberedServices(ctx, c.Service)
	if err != nil {
		return nil, err
	}
	all := make([]types.Service, len(found))
	for i, one := range found {
		all[i] = one.Service
	}
	return all, c.choose(all, updateGreen)
}

// find looks for what there is and keeps it, for the steps that follow and for
// the rollback. What an earlier attempt has kept counts.
func (g bluegreen) find(ctx context.Context, c *colours, updateGreen bool) (*colours, error) {
	if kept, err := g.colours(ctx); err != nil || kept != nil {
		return kept, err
	}
	all, err := g.decide(ctx, c, updateGreen)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		scales, err := g.s.scalingOf(ctx, nameOf(&one))
		if err != nil {
			return nil, err
		}
		c.Services = append(c.Services, beforeOf(&one, &scales))
	}
	return executor.Keep(ctx, g.s.Env, g.s.key(coloursKept, c.Service), c)
}
