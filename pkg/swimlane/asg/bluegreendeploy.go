package asg

import (
	"fmt"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// blueGreenDeployType is the step type AsgBlueGreenDeploy: the new version becomes
// a group beside the one that has the traffic, behind target groups that have none.
//
// Outputs: those of AsgRollingDeploy, of the new group, output.newAsgName and
// output.oldAsgName. The deployment itself is done by delegate/asg.
func blueGreenDeployType() step.Type {
	t := step.Type{Name: string(OpBlueGreen), Deploys: true, New: func(d *document.Decoder, v yamldoc.Value) step.Spec { return decodeBlueGreenDeploy(d, v) }}
	return previewed(t, OpBlueGreenDiff, 0, "asgName", "instances", "useAlreadyRunningInstances",
		keyBalancers, keyBalancer, keyProdListener, keyProdRule, keyStageListener, keyStageRule)
}

// blueGreenDeploy is the step's spec.
type blueGreenDeploy struct {
	Name      yamldoc.Field[string] // asgName
	Instances instances
	One       balancer   // as it was said before there could be several
	Several   []balancer // loadBalancers
}

// balancer is a load balancer as a step names it.
type balancer struct {
	Name                     yamldoc.Field[string] // its name or ARN
	ProdListener, ProdRule   yamldoc.Field[string] // ARNs
	StageListener, StageRule yamldoc.Field[string] // none: traffic is shifted by weights
}

// The keys of a load balancer.
const (
	keyBalancer      = "loadBalancer"
	keyProdListener  = "prodListener"
	keyProdRule      = "prodListenerRuleArn"
	keyStageListener = "stageListener"
	keyStageRule     = "stageListenerRuleArn"
	keyBalancers     = "loadBalancers"
)

func (b *balancer) keys(d *document.Decoder) document.Keys {
	return document.Keys{
		keyBalancer: d.Text(&b.Name), keyProdListener: d.Text(&b.ProdListener), keyProdRule: d.Text(&b.ProdRule),
		keyStageListener: d.Text(&b.StageListener), keyStageRule: d.Text(&b.StageRule),
	}
}

// pair reports one of the stage's keys without the other.
func (*balancer) pair(d *document.Decoder, v yamldoc.Value) {
	for _, p := range [][2]string{{keyStageListener, keyStageRule}, {keyStageRule, keyStageListener}} {
		if document.Neutral(v.Node.Get(p[0])) && !document.Neutral(v.Node.Get(p[1])) {
			d.Errorf(v, document.MissingKey, "key %q is missing, which %s needs", p[0], p[1])
		}
	}
}

func decodeBlueGreenDeploy(d *document.Decoder, v yamldoc.Value) *blueGreenDeploy {
	s := &blueGreenDeploy{}
	d.Fields(v, document.Merge(s.Instances.keys(d), s.One.keys(d), document.Keys{
		"asgName":           d.Text(&s.Name),
		keyBalancers:        func(e yamldoc.Value) { s.Several = balancers(d, e) },
		"delegateSelectors": d.Words(nil), // the plan's
	}))
	s.form(d, v)
	return s
}

func balancers(d *document.Decoder, v yamldoc.Value) (list []balancer) {
	for item := range d.Items(v) {
		var b balancer
		d.Fields(item, b.keys(d))
		d.Need(item, keyBalancer, keyProdListener, keyProdRule)
		b.pair(d, item)
		list = append(list, b)
	}
	return list
}

// form reports load balancers that are said in both ways, or in none.
func (s *blueGreenDeploy) form(d *document.Decoder, v yamldoc.Value) {
	d.OneOf(v, keyBalancers, keyBalancer)
	list := v.Node.Get(keyBalancers)
	several := !document.Neutral(list)
	if list != nil && list.Kind == yamldoc.Sequence && !several && v.Node.Get(keyBalancer) == nil {
		d.Errorf(document.Child(v, keyBalancers), document.WrongValue, "found no load balancer; want at least one")
	}
	for _, key := range []string{keyProdListener, keyProdRule, keyStageListener, keyStageRule} {
		switch given := !document.Neutral(v.Node.Get(key)); {
		case given && several:
			d.Errorf(document.Child(v, key), document.WrongValue, "found %s beside %s; want it in an item of that", key, keyBalancers)
		case !given && v.Node.Get(keyBalancer) != nil && (key == keyProdListener || key == keyProdRule):
			d.Errorf(v, document.MissingKey, "key %q is missing, which %s needs", key, keyBalancer)
		}
	}
	if !several {
		s.One.pair(d, v)
	}
}

// of is what a load balancer comes to.
func (b *balancer) of(where string) (Balancer, error) {
	out := Balancer{
		Name: step.Text(b.Name), ProdListener: step.Text(b.ProdListener), ProdRule: step.Text(b.ProdRule),
		StageListener: step.Text(b.StageListener), StageRule: step.Text(b.StageRule),
	}
	for _, f := range []struct{ name, value string }{{keyBalancer, out.Name}, {keyProdListener, out.ProdListener}, {keyProdRule, out.ProdRule}} {
		if f.value == "" {
			return out, fault.New(fault.Invalid, "%s%s is empty", where, f.name)
		}
	}
	if (out.StageListener == "") != (out.StageRule == "") {
		return out, fault.New(fault.Invalid, "%s%s is %q and %s is %q; want both, or none to shift traffic by weights", where, keyStageListener, out.StageListener, keyStageRule, out.StageRule)
	}
	return out, nil
}

// Start has a delegate deploy.
func (s *blueGreenDeploy) Start(in step.In) (step.Action, error) { return s.start(in, OpBlueGreen) }

func (s *blueGreenDeploy) start(in step.In, op Op) (step.Action, error) {
	spec := Spec{Op: op, Name: step.Text(s.Name), Size: s.Instances.size()}
	if len(s.Several) == 0 {
		one, err := s.One.of("")
		if err != nil {
			return step.Action{}, err
		}
		spec.Balancers = []Balancer{one}
	}
	for i := range s.Several {
		one, err := s.Several[i].of(fmt.Sprintf("%s[%d].", keyBalancers, i))
		if err != nil {
			return step.Action{}, err
		}
		spec.Balancers = append(spec.Balancers, one)
	}
	return start(in, spec)
}
