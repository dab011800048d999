package asg

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/slipway-cd/slipway/delegate/awsdiff"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
	"github.com/slipway-cd/slipway/pkg/task"
)

// outputs are what expressions read below a step's "output".
type outputs struct {
	Name     string `json:"asgName,omitempty"`
	ARN      string `json:"asgArn,omitempty"`
	Region   string `json:"region,omitempty"`
	Template string `json:"launchTemplateId,omitempty"`
	Version  string `json:"launchTemplateVersion,omitempty"`
	Previous string `json:"previousVersion,omitempty"`
	Image    string `json:"amiId,omitempty"`
	Refresh  string `json:"instanceRefreshId,omitempty"`
	Min      *int32 `json:"min,omitempty"`
	Max      *int32 `json:"max,omitempty"`
	Desired  *int32 `json:"desired,omitempty"`
	// Of AsgScale.
	PreviousDesired *int32 `json:"previousDesired,omitempty"`
	// Of the blue/green steps.
	New     string           `json:"newAsgName,omitempty"`
	Old     string           `json:"oldAsgName,omitempty"`
	Weights map[string]int32 `json:"weights,omitempty"` // by target group

	// Of AsgSetup and AsgPhasedDeploy.
	Target   *int32 `json:"targetCount,omitempty"`
	NewCount *int32 `json:"newInstanceCount,omitempty"`
	OldCount *int32 `json:"oldInstanceCount,omitempty"`

	awsdiff.Outputs // of a preview
}

// of are those of a group that was deployed.
func (o *outputs) of(w *wanted, v version, was before) {
	o.Name, o.Template, o.Version, o.Image = w.name, v.ID, v.Number, v.Image
	if from := was.from(); from != nil {
		o.Previous = sdk.ToString(from.Version)
	}
}

// back are those of a group that is as it was before.
func (o *outputs) back(live *types.AutoScalingGroup, v version) {
	o.Name, o.Template, o.Version = sdk.ToString(live.AutoScalingGroupName), v.ID, v.Number
}

// sizes are those of the group that the outputs are of.
func (o *outputs) sizes(one types.AutoScalingGroup) {
	o.ARN, o.Min, o.Max, o.Desired = sdk.ToString(one.AutoScalingGroupARN), one.MinSize, one.MaxSize, one.DesiredCapacity
}

// touch notes a group that the task may have changed.
func (s *session) touch(group string) {
	if !slices.Contains(s.touched, group) {
		s.touched = append(s.touched, group)
	}
}

// deploying notes the groups whose machines are those of what is deployed, whether
// the task changes them or not; an empty name is none.
func (s *session) deploying(groups ...string) {
	for _, name := range groups {
		if name != "" {
			s.near = append(s.near, name)
		}
	}
}

// serverInstance is a machine as deploymentInfoOutcome has it.
type serverInstance struct {
	Group      string `json:"asgName"`
	Instance   string `json:"instanceId"`
	Strategy   string `json:"executionStrategy"`
	Production bool   `json:"production"`
}

// mostListed is how many machines deploymentInfoOutcome lists: a result has bounds.
const mostListed = 100

// describeChanges puts into the result what the step has come to, also where it
// failed: which machines run of the groups that it may have changed.
func (s *session) describeChanges(ctx context.Context, r *task.Result) error {
	s.outputs.Region = s.Region
	var found looked
	var err error
	listed := []serverInstance{}
	if len(s.touched) > 0 {
		if found, err = s.look(ctx, s.beside()); err == nil {
			r.Changes = []task.Change{s.change(found)}
			listed = s.serverInstances(found)
		}
		if one, ok := found.groups[s.outputs.Name]; ok {
			s.outputs.sizes(one)
		}
	}
	all := map[string]any{"output": s.outputs}
	if len(r.Changes) > 0 {
		all["deploymentInfoOutcome"] = map[string]any{"serverInstanceInfoList": listed}
	}
	doc, failed := json.Marshal(all)
	if failed != nil {
		return fmt.Errorf("encode the outputs: %w", failed)
	}
	r.Outputs = doc
	return err
}

// beside are the groups whose machines are those of what is deployed: those that
// the task has changed, and their canaries.
func (s *session) beside() []string {
	var names []string
	for _, one := range slices.Concat(s.touched, s.near) {
		of := strings.TrimSuffix(one, canarySuffix)
		for _, name := range []string{of, of + canarySuffix} {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// change is what the ledger keeps.
func (s *session) change(found looked) task.Change {
	c := task.Change{Target: "asg:" + s.Region, Action: "applied", Counted: true}
	switch s.spec.Op {
	case lane.OpRollingRollback, lane.OpBlueGreenRollback, lane.OpPhasedRollback:
		c.Action = "rolled back"
	case lane.OpCanaryDelete:
		c.Action = "deleted"
	case lane.OpScale:
		c.Action = "scaled"
	case lane.OpRolling, lane.OpCanary, lane.OpSteadyState, lane.OpBlueGreen, lane.OpBlueGreenSwap, lane.OpShiftTraffic, lane.OpSetup, lane.OpPhased,
		lane.OpDiff, lane.OpCanaryDiff, lane.OpBlueGreenDiff, lane.OpSetupDiff:
	}
	for _, name := range s.touched {
		c.Resources = append(c.Resources, s.workload(name))
		if w, there := found.workloads[name]; there && !w.Gone {
			c.Workloads = append(c.Workloads, w)
		}
	}
	for _, one := range found.machines {
		c.Instances = append(c.Instances, one.instance)
	}
	return c
}

func (s *session) serverInstances(found looked) []serverInstance {
	list := []serverInstance{}
	for _, one := range found.machines[:min(mostListed, len(found.machines))] {
		i := serverInstance{Group: one.group, Instance: sdk.ToString(one.InstanceId), Strategy: "Rolling", Production: !one.instance.Canary}
		colour := colourOf(found.groups[one.group].Tags)
		switch {
		case one.instance.Canary:
			i.Strategy = "Canary"
		case colour != "":
			i.Strategy, i.Production = "BlueGreen", colour == blue
		}
		list = append(list, i)
	}
	return list
}
