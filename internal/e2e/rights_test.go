package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/wire/plane"
)

// unseen are the actions that no request of a function shows: what AWS does in
// its name, and what a transaction writes.
func unseen(action string) bool {
	return slices.Contains([]string{
		"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", // Lambda's, in the function's name
		"kms:Decrypt", "kms:GenerateDataKey", // DynamoDB, S3 and the environment
		"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:ConditionCheckItem", // in transactions
		"execute-api:ManageConnections",                       // the WebSocket gateway stands for itself
		"s3:GetObject", "s3:PutObject", "s3:PutObjectTagging", // only for what is too large for the table
		"sqs:SendMessage",
	}, action) || strings.HasPrefix(action, "logs:") || strings.HasPrefix(action, "xray:")
}

// spare are rights that no scenario here needs, with what does.
func spare() map[string]string {
	return map[string]string{
		"api dynamodb:Query on index2":    "a delegate that says goodbye",
		"api states:SendTaskHeartbeat":    "a task that runs for longer than a minute",
		"events states:SendTaskFailure":   "a step that still waits when its execution breaks off",
		"events states:SendTaskSuccess":   "a run of an earlier release that waits for the turn of an execution that breaks off",
		"sweeper states:SendTaskSuccess":  "the same as with events",
		"sweeper states:SendTaskFailure":  "the same as with events",
		"webhooks states:SendTaskSuccess": "a run of an earlier release that waits for the turn of an execution that is superseded",
		"webhooks states:SendTaskFailure": "an execution that works and is superseded",
	}
}

// No function calls what its role in the synthesized template doesn't allow,
// and a role allows nothing that no function calls.
func TestRightsOnAWS(t *testing.T) { //nolint:tparallel // the scenarios share names
	t.Parallel()
	a := e2e.StartAWS(t)
	a.Apply(t, governed)                                                                   // whoever starts an execution asks
	for name, scenario := range map[string]func(*testing.T, func(testing.TB) *e2e.Server){ //nolint:paralleltest // the scenarios share names
		"outputs and secrets": outputsAndSecrets, "abort": anAbortReachesGrandchildren, "decisions": peopleDecide, "abort by strategy": aStrategyAborts,
		"chained": pipelinesAreChained,
		"a push":  aPushStartsAPipeline,
	} {
		t.Run(name, func(t *testing.T) {
			scenario(t, func(testing.TB) *e2e.Server { return a.Server })
		})
	}
	told(t, a)
	stoppedAndSwept(t, a)
	if err := a.Call(t.Context(), "GET", "/v1/tokens?kind=user", nil, nil); err != nil {
		t.Fatal(err)
	}
	compareAll(t, a)
}

func compareAll(t *testing.T, a *e2e.AWS) {
	t.Helper()
	for _, function := range a.Functions() {
		switch function {
		case "notify", "login": // TestNotifications and TestPeopleLogInOnAWS make them act
			continue
		case "policy", "console": // they ask nobody
			if got := slices.DeleteFunc(a.Rights(function), unseen); len(got) > 0 || len(a.Calls.Calls(function)) > 0 {
				t.Errorf("%s may do %v, and does %v; want nothing", function, got, a.Calls.Calls(function))
			}
			continue
		}
		compareRights(t, function, a.Calls.Calls(function), a.Rights(function))
	}
}

// told gives functions what EventBridge and API Gateway tell of: a minute in
// which a schedule is due, a new image, and a WebSocket that has closed.
func told(t *testing.T, a *e2e.AWS) {
	t.Helper()
	a.Apply(t, one("due", shell("say", "echo due"), ""))
	a.Apply(t, "connector: {name: aws, identifier: aws, type: Aws, spec: {credential: {type: InheritFromDelegate}}}")
	a.Apply(t, "trigger: {name: nightly, identifier: nightly, pipelineIdentifier: due, source: {type: Scheduled, spec: {type: Cron, spec: {expression: 15 3 * * *}}}}")
	a.Apply(t, "trigger: {name: image, identifier: image, pipelineIdentifier: due, source: {type: Artifact, spec: {type: Ecr, spec: "+
		"{connectorRef: aws, region: eu-west-1, imagePath: acme/web}}}}")
	for _, one := range []struct{ function, event, trigger string }{
		{"events", "aws.events.minute", "nightly"}, {"events", "aws.ecr.image-action", "image"}, {"connect", "aws.apigateway.websocket.disconnect", ""},
	} {
		event, err := os.ReadFile("../../events/" + one.event + "/sample.json")
		if err != nil {
			t.Fatal(err)
		}
		result, err := a.Host.Invoke(t.Context(), one.function, event)
		if err != nil || result.Error != "" {
			t.Fatalf("%s: %v %s", one.event, err, result.Payload)
		}
		if one.trigger == "" {
			continue
		}
		key := store.EntityKey{Scope: ref.Scope{Account: plane.Account, Org: "default", Project: "default_project"}, Kind: ref.Trigger, Env: "due", ID: one.trigger}
		fires, _, err := a.Store.ListFires(t.Context(), key, time.Time{}, store.Page{})
		if err != nil || len(fires) != 1 || fires[0].Outcome != store.FireStarted {
			t.Fatalf("%s: fires are %+v, %v; want one that started", one.event, fires, err)
		}
		if e, err := a.Until(t.Context(), fires[0].Execution, e2e.Ended); err != nil || e.Status != "Success" {
			t.Errorf("%s: the execution is %s, %v", one.event, e.Status, err)
		}
	}
}

// stoppedAndSwept makes the functions act that do so only when something has
// gone wrong: a machine run is stopped, which is told to events; one is stopped
// and nobody is told, and one is missing, which the sweeper finds.
func stoppedAndSwept(t *testing.T, a *e2e.AWS) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	a.Apply(t, one("stuck", shell("long", "sleep 600"), ""))
	until := func(id string, wanted func(e2e.Execution) bool) e2e.Execution {
		e, err := a.Until(ctx, id, wanted)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	works := func(e e2e.Execution) bool { return e.Root.Find("long").Status == "Running" }
	told := a.Begin(t, "stuck", nil)
	until(told, works)
	stopByHand(ctx, t, a, told)
	until(told, e2e.Ended)

	missing := withoutRun(ctx, t, a, told)
	sweep(ctx, t, a, missing, "started")
	until(missing, works)
	a.Host.Fail("events", testaws.Faults{Before: 1})
	stopByHand(ctx, t, a, missing)
	sweep(ctx, t, a, missing, "brokenOff")
	if e := until(missing, e2e.Ended); e.Status != "Errored" {
		t.Errorf("the execution is %s", e.Status)
	}
}

// withoutRun makes an execution like another one, of ten minutes ago, whose
// start was cut off before its machine run began.
func withoutRun(ctx context.Context, t *testing.T, a *e2e.AWS, like string) string {
	t.Helper()
	e, err := a.Store.Execution(ctx, like)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := a.Store.Plan(ctx, e.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	e.ID, e.Status, e.Message, e.Version, e.EndedAt = like+"b", plan.Running, "", 0, time.Time{}
	e.StartedAt = e.StartedAt.Add(-10 * time.Minute)
	if _, err := a.Store.CreateExecution(ctx, e, doc, audit.Record{Time: time.Now(), Scope: e.Scope, Action: audit.Start, Kind: "execution", ID: e.ID}); err != nil {
		t.Fatal(err)
	}
	return e.ID
}

// sweep gives the sweeper its schedule's event, until it has done something
// about an execution: a run's end shows a little later.
func sweep(ctx context.Context, t *testing.T, a *e2e.AWS, id, what string) {
	t.Helper()
	event, err := os.ReadFile("../../events/aws.events.scheduled/sample.json")
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		result, err := a.Host.Invoke(ctx, "sweeper", event)
		if err != nil || result.Error != "" {
			t.Fatalf("the sweeper: %v %s", err, result.Payload)
		}
		var report map[string]any
		if err := json.Unmarshal(result.Payload, &report); err != nil {
			t.Fatal(err)
		}
		if list, _ := report[what].([]any); slices.Contains(list, any(id)) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the sweeper's last report is %s", result.Payload)
		case <-tick.C:
		}
	}
}

func compareRights(t *testing.T, function string, calls, rights []string) {
	t.Helper()
	if len(calls) == 0 || len(rights) == 0 {
		t.Errorf("%s: %d calls, %d rights; want some of both", function, len(calls), len(rights))
	}
	for _, c := range calls {
		if !slices.Contains(rights, c) {
			t.Errorf("%s calls %s, which its role doesn't allow", function, c)
		}
	}
	for _, r := range rights {
		if !slices.Contains(calls, r) && !unseen(r) && spare()[function+" "+r] == "" {
			t.Errorf("%s may %s, which it never calls", function, r)
		}
	}
}
