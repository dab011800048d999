package events_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/feed"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/wire/plane"
)

func folder(t feed.Type) string {
	return "slipway." + strings.ReplaceAll(strings.ToLower(string(t)), " ", "-")
}

// TestEmittedSamples: each type of Slipway's own events has a sample that its
// schema takes and the code reads whole.
func TestEmittedSamples(t *testing.T) {
	t.Parallel()
	for _, kind := range feed.Types() {
		t.Run(folder(kind), func(t *testing.T) {
			t.Parallel()
			sample := read(t, folder(kind), "sample.json")
			valid(t, folder(kind), sample)
			var whole struct{ Detail json.RawMessage }
			if err := json.Unmarshal(sample, &whole); err != nil {
				t.Fatal(err)
			}
			d := json.NewDecoder(bytes.NewReader(whole.Detail))
			d.DisallowUnknownFields()
			if err := d.Decode(&feed.Detail{}); err != nil {
				t.Errorf("pkg/feed doesn't know the sample's detail: %v", err)
			}
		})
	}
	if dirs, err := filepath.Glob("slipway.*"); err != nil || len(dirs) != len(feed.Types()) {
		t.Errorf("there are %d folders for %d types of event, %v", len(dirs), len(feed.Types()), err)
	}
}

const asking = `pipeline:
  identifier: asking
  name: Asking
  stages:
    - stage:
        identifier: s
        name: s
        type: Custom
        variables:
          - {name: where, type: String, value: <+input>.executionInput()}
        spec:
          execution:
            steps:
              - step:
                  identifier: ask
                  name: ask
                  type: HarnessApproval
                  timeout: 5m
                  spec: {approvalMessage: "go on?", approvers: {userGroups: [_project_all_users], minimumCount: 1}}
        failureStrategies:
          - onFailure:
              errors: [AllErrors]
              action: {type: ManualIntervention, spec: {timeout: 5m, onTimeout: {action: {type: Abort}}}}
`

// TestWhatIsEmitted plays what makes each type of event, and checks all that
// comes against the schemas.
func TestWhatIsEmitted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	heard := make(chan feed.Event, 100)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	loop := feed.Loop{Changes: b.Store.Changes, Reader: b.Feed, Now: time.Now, Log: slog.New(slog.DiscardHandler), Subscribers: []feed.Subscriber{{
		Name: "test", Handle: func(ctx context.Context, e feed.Event) error {
			select {
			case heard <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	}}}
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(ctx) }()

	scope := ref.Scope{Account: plane.Account, Org: "default", Project: "web"}
	key := store.EntityKey{Scope: scope, Kind: ref.Pipeline, ID: "asking"}
	record := audit.Record{Time: time.Now(), Actor: "ada", Scope: scope, Action: audit.Create, Kind: string(ref.Pipeline), ID: "asking"}
	entity, err := b.Store.SaveEntity(t.Context(), store.Entity{Key: key, Name: "Asking", YAML: []byte(asking)}, record)
	if err != nil {
		t.Fatal(err)
	}
	e, err := b.Launch.Start(t.Context(), launch.Request{Scope: scope, Pipeline: "asking", By: audit.Author{Actor: "ada"}})
	if err != nil {
		t.Fatal(err)
	}
	const node = plan.NodeID("pipeline.stages.s.spec.execution.steps.ask")
	// What a person does when asked.
	answers := map[feed.Type]func() error{
		feed.InputWaiting: func() error {
			in := launch.Inputs{Values: map[string]string{"variables.where": "eu"}}
			return b.Executions.Answer(t.Context(), e.ID, "pipeline.stages.s", in, audit.Author{Actor: "bob"})
		},
		feed.ApprovalWaiting: func() error {
			if _, err := b.Executions.Pause(t.Context(), e.ID, audit.Author{Actor: "bob"}); err != nil {
				return err
			}
			if _, err := b.Executions.Resume(t.Context(), e.ID, audit.Author{Actor: "bob"}); err != nil {
				return err
			}
			return b.Executions.Approve(t.Context(), e.ID, node, execution.ApprovalAnswer{Action: "REJECT", By: audit.Author{Actor: "bob"}})
		},
		feed.InterventionWaiting: func() error {
			return b.Executions.Intervene(t.Context(), e.ID, node, plan.Ignore, audit.Author{Actor: "bob"})
		},
		feed.ExecutionEnded: func() error {
			trigger := store.EntityKey{Scope: scope, Kind: ref.Trigger, ID: "on_push", Env: "asking"}
			return b.Store.PutFire(t.Context(), store.Fire{Trigger: trigger, ID: "e1", At: time.Now(), Outcome: store.FireFailed, Reason: "there is no input set x"})
		},
		feed.TriggerFailed: func() error {
			record.Action = audit.Delete
			return b.Store.DeleteEntity(t.Context(), key, entity.Version, record)
		},
	}
	var got []feed.Type
	for !slices.Contains(got, feed.EntityDeleted) {
		event := next(t, heard)
		if id := event.Detail.Execution; id != "" && id != e.ID || event.Detail.Entity != nil && event.Detail.Entity.ID != "asking" {
			continue // the bench's own
		}
		checkEmitted(t, event)
		got = append(got, event.Type)
		if answer := answers[event.Type]; answer != nil {
			if err := answer(); err != nil {
				t.Fatal(err)
			}
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	want := []feed.Type{
		feed.EntitySaved, feed.ExecutionStarted, feed.StageStarted, feed.InputWaiting, feed.StepStarted, feed.ApprovalWaiting,
		feed.ExecutionPaused, feed.ExecutionResumed, feed.InterventionWaiting,
		feed.StepEnded, feed.StageEnded, feed.ExecutionEnded, feed.TriggerFailed, feed.EntityDeleted,
	}
	if !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
}

func next(t *testing.T, heard <-chan feed.Event) feed.Event {
	t.Helper()
	select {
	case e := <-heard:
		return e
	case <-time.After(5 * time.Minute):
		t.Fatal("no event has come")
		return feed.Event{}
	}
}

func checkEmitted(t *testing.T, e feed.Event) {
	t.Helper()
	doc, err := json.Marshal(e.Envelope())
	if err != nil {
		t.Fatal(err)
	}
	valid(t, folder(e.Type), doc)
}
