package ecs

import (
	"fmt"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// The states of a service and of its newest deployment, as ECS has them.
const (
	active   = "ACTIVE"
	draining = "DRAINING"
	inactive = "INACTIVE"
	primary  = "PRIMARY"
)

// unseen is how long a service that was just made may be missing in the answers
// of ECS.
const unseen = time.Minute

// rollout is a deployment of a service that is waited for. ECS's own waiter
// wouldn't do: it takes a service for a success that is steady because ECS has
// rolled it back.
type rollout struct {
	service    string
	deployment string // its id: that of the primary one when it was asked for
	before     string // the ARN of the task definition that the service had; empty: none
	made       bool   // the service was just made
	// previous is the deployment that was the primary one before it was asked for;
	// empty: there was none.
	previous string
}

// progress is how far a rollout is: one of done and failed, or else neither.
type progress struct {
	done   bool
	failed string
	text   string // for people
	// calm: what ECS doesn't judge itself looks as it should. It has to do so twice.
	calm bool
	// seen: ECS has described the deployment, so an answer without it isn't one
	// from before it.
	seen bool
}

// judge says how far a rollout is by a description of its service, which is nil
// where there is none, so long after it was asked for. was is what was said of
// the description before.
func (r rollout) judge(s *types.Service, after time.Duration, was progress) progress {
	if s == nil {
		if r.made && after < unseen {
			return progress{text: "Waiting for ECS to know the service " + r.service}
		}
		return progress{failed: fmt.Sprintf("service %s was deleted meanwhile", r.service)}
	}
	if status := sdk.ToString(s.Status); status == inactive || status == draining {
		return progress{failed: fmt.Sprintf("service %s was deleted meanwhile: it is %s", r.service, status)}
	}
	own, newest := found(s, r.deployment), newest(s)
	seen := was.seen || own != nil || told(s, r.deployment) != ""
	if !seen && newest != nil && r.previous != "" && sdk.ToString(newest.Id) == r.previous && after < unseen {
		return progress{text: "Waiting for ECS to know the deployment " + r.deployment}
	}
	if own == nil || sdk.ToString(own.Status) != primary {
		return progress{failed: r.replaced(s, own, newest)}
	}
	text := fmt.Sprintf("Waiting for pending tasks to finish. %d/%d running, %d pending", s.RunningCount, s.DesiredCount, s.PendingCount)
	if own.FailedTasks > 0 {
		text += fmt.Sprintf(", %d failed", own.FailedTasks)
	}
	whole := s.RunningCount == s.DesiredCount && s.PendingCount == 0
	switch own.RolloutState {
	case types.DeploymentRolloutStateFailed:
		return progress{failed: "the deployment failed: " + reason(s, own, r.deployment)}
	case types.DeploymentRolloutStateCompleted:
		return progress{done: whole, text: text, seen: true}
	case types.DeploymentRolloutStateInProgress:
		return progress{text: text, seen: true}
	}
	// ECS judges no deployments behind a Classic Load Balancer.
	calm := whole && len(s.Deployments) == 1
	return progress{done: calm && was.calm, calm: calm, text: text, seen: true}
}

// replaced says why a deployment isn't the primary one any more.
func (r rollout) replaced(s *types.Service, own, newest *types.Deployment) string {
	now := ""
	if newest != nil {
		now = sdk.ToString(newest.TaskDefinition)
	}
	failed := own != nil && own.RolloutState == types.DeploymentRolloutStateFailed
	if failed || r.before != "" && now == r.before {
		return "ECS rolled back: " + reason(s, own, r.deployment)
	}
	if newest == nil {
		return fmt.Sprintf("service %s has no deployment any more", r.service)
	}
	return fmt.Sprintf("superseded by deployment %s (task definition %s)", sdk.ToString(newest.Id), now)
}

// reason is why a deployment has failed: as it says itself or, once ECS describes
// it no more, as the service's events do.
func reason(s *types.Service, own *types.Deployment, id string) string {
	if own != nil && sdk.ToString(own.RolloutStateReason) != "" {
		return sdk.ToString(own.RolloutStateReason)
	}
	if text := told(s, id); text != "" {
		return text
	}
	return "it doesn't say why"
}

// told is the newest event of a service about a deployment, without their names;
// empty if there is none.
func told(s *types.Service, id string) string {
	for _, e := range s.Events {
		if _, text, ok := strings.Cut(sdk.ToString(e.Message), "(deployment "+id+") "); ok {
			return strings.TrimSuffix(text, ".")
		}
	}
	return ""
}

// found is the deployment with an id; nil if the service has none.
func found(s *types.Service, id string) *types.Deployment {
	for i := range s.Deployments {
		if sdk.ToString(s.Deployments[i].Id) == id {
			return &s.Deployments[i]
		}
	}
	return nil
}

// newest is the primary deployment of a service; nil if it has none, or if there
// is no service.
func newest(s *types.Service) *types.Deployment {
	if s == nil {
		return nil
	}
	for i := range s.Deployments {
		if sdk.ToString(s.Deployments[i].Status) == primary {
			return &s.Deployments[i]
		}
	}
	return nil
}

// newestID is the id of the primary deployment.
func newestID(s *types.Service) string {
	if d := newest(s); d != nil {
		return sdk.ToString(d.Id)
	}
	return ""
}
