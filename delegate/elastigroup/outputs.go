package elastigroup

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/slipway-cd/slipway/delegate/awsdiff"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/elastigroup"
	"github.com/slipway-cd/slipway/pkg/task"
)

// outputs are what expressions read below a step's "output".
type outputs struct {
	New      string `json:"newElastigroupName,omitempty"`
	NewID    string `json:"newElastigroupId,omitempty"`
	Old      string `json:"oldElastigroupName,omitempty"`
	OldID    string `json:"oldElastigroupId,omitempty"`
	Target   *int   `json:"targetCount,omitempty"`
	NewCount *int   `json:"newCount,omitempty"`
	OldCount *int   `json:"oldCount,omitempty"`
	Image    string `json:"amiId,omitempty"`
	// Of the blue/green steps.
	Balancers []route          `json:"loadBalancers,omitempty"`
	Weights   map[string]int32 `json:"weights,omitempty"` // by target group

	awsdiff.Outputs // of a preview
}

// route is a load balancer as the outputs have it.
type route struct {
	LoadBalancer string `json:"loadBalancer"`
	ProdRule     string `json:"prodListenerRuleArn"`
	StageRule    string `json:"stageListenerRuleArn,omitempty"`
	ProdGroup    string `json:"prodTargetGroupArn"`
	StageGroup   string `json:"stageTargetGroupArn"`
}

// serverInstance is a machine as deploymentInfoOutcome has it.
type serverInstance struct {
	Group    string `json:"elastigroupId"`
	Name     string `json:"elastigroupName"`
	Instance string `json:"ec2InstanceId"`
}

// mostListed is how many machines deploymentInfoOutcome lists: a result has bounds.
const mostListed = 100

// describeChanges puts into the result what the step has come to, also where it
// failed: which machines run of the groups that it may have changed.
func (s *session) describeChanges(ctx context.Context, r *task.Result) error {
	s.outputs.Image = s.spec.Target.Image
	all := map[string]any{"output": s.outputs}
	var err error
	if len(s.touched) > 0 {
		var found looked
		if found, err = s.look(ctx, s.touched); err == nil {
			r.Changes = []task.Change{s.change(found)}
			all["deploymentInfoOutcome"] = map[string]any{"serverInstanceInfoList": serverInstances(found)}
		}
	}
	doc, failed := json.Marshal(all)
	if failed != nil {
		return fmt.Errorf("encode the outputs: %w", failed)
	}
	r.Outputs = doc
	return err
}

// change is what the ledger keeps.
func (s *session) change(found looked) task.Change {
	c := task.Change{Target: "elastigroup:" + s.work.Target.Infrastructure, Action: "applied", Counted: true}
	if s.spec.Op == lane.OpRollback || s.spec.Op == lane.OpShiftRollback {
		c.Action = "rolled back"
	}
	for _, id := range s.touched {
		w := found.workloads[id]
		c.Resources = append(c.Resources, w.Resource)
		if !w.Gone {
			c.Workloads = append(c.Workloads, w)
		}
	}
	for _, one := range found.machines {
		c.Instances = append(c.Instances, one.instance)
	}
	return c
}

func serverInstances(found looked) []serverInstance {
	list := []serverInstance{}
	for _, one := range found.machines[:min(mostListed, len(found.machines))] {
		list = append(list, serverInstance{Group: one.group.ID, Name: one.group.Name, Instance: one.ID})
	}
	return list
}
