package ecs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/slipway-cd/slipway/delegate/awsdiff"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
	"github.com/slipway-cd/slipway/pkg/task"
)

// outputs are what expressions read below a step's "output".
type outputs struct {
	ServiceName    string `json:"serviceName,omitempty"`
	ServiceARN     string `json:"serviceArn,omitempty"`
	Region         string `json:"region,omitempty"`
	Cluster        string `json:"cluster,omitempty"`
	TaskDefinition string `json:"taskDefinitionArn,omitempty"`
	Deployment     string `json:"deploymentId,omitempty"`
	Desired        *int32 `json:"desiredCount,omitempty"`
	First          *bool  `json:"firstDeployment,omitempty"`
	Canary         string `json:"canaryServiceName,omitempty"`
	// Of steps whose stage has two services.
	New string `json:"newServiceName,omitempty"`
	Old string `json:"oldServiceName,omitempty"`
	// Of the blue/green steps.
	Balancer   string           `json:"loadBalancer,omitempty"`
	ProdRule   string           `json:"prodListenerRuleArn,omitempty"`
	StageRule  string           `json:"stageListenerRuleArn,omitempty"`
	ProdGroup  string           `json:"prodTargetGroupArn,omitempty"`
	StageGroup string           `json:"stageTargetGroupArn,omitempty"`
	Weights    map[string]int32 `json:"weights,omitempty"` // by target group
	// Of EcsScale.
	Service  string `json:"service,omitempty"`
	Previous *int32 `json:"previousCount,omitempty"`
	Count    *int32 `json:"count,omitempty"`
	// Of EcsServiceSetup and EcsUpgradeContainer.
	Target          *int32 `json:"targetCount,omitempty"`
	NewCount        *int32 `json:"newServiceCount,omitempty"`
	OldCount        *int32 `json:"oldServiceCount,omitempty"`
	awsdiff.Outputs        // of a preview
	// Of EcsRunTask.
	Tasks []taskRun `json:"tasks,omitempty"`
}

// of are those of a service that was made or updated.
func (o *outputs) of(one *types.Service, first bool) {
	o.ServiceName, o.ServiceARN = sdk.ToString(one.ServiceName), sdk.ToString(one.ServiceArn)
	o.Deployment, o.Desired, o.First = newestID(one), &one.DesiredCount, &first
}

// colours are those of a stage with two services.
func (o *outputs) colours(c *colours) {
	o.ServiceName, o.New, o.Old, o.Balancer = c.New, c.New, c.Old, c.LoadBalancer
	o.ProdGroup, o.StageGroup, o.ProdRule = c.ProdGroup, c.StageGroup, c.Prod.ARN()
	if c.Stage != nil {
		o.StageRule = c.Stage.ARN()
	}
}

// touch notes a service that the task may have changed.
func (s *session) touch(service string) {
	if !slices.Contains(s.touched, service) {
		s.touched = append(s.touched, service)
	}
}

// deploying notes the services whose tasks are those of what is deployed, whether
// the task changes them or not; an empty name is none.
func (s *session) deploying(services ...string) {
	for _, name := range services {
		if name != "" {
			s.near = append(s.near, name)
		}
	}
}

// serverInstance is a task as deploymentInfoOutcome has it.
type serverInstance struct {
	Region         string            `json:"region"`
	ClusterARN     string            `json:"clusterArn"`
	TaskARN        string            `json:"taskArn"`
	TaskDefinition string            `json:"taskDefinitionArn"`
	ServiceName    string            `json:"serviceName"`
	LaunchType     string            `json:"launchType"`
	Containers     []serverContainer `json:"containers"`
	StartedAt      int64             `json:"startedAt"` // milliseconds since 1970
	Version        int64             `json:"version"`
}

type serverContainer struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

// mostListed is how many tasks deploymentInfoOutcome lists: a result has bounds.
const mostListed = 100

// describeChanges puts into the result what the step has come to, also where it
// failed: which tasks run of the services that it may have changed.
func (s *session) describeChanges(ctx context.Context, r *task.Result) error {
	s.outputs.Region, s.outputs.Cluster = s.Region, s.short()
	all := map[string]any{"output": s.outputs}
	var err error
	if len(s.touched) > 0 {
		var found looked
		if found, err = s.look(ctx, s.beside()); err == nil {
			if s.spec.Scale == nil || !s.spec.Scale.Elsewhere {
				r.Changes = []task.Change{s.change(found)}
			}
			all["deploymentInfoOutcome"] = map[string]any{"serverInstanceInfoList": s.serverInstances(found)}
		}
	}
	doc, failed := json.Marshal(all)
	if failed != nil {
		return fmt.Errorf("encode the outputs: %w", failed)
	}
	r.Outputs = doc
	return err
}

// beside are the services whose tasks are those of what is deployed: those that
// the task has changed, and their canaries.
func (s *session) beside() []string {
	var names []string
	for _, one := range append(slices.Clone(s.touched), s.near...) {
		of := strings.TrimSuffix(one, canarySuffix)
		for _, name := range []string{of, canaryName(of), one} {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// change is what the ledger keeps.
func (s *session) change(found looked) task.Change {
	c := task.Change{Target: "ecs:" + s.Region + "/" + s.short(), Action: "applied", Counted: true}
	switch s.spec.Op {
	case lane.OpRollingRollback, lane.OpBasicRollback, lane.OpBlueGreenRollback, lane.OpShiftRollback:
		c.Action = "rolled back"
	case lane.OpCanaryDelete:
		c.Action = "deleted"
	case lane.OpScale:
		c.Action = "scaled"
	case lane.OpRolling, lane.OpCanary, lane.OpRunTask, lane.OpSetup, lane.OpUpgrade, lane.OpBlueGreenCreate, lane.OpBlueGreenSwap, lane.OpTrafficShift,
		lane.OpDiff, lane.OpCanaryDiff, lane.OpBlueGreenDiff, lane.OpSetupDiff:
	}
	for _, name := range s.touched {
		c.Resources = append(c.Resources, s.workload(name))
		if w, there := found.workloads[name]; there && !w.Gone {
			c.Workloads = append(c.Workloads, w)
		}
	}
	for _, one := range found.tasks {
		c.Instances = append(c.Instances, one.instance)
	}
	return c
}

func (s *session) serverInstances(found looked) []serverInstance {
	list := []serverInstance{}
	for _, one := range found.tasks[:min(mostListed, len(found.tasks))] {
		t := one.Task
		i := serverInstance{
			Region: s.Region, ClusterARN: sdk.ToString(t.ClusterArn), TaskARN: sdk.ToString(t.TaskArn), TaskDefinition: sdk.ToString(t.TaskDefinitionArn),
			ServiceName: one.service, LaunchType: string(t.LaunchType), Version: t.Version, Containers: []serverContainer{},
		}
		if t.StartedAt != nil {
			i.StartedAt = t.StartedAt.UnixMilli()
		}
		for _, c := range t.Containers {
			i.Containers = append(i.Containers, serverContainer{Name: sdk.ToString(c.Name), Image: sdk.ToString(c.Image)})
		}
		list = append(list, i)
	}
	return list
}
