package message

import "time"

// webhookMessage is Harness's document for webhooks (semantics/pipeline §10).
type webhookMessage struct {
	Event webhookEvent `json:"eventData"`
}

type webhookEvent struct {
	Account      string    `json:"accountIdentifier"`
	Org          string    `json:"orgIdentifier"`
	Project      string    `json:"projectIdentifier"`
	Pipeline     string    `json:"pipelineIdentifier"`
	PipelineName string    `json:"pipelineName"`
	Execution    string    `json:"planExecutionId,omitempty"`
	ExecutionURL string    `json:"executionUrl"`
	PipelineURL  string    `json:"pipelineUrl"`
	Type         string    `json:"eventType"`
	NodeStatus   string    `json:"nodeStatus"`
	By           webhookBy `json:"triggeredBy"`
	ModuleInfo   struct{}  `json:"moduleInfo"`
	webhookTimes
	Message   string `json:"errorMessage,omitempty"`
	Stage     string `json:"stageIdentifier,omitempty"`
	StageName string `json:"stageName,omitempty"`
	StepName  string `json:"stepName,omitempty"`
	*webhookTrigger
}

// webhookTrigger is there of a trigger that couldn't start its pipeline.
type webhookTrigger struct {
	Name    string `json:"triggerName"`
	ID      string `json:"triggerIdentifier"`
	Type    string `json:"triggerType"`
	Subtype string `json:"triggerSubType"`
}

type webhookBy struct {
	Trigger string `json:"triggerType"`
	Name    string `json:"name"`
	Email   string `json:"email"`
}

// webhookTimes are texts for people and seconds since 1970.
type webhookTimes struct {
	StartTime string `json:"startTime,omitempty"`
	StartTS   int64  `json:"startTs,omitempty"`
	EndTime   string `json:"endTime,omitempty"`
	EndTS     int64  `json:"endTs,omitempty"`
}

func webhook(a About) webhookMessage {
	d := a.Event.Detail
	e := webhookEvent{
		Account: d.Account, Org: d.Org, Project: d.Project, Pipeline: d.Pipeline, PipelineName: d.PipelineName,
		Execution: d.Execution, ExecutionURL: a.Origin.ExecutionURL, PipelineURL: a.Origin.PipelineURL,
		Type: a.Type, NodeStatus: a.nodeStatus(), By: webhookBy{a.Origin.Trigger, a.by(), a.Origin.Email},
	}
	if t := d.Trigger; t != nil {
		e.webhookTrigger = &webhookTrigger{named(a.Origin.TriggerName, t.ID), t.ID, a.Origin.TriggerSource, a.Origin.TriggerSubtype}
		e.StartTime, e.StartTS = moment(a.Event.At)
	}
	if !d.StartedAt.IsZero() {
		e.StartTime, e.StartTS = moment(d.StartedAt)
	}
	e.EndTime, e.EndTS = moment(d.EndedAt)
	if a.tone() == bad {
		e.Message = d.Message
	}
	if d.Stage != nil {
		e.Stage, e.StageName = d.Stage.ID, d.Stage.Name
	}
	if d.Step != nil {
		e.StepName = d.Step.Name
	}
	return webhookMessage{e}
}

func (a About) nodeStatus() string {
	switch {
	case a.Type == pipelineStart || a.Type == stageStart:
		return "started"
	case a.tone() == bad:
		return "failed"
	case a.Type == waitingForUser:
		return "waiting"
	case a.Type == pipelinePaused:
		return "paused"
	case a.Type == pipelineResumed:
		return "resumed"
	}
	return "completed"
}

// moment is a time as Harness writes it, e.g. "Fri Jan 02 03:04:05 UTC 2026".
func moment(t time.Time) (string, int64) {
	if t.IsZero() {
		return "", 0
	}
	return t.UTC().Format("Mon Jan 02 15:04:05 MST 2006"), t.Unix()
}
