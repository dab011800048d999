package resolve_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/trigger"
)

func TestNamesOfATriggeredExecution(t *testing.T) {
	t.Parallel()
	push := trigger.Event{
		Source: trigger.Github, Trigger: "on_push", Types: []string{"Push"}, TargetBranch: "main", CommitSHA: "b2", User: "ann",
		Header: trigger.Header{"x-github-event": "push"},
		Body:   `{"pusher": {"name": "ann"}, "text": "<+pipeline.name>"}`,
	}
	for _, c := range []struct {
		name  string
		event trigger.Event
		text  string
		want  string
	}{
		{"who and what", push, "<+pipeline.triggerType> <+pipeline.triggeredBy.name> <+pipeline.triggeredBy.email>", "WEBHOOK ann null"},
		{"the event", push, "<+trigger.type> <+trigger.branch> <+trigger.commitSha> <+trigger.prNumber>", "Webhook main b2 null"},
		{"the payload", push, "<+trigger.payload.pusher.name> <+eventPayload.pusher.name> <+trigger.payload.nothing.here>", "ann ann null"},
		{"a header", push, "<+trigger.header['X-GitHub-Event']>", "push"},
		{"a payload is never an expression", push, "<+trigger.payload.text>", "<+pipeline.name>"},
		{"a schedule", trigger.Event{Source: trigger.Scheduled, Trigger: "nightly"}, "<+pipeline.triggerType> <+pipeline.triggeredBy.name> <+trigger.type>",
			"SCHEDULER_CRON nightly Scheduled"},
		{"from anywhere", trigger.Event{Source: trigger.Custom, Body: `{"a": [1]}`}, "<+pipeline.triggerType> <+trigger.payload.a[0]>", "WEBHOOK_CUSTOM 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := scopeAt(t, "pipeline.stages.build")
			doc, err := c.event.Encode()
			if err != nil {
				t.Fatal(err)
			}
			s.Plan.Trigger = doc
			if got, err := s.Text(c.text); err != nil || got != c.want {
				t.Errorf("%s: %q, %v; want %q", c.text, got, err, c.want)
			}
		})
	}
}
