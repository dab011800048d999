// Package message says what notifications are about and how each channel is
// told: which rules an event meets, and the texts and JSON documents that the
// channels' vendors take (semantics/pipeline §10).
//
// It is pure. Whose rules they are, what their expressions mean and how a
// message gets to its channel is pkg/notify's and pkg/notify/send's.
package message

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/feed"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// The types of event that a message is about, as rules name them.
const (
	pipelineStart   = "PipelineStart"
	pipelineSuccess = "PipelineSuccess"
	pipelineFailed  = "PipelineFailed"
	pipelineEnd     = "PipelineEnd"
	pipelinePaused  = "PipelinePaused"
	pipelineResumed = "PipelineResumed"
	stageStart      = "StageStart"
	stageSuccess    = "StageSuccess"
	stageFailed     = "StageFailed"
	stepFailed      = "StepFailed"
	waitingForUser  = "WaitingForUserAction"
	triggerFailed   = "TriggerFailed"
)

// Types are what an event is to the rules: none if they don't know it, two
// when a pipeline ends, which is a message each.
func Types(e feed.Event) []string {
	bad := e.Detail.Status.Bad()
	switch e.Type { //nolint:exhaustive // rules know no others
	case feed.ExecutionStarted:
		return []string{pipelineStart}
	case feed.ExecutionEnded:
		if bad {
			return []string{pipelineFailed, pipelineEnd}
		}
		return []string{pipelineSuccess, pipelineEnd}
	case feed.ExecutionPaused:
		return []string{pipelinePaused}
	case feed.ExecutionResumed:
		return []string{pipelineResumed}
	case feed.StageStarted:
		return []string{stageStart}
	case feed.StageEnded:
		switch {
		case bad:
			return []string{stageFailed}
		case e.Detail.Status != plan.Skipped:
			return []string{stageSuccess}
		}
	case feed.StepEnded:
		if bad {
			return []string{stepFailed}
		}
	case feed.ApprovalWaiting, feed.InterventionWaiting, feed.InputWaiting:
		return []string{waitingForUser}
	case feed.TriggerFailed:
		return []string{triggerFailed}
	}
	return nil
}

// Meets says whether a rule asks to be told of an event of a type. Stage and
// step are the identifiers of where it happened, without what a looping
// strategy adds to them; empty: nowhere in particular.
func Meets(r entity.NotificationRule, typ, stage, step string) bool {
	among := func(list []string, id string) bool { return id == "" || len(list) == 0 || slices.Contains(list, id) }
	return r.Active() && slices.ContainsFunc(r.Events, func(e entity.NotificationEvent) bool {
		return (e.Type == typ || e.Type == entity.AllEvents) && among(e.Stages, stage) && among(e.Steps, step)
	})
}

// About is what a message is made of.
type About struct {
	Type   string // one of Types
	Event  feed.Event
	Origin Origin
}

// Origin is what an execution knows beside its events.
type Origin struct {
	Trigger      string // pipeline.triggerType, e.g. MANUAL
	Name, Email  string // pipeline.triggeredBy
	ExecutionURL string // empty: there is no page to show
	PipelineURL  string
	// Of what a trigger couldn't start.
	TriggerName    string
	TriggerSource  string // Webhook, Scheduled or Artifact
	TriggerSubtype string // Github, Cron, Ecr, ...
}

// tone is how a message is to be taken.
type tone int

const (
	plain tone = iota
	good
	warning
	bad
)

func (a About) tone() tone {
	switch a.Type {
	case pipelineSuccess, stageSuccess:
		return good
	case pipelineFailed, stageFailed, stepFailed, triggerFailed:
		return bad
	case waitingForUser, pipelinePaused:
		return warning
	case pipelineEnd:
		if a.Event.Detail.Status.Bad() {
			return bad
		}
		return good
	}
	return plain
}

// title is the message in one line.
func (a About) title() string {
	d := a.Event.Detail
	of := "Pipeline " + named(d.PipelineName, d.Pipeline)
	if d.Stage != nil {
		of = "Stage " + named(d.Stage.Name, d.Stage.ID) + " of pipeline " + named(d.PipelineName, d.Pipeline)
	}
	if d.Step != nil {
		of = "Step " + named(d.Step.Name, d.Step.ID) + " in stage " + named(d.Stage.Name, d.Stage.ID) + " of pipeline " + named(d.PipelineName, d.Pipeline)
	}
	switch a.Type {
	case triggerFailed:
		return "Trigger " + named(a.Origin.TriggerName, d.Trigger.ID) + " couldn't start pipeline " + named(d.PipelineName, d.Pipeline)
	case pipelineStart, stageStart:
		return of + " started"
	case pipelineSuccess, stageSuccess:
		return of + " succeeded"
	case pipelineFailed, stageFailed, stepFailed:
		return of + " " + how(d.Status)
	case pipelineEnd:
		return of + " ended: " + string(d.Status)
	case pipelinePaused:
		return of + " was paused"
	case pipelineResumed:
		return of + " goes on"
	case waitingForUser:
		return of + " waits for somebody"
	}
	return of + ": " + a.Type
}

// how is how something failed.
func how(s plan.Status) string {
	switch s { //nolint:exhaustive // the others are failures like any
	case plan.Aborted:
		return "was aborted"
	case plan.AbortedByFreeze:
		return "was ended by a deployment freeze"
	case plan.Expired:
		return "timed out"
	case plan.ApprovalRejected:
		return "was rejected"
	}
	return "failed"
}

func named(name, id string) string {
	if name == "" {
		return id
	}
	return name
}

// fact is a thing to know, with its name.
type fact struct{ name, value string }

// facts are what there is to know, those that have a value.
func (a About) facts() []fact {
	d := a.Event.Detail
	all := []fact{
		{"Project", strings.Join(without([]string{d.Org, d.Project}, ""), "/")},
		{"Execution", a.execution()},
		{"Status", string(d.Status)},
		{"Started by", a.by()},
		{"Started", stamp(d.StartedAt)},
		{"Ended", stamp(d.EndedAt)},
		{"Duration", duration(d.StartedAt, d.EndedAt)},
		{"Message", clip(d.Message)},
		{"Page", a.Origin.ExecutionURL},
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.value == "" })
}

// execution names the execution; empty where none was started.
func (a About) execution() string {
	d := a.Event.Detail
	if d.Execution == "" {
		return ""
	}
	return "#" + itoa(d.Sequence) + " (" + d.Execution + ")"
}

func (a About) by() string {
	if a.Origin.Name != "" {
		return a.Origin.Name
	}
	return a.Event.Detail.Actor
}
