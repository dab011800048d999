package elastigroup

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// stageSetupType is the step type ElastigroupBGStageSetup: what is to be deployed
// becomes a group beside the one that has the traffic, behind target groups that
// have none, or less of it.
//
// Outputs: output.newElastigroupName, output.newElastigroupId,
// output.oldElastigroupName, output.oldElastigroupId, output.targetCount,
// output.amiId and output.loadBalancers. The group is made by
// delegate/elastigroup.
func stageSetupType() step.Type {
	return step.Type{
		Name: string(OpStageSetup), Deploys: true, New: func(d *document.Decoder, v yamldoc.Value) step.Spec { return decodeStageSetup(d, v) },
		Preview: &step.Preview{By: string(OpStageDiff), Keys: []string{"name", "instances", "connectedCloudProvider", "loadBalancers"}},
	}
}

// stageSetup is the step's spec.
type stageSetup struct {
	Name      yamldoc.Field[string]
	Instances aws.Instances
	// Where the load balancers are: connectedCloudProvider.
	ConnectorRef yamldoc.Field[string]
	Region       yamldoc.Field[string]
	Balancers    []balancer
}

// balancer is a load balancer before the groups.
type balancer struct {
	LoadBalancer     yamldoc.Field[string] // its name or ARN
	ProdPort         yamldoc.Field[string] // prodListenerPort
	ProdRule         yamldoc.Field[string] // prodListenerRuleArn
	StagePort        yamldoc.Field[string]
	StageRule        yamldoc.Field[string]
	StageTargetGroup yamldoc.Field[string]
	Shift            yamldoc.Field[bool] // isTrafficShift
}

func decodeStageSetup(d *document.Decoder, v yamldoc.Value) *stageSetup {
	s := &stageSetup{}
	d.Fields(v, document.Keys{
		"name":                   d.Text(&s.Name),
		"instances":              func(e yamldoc.Value) { s.Instances.Decode(d, e) },
		"connectedCloudProvider": func(e yamldoc.Value) { s.provider(d, e) },
		"loadBalancers":          func(e yamldoc.Value) { s.balancers(d, e) },
		"delegateSelectors":      d.Words(nil), // the plan's
	})
	d.Missing(v, "instances", "connectedCloudProvider", "loadBalancers")
	return s
}

func (s *stageSetup) provider(d *document.Decoder, v yamldoc.Value) {
	d.Fields(v, document.Keys{
		"type": d.Literal(new(yamldoc.Field[string]), "AWS"),
		"spec": func(e yamldoc.Value) {
			d.Fields(e, document.Keys{"connectorRef": d.Reference(ref.Connector, &s.ConnectorRef), "region": d.Text(&s.Region)})
			d.Need(e, "connectorRef", "region")
		},
	})
	d.Need(v, "type", "spec")
}

func (s *stageSetup) balancers(d *document.Decoder, v yamldoc.Value) {
	d.Filled(v, document.WrongValue, "found no load balancers; want at least one")
	for item := range d.Items(v) {
		var b balancer
		d.Fields(item, document.Keys{
			"type": d.Literal(new(yamldoc.Field[string]), "AWSLoadBalancerConfig"),
			"spec": func(e yamldoc.Value) { b.decode(d, e) },
		})
		d.Need(item, "type", "spec")
		s.Balancers = append(s.Balancers, b)
	}
}

func (b *balancer) decode(d *document.Decoder, v yamldoc.Value) {
	d.Fields(v, document.Keys{
		"loadBalancer":         d.Text(&b.LoadBalancer),
		"prodListenerPort":     d.Text(&b.ProdPort),
		"prodListenerRuleArn":  d.Text(&b.ProdRule),
		"stageListenerPort":    d.Text(&b.StagePort),
		"stageListenerRuleArn": d.Text(&b.StageRule),
		"stageTargetGroupArn":  d.Text(&b.StageTargetGroup),
		"isTrafficShift": func(e yamldoc.Value) {
			b.Shift = d.Bool(e)
			d.Plain(e, b.Shift.Expr, "true or false: the other keys depend on it")
		},
	})
	d.Need(v, "loadBalancer", "prodListenerPort", "prodListenerRuleArn")
	b.one(d, v)
}

// one reports what isn't there of the one way to tell the new group's target group,
// and what is there of the other.
func (b *balancer) one(d *document.Decoder, v yamldoc.Value) {
	wanted, other := []string{"stageListenerPort", "stageListenerRuleArn"}, []string{"stageTargetGroupArn"}
	if b.Shift.Value {
		wanted, other = other, wanted
	}
	for _, name := range wanted {
		if v.Node.Get(name) == nil {
			d.Errorf(v, document.MissingKey, "key %q is missing, which isTrafficShift: %t needs", name, b.Shift.Value)
		}
	}
	for _, name := range other {
		if !document.Neutral(v.Node.Get(name)) {
			d.Errorf(document.Child(v, name), document.WrongValue, "found %s beside isTrafficShift: %t, which doesn't need it", name, b.Shift.Value)
		}
	}
}

// Start has a delegate make the group.
func (s *stageSetup) Start(in step.In) (step.Action, error) { return s.begin(in, OpStageSetup) }

func (s *stageSetup) begin(in step.In, op Op) (step.Action, error) {
	name, err := named(in, s.Name)
	if err != nil {
		return step.Action{}, err
	}
	spec := Spec{Op: op, Name: name, Size: s.Instances.Size()}
	for _, b := range s.Balancers {
		spec.Balancers = append(spec.Balancers, Balancer{
			LoadBalancer: step.Text(b.LoadBalancer), ProdPort: step.Text(b.ProdPort), ProdRule: step.Text(b.ProdRule),
			StagePort: step.Text(b.StagePort), StageRule: step.Text(b.StageRule), StageTargetGroup: step.Text(b.StageTargetGroup), Shift: b.Shift.Value,
		})
	}
	return s.start(in, spec)
}

// start makes a task of what needs the load balancers.
func (s *stageSetup) start(in step.In, spec Spec) (step.Action, error) {
	account, selectors, err := in.AWS(s.ConnectorRef.Value, s.Region.Value)
	if err != nil {
		return step.Action{}, err
	}
	spec.AWS = &account
	return start(in, spec, selectors...)
}
