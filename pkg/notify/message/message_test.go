package message_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/feed"
	"github.com/slipway-cd/slipway/pkg/notify/message"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

var update = flag.Bool("update", false, "write the messages of testdata anew")

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// event is an event of an execution in the stage and the step, as far as the
// type has them.
func event(typ feed.Type, status plan.Status) feed.Event {
	d := feed.Detail{
		ID: "x1/7/" + string(typ), Account: "acme", Org: "default", Project: "shop", Actor: "ann", Execution: "x1", Pipeline: "web",
		PipelineName: "Web & <shop>", Sequence: 12, Status: status, StartedAt: noon,
	}
	if status.Terminal() {
		d.EndedAt = noon.Add(75 * time.Second)
	}
	if status.Bad() {
		d.Message = "step rollout: 2 of 3 replicas aren't <ready>"
	}
	switch typ { //nolint:exhaustive // the others are of pipelines
	case feed.StageStarted, feed.StageEnded:
		d.Stage = &feed.Node{Node: "pipeline.stages.prod", ID: "prod", Name: "Production", Type: "Deployment"}
	case feed.StepEnded, feed.ApprovalWaiting:
		d.Stage = &feed.Node{Node: "pipeline.stages.prod", ID: "prod", Name: "Production", Type: "Deployment"}
		d.Step = &feed.Node{Node: "pipeline.stages.prod.spec.execution.steps.rollout", ID: "rollout", Name: "Roll out", Type: "K8sRollingDeploy"}
	}
	return feed.Event{Type: typ, At: noon.Add(76 * time.Second), Detail: d}
}

// The types that rules know of an event (semantics/pipeline §10).
func TestTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ    feed.Type
		status plan.Status
		want   string
	}{
		{feed.ExecutionStarted, plan.Running, "PipelineStart"},
		{feed.ExecutionEnded, plan.Success, "PipelineSuccess PipelineEnd"},
		{feed.ExecutionEnded, plan.IgnoreFailed, "PipelineSuccess PipelineEnd"},
		{feed.ExecutionEnded, plan.Failed, "PipelineFailed PipelineEnd"},
		{feed.ExecutionEnded, plan.Errored, "PipelineFailed PipelineEnd"},
		{feed.ExecutionEnded, plan.Expired, "PipelineFailed PipelineEnd"},
		{feed.ExecutionEnded, plan.ApprovalRejected, "PipelineFailed PipelineEnd"},
		{feed.ExecutionEnded, plan.Aborted, "PipelineFailed PipelineEnd"},
		{feed.ExecutionPaused, plan.Paused, "PipelinePaused"},
		{feed.ExecutionResumed, plan.Running, "PipelineResumed"},
		{feed.StageStarted, plan.Running, "StageStart"},
		{feed.StageEnded, plan.Success, "StageSuccess"},
		{feed.StageEnded, plan.Failed, "StageFailed"},
		{feed.StageEnded, plan.Skipped, ""},
		{feed.StepStarted, plan.Running, ""},
		{feed.StepEnded, plan.Success, ""},
		{feed.StepEnded, plan.Failed, "StepFailed"},
		{feed.ApprovalWaiting, plan.ApprovalWaiting, "WaitingForUserAction"},
		{feed.InterventionWaiting, plan.InterventionWaiting, "WaitingForUserAction"},
		{feed.InputWaiting, plan.InputWaiting, "WaitingForUserAction"},
		{feed.TriggerFailed, "", "TriggerFailed"},
		{feed.EntitySaved, "", ""},
	} {
		if got := strings.Join(message.Types(event(c.typ, c.status)), " "); got != c.want {
			t.Errorf("%s, %s: got %q, want %q", c.typ, c.status, got, c.want)
		}
	}
}

func TestMeets(t *testing.T) {
	t.Parallel()
	rule := func(events ...entity.NotificationEvent) entity.NotificationRule {
		return entity.NotificationRule{Events: events}
	}
	all := rule(entity.NotificationEvent{Type: "AllEvents"})
	prod := rule(entity.NotificationEvent{Type: "StageFailed", Stages: []string{"prod"}}, entity.NotificationEvent{Type: "PipelineEnd"})
	off := all
	off.Enabled = yamldoc.Field[bool]{Set: true}
	for _, c := range []struct {
		name             string
		rule             entity.NotificationRule
		typ, stage, step string
		want             bool
	}{
		{"all events", all, "StepFailed", "prod", "rollout", true},
		{"switched off", off, "StepFailed", "prod", "rollout", false},
		{"the stage", prod, "StageFailed", "prod", "", true},
		{"another stage", prod, "StageFailed", "dev", "", false},
		{"another event of the stage", prod, "StageSuccess", "prod", "", false},
		{"one of two events", prod, "PipelineEnd", "", "", true},
		{"a pipeline's event isn't a stage's", rule(entity.NotificationEvent{Type: "AllEvents", Stages: []string{"prod"}}), "PipelineEnd", "", "", true},
		{"all events of a stage", rule(entity.NotificationEvent{Type: "AllEvents", Stages: []string{"prod"}}), "StageFailed", "dev", "", false},
		{"the step", rule(entity.NotificationEvent{Type: "StepFailed", Steps: []string{"rollout"}}), "StepFailed", "prod", "rollout", true},
		{"another step", rule(entity.NotificationEvent{Type: "StepFailed", Steps: []string{"rollout"}}), "StepFailed", "prod", "check", false},
	} {
		if got := message.Meets(c.rule, c.typ, c.stage, c.step); got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}

// The messages of each channel are in testdata, for people to read.
func TestMessages(t *testing.T) {
	t.Parallel()
	events := []feed.Event{
		event(feed.ExecutionStarted, plan.Running), event(feed.ExecutionPaused, plan.Paused), event(feed.ExecutionResumed, plan.Running),
		event(feed.ExecutionEnded, plan.Success), event(feed.StageEnded, plan.Success),
		event(feed.StepEnded, plan.Failed), event(feed.ApprovalWaiting, plan.ApprovalWaiting), event(feed.ExecutionEnded, plan.Aborted),
		{Type: feed.TriggerFailed, At: noon, Detail: feed.Detail{
			ID: "f1", Account: "acme", Org: "default", Project: "shop", Pipeline: "web", PipelineName: "Web & <shop>", Message: "there is no input set x",
			Trigger: &feed.Trigger{ID: "on_push", Event: "e1"},
		}},
	}
	for channel, method := range map[string]entity.NotificationMethod{
		entity.ChannelEmail:     {Recipients: []string{"ops@example.com", "Ann <ann@example.com>"}},
		entity.ChannelSlack:     {URL: "https://hooks.slack.com/services/T/B/x"},
		entity.ChannelMSTeams:   {Teams: []string{"https://example.com/teams"}},
		entity.ChannelPagerDuty: {Key: "routing"},
		entity.ChannelWebhook:   {URL: "https://example.com/hook", Headers: map[string]string{"X-Token": "t"}},
		entity.ChannelDatadog:   {URL: "https://api.datadoghq.eu/api/v1/events", Key: "key", Headers: map[string]string{"X-Team": "shop"}},
	} {
		t.Run(channel, func(t *testing.T) {
			t.Parallel()
			method.Type.Value = channel
			var got txtar.Archive
			for _, e := range events {
				for _, typ := range message.Types(e) {
					about := message.About{Type: typ, Event: e, Origin: message.Origin{Trigger: "MANUAL", Name: "ann", Email: "ann@example.com"}}
					out, err := message.Make(about, method, 0, "0123abc")
					if err != nil {
						t.Fatal(err)
					}
					got.Files = append(got.Files, txtar.File{Name: typ + " " + string(e.Detail.Status), Data: []byte(shown(t, out))})
				}
			}
			golden(t, filepath.Join("testdata", strings.ToLower(channel)+".txtar"), txtar.Format(&got))
		})
	}
}

// shown is a message as text.
func shown(t *testing.T, out message.Outgoing) string {
	t.Helper()
	if m := out.Mail; m != nil {
		return fmt.Sprintf("id: %s\ndate: %s\nto: %s\nsubject: %s\n\n%s", m.ID, m.Date.Format(time.RFC3339), strings.Join(m.To, " | "), m.Subject, m.Body)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s\n", out.Post.URL)
	for _, key := range slices.Sorted(maps.Keys(out.Post.Headers)) {
		fmt.Fprintf(&b, "%s: %s\n", key, out.Post.Headers[key])
	}
	b.WriteString("\n")
	if err := json.Indent(&b, out.Post.Body, "", "  "); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}
