package firing_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/trigger"
	"github.com/slipway-cd/slipway/pkg/trigger/firing"
)

func TestAPushStartsOneExecution(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.save(onPush("on_push", ""))
	first := h.deliver(push("d1", "web", "main"))
	if len(first) != 1 || first[0].Outcome != store.FireStarted {
		t.Fatalf("fires are %+v", first)
	}
	if again := h.deliver(push("d1", "web", "main")); cmp.Diff(first, again) != "" {
		t.Errorf("the same delivery again (-first +again):\n%s", cmp.Diff(first, again))
	}
	list := h.executions()
	if len(list) != 1 || list[0].ID != first[0].Execution || list[0].Actor != "trigger on_push" {
		t.Fatalf("executions are %+v", list)
	}
	given, err := launch.GivenTo(list[0])
	if err != nil || !strings.Contains(given.YAML, "value: main") || !strings.Contains(given.YAML, "value: ann") {
		t.Errorf("inputs are %q, %v; want those of the push", given.YAML, err)
	}
	if diff := cmp.Diff(first, h.fires("on_push")); diff != "" {
		t.Errorf("history (-fired +kept):\n%s", diff)
	}
	h.deliver(push("d2", "web", "main"))
	if list := h.executions(); len(list) != 2 {
		t.Errorf("after another delivery there are %d executions; want 2", len(list))
	}
}

func TestTheSameDeliveryManyTimesAtOnce(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.save(onPush("on_push", "          autoAbortPreviousExecutions: true"))
	var g sync.WaitGroup
	for range 8 {
		g.Go(func() {
			if _, err := h.Triggers.Deliver(t.Context(), push("d1", "web", "main")); err != nil {
				t.Error(err)
			}
		})
	}
	g.Wait()
	list := h.executions()
	if len(list) != 1 || list[0].Status != plan.Running || len(h.fires("on_push")) != 1 {
		t.Errorf("executions are %+v, fires %+v; want one of each, which runs", list, h.fires("on_push"))
	}
}

func TestWhoFires(t *testing.T) {
	t.Parallel()
	h := setup(t)
	const only = "          payloadConditions: [{key: targetBranch, operator: Equals, value: release}]"
	h.save(onPush("any", "") + "\n---\n" + onPush("released", only) + "\n---\n" +
		strings.Replace(onPush("off", ""), "  pipelineIdentifier", "  enabled: false\n  pipelineIdentifier", 1) + "\n---\n" +
		strings.Replace(onPush("others", ""), "repoName: web", "repoName: api", 1))
	h.deliver(push("d1", "web", "main"))
	got := map[string]string{}
	for _, id := range []string{"any", "released", "off", "others"} {
		for _, f := range h.fires(id) {
			got[id] += string(f.Outcome) + " " + f.Reason
		}
	}
	want := map[string]string{"any": "Started ", "released": `Skipped targetBranch is "main", not Equals "release"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fires (-want +got):\n%s", diff)
	}
}

func TestForgedDeliveries(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.save(onPush("on_push", ""))
	forged := push("d1", "web", "main")
	for name, signature := range map[string]string{"none": "", "another secret's": sign(string(forged.Body), "guess"), "of another body": sign("{}", "hush")} {
		forged.Header["x-hub-signature-256"] = signature
		if _, err := h.Triggers.Deliver(t.Context(), forged); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("signature %s: %v", name, err)
		}
	}
	if n := len(h.executions()) + len(h.fires("on_push")); n != 0 {
		t.Errorf("forged deliveries left %d executions and fires", n)
	}
}

func TestAPushSupersedesThoseBefore(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.save(onPush("on_push", "          autoAbortPreviousExecutions: true") + "\n---\n" + onPush("other", ""))
	older := h.deliver(push("d1", "web", "main"))
	branch := h.deliver(push("d2", "web", "blue"))
	newer := h.deliver(push("d3", "web", "main"))
	h.deliver(push("d1", "web", "main")) // once more: it must not end what came since
	status := func(fires []store.Fire, id string) plan.Status {
		for _, f := range fires {
			if f.Trigger.ID != id {
				continue
			}
			e, err := h.Store.Execution(t.Context(), f.Execution)
			if err != nil {
				t.Fatal(err)
			}
			if e.Interrupt == store.InterruptAbort {
				return plan.Aborted
			}
			return e.Status
		}
		t.Fatalf("%s didn't fire", id)
		return ""
	}
	for _, c := range []struct {
		name  string
		fires []store.Fire
		id    string
		want  plan.Status
	}{
		{"the same branch before", older, "on_push", plan.Aborted},
		{"another branch", branch, "on_push", plan.Running},
		{"the new one", newer, "on_push", plan.Running},
		{"another trigger's", older, "other", plan.Running},
	} {
		if got := status(c.fires, c.id); got != c.want {
			t.Errorf("%s is %s, want %s", c.name, got, c.want)
		}
	}
}

func TestAFireThatFails(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.save(strings.Replace(onPush("on_push", ""), "        - {name: branch, type: String, value: <+trigger.branch>}\n", "", 1) + "\n---\n" + onPush("whole", ""))
	h.deliver(push("d1", "web", "main"))
	fires := h.fires("on_push")
	if len(fires) != 1 || fires[0].Outcome != store.FireFailed || !strings.Contains(fires[0].Reason, "variables.branch") {
		t.Errorf("fires are %+v; want one that says which input is missing", fires)
	}
	if list := h.executions(); len(list) != 1 {
		t.Errorf("there are %d executions; want the other trigger's", len(list))
	}
}

// A branch may be named by people who may not read secrets.
func TestAPayloadIsNeverAnExpression(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.save(onPush("on_push", ""))
	h.deliver(push("d1", "web", `<+secrets.getValue('hook')>`))
	list := h.executions()
	if len(list) != 1 {
		t.Fatalf("executions are %+v", list)
	}
	given, err := launch.GivenTo(list[0])
	if err != nil || strings.Contains(given.YAML, "secrets") || !strings.Contains(given.YAML, "<+trigger.branch>") {
		t.Errorf("inputs are %q, %v; want the trigger's expression as it is", given.YAML, err)
	}
}

func TestInputSetsOfATrigger(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.save(`
inputSet:
  name: main
  identifier: main
  orgIdentifier: default
  projectIdentifier: shop
  pipeline:
    identifier: deploy
    variables:
      - {name: branch, type: String, value: from the set}
      - {name: by, type: String, value: the set}
---` + strings.Replace(strings.Replace(onPush("on_push", ""), "  inputYaml", "  inputSetRefs: [<+trigger.branch>]\n  inputYaml", 1),
		"        - {name: by, type: String, value: <+trigger.payload.sender.login>}\n", "", 1))
	h.deliver(push("d1", "web", "main"))
	list := h.executions()
	if len(list) != 1 {
		t.Fatalf("fires are %+v", h.fires("on_push"))
	}
	given, err := launch.GivenTo(list[0])
	if err != nil || !strings.Contains(given.YAML, "value: main") || !strings.Contains(given.YAML, "value: the set") {
		t.Errorf("inputs are %q, %v; want the branch of the push and the rest of the set", given.YAML, err)
	}
}

// stagesToExecute are the only stages that run (semantics/pipeline §8.5).
func TestSomeStages(t *testing.T) {
	t.Parallel()
	h := setup(t)
	some := func(id, stage string) string {
		return strings.Replace(onPush(id, ""), "  inputYaml", "  stagesToExecute: ["+stage+"]\n  inputYaml", 1)
	}
	h.save(some("on_push", "s"))
	if f := h.deliver(push("d1", "web", "main"))[0]; f.Outcome != store.FireFailed || !strings.Contains(f.Reason, "not allowed") {
		t.Errorf("of a pipeline that doesn't allow it: %+v; want a failure that says so", f)
	}
	h.save(strings.Replace(deployPipeline, "  stages:", "  allowStageExecutions: true\n  stages:", 1))
	f := h.deliver(push("d2", "web", "main"))[0]
	if f.Outcome != store.FireStarted {
		t.Fatalf("%+v; want it started", f)
	}
	e, err := h.Store.Execution(t.Context(), f.Execution)
	if err != nil {
		t.Fatal(err)
	}
	if given, err := launch.GivenTo(e); err != nil || !slices.Equal(given.Stages, []string{"s"}) {
		t.Errorf("it runs the stages %v (%v), want s", given.Stages, err)
	}
}

func TestARepeatedExecutionKnowsItsEvent(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.save(onPush("on_push", ""))
	first := h.deliver(push("d1", "web", "main"))[0].Execution
	h.end(first)
	again, err := h.Executions.Retry(t.Context(), first, execution.RetryRequest{By: audit.Author{Actor: "ann"}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.Engine.Reader.Plan(t.Context(), again.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	e, err := trigger.Decode(p.Trigger)
	if err != nil || e.TargetBranch != "main" || e.Trigger != "on_push" {
		t.Errorf("the repeated execution has the event %+v, %v", e, err)
	}
}

const custom = `
trigger:
  name: anything
  identifier: anything
  orgIdentifier: default
  projectIdentifier: shop
  pipelineIdentifier: deploy
  encryptedWebhookSecretIdentifier: hook
  source:
    type: Webhook
    spec:
      type: Custom
      spec:
        payloadConditions: [{key: <+trigger.payload.env>, operator: Equals, value: dev}]
  inputYaml: |
    pipeline:
      identifier: deploy
      variables:
        - {name: branch, type: String, value: <+trigger.payload.branch>}
`

func TestCustomDeliveries(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.save(custom)
	const body = `{"env": "dev", "branch": "main"}`
	user := h.mint(store.TokenUser, ref.Scope{Account: "default"})
	for _, c := range []struct {
		name   string
		header trigger.Header
		to     firing.Target
		body   string
		want   fault.Code
		fired  store.FireOutcome
	}{
		{"with a token", trigger.Header{"x-api-key": user}, firing.Target{Scope: project}, body, "", store.FireStarted},
		{"to the trigger", trigger.Header{"x-api-key": user}, firing.Target{Scope: project, Pipeline: "deploy", Trigger: "anything"}, body, "", store.FireStarted},
		{"signed", trigger.Header{"x-hub-signature-256": sign(body, "hush")}, firing.Target{Scope: project}, body, "", store.FireStarted},
		{"that doesn't fit", trigger.Header{"x-api-key": user}, firing.Target{Scope: project}, `{"env": "prod"}`, "", store.FireSkipped},
		{"of nobody", nil, firing.Target{Scope: project}, body, fault.Unauthenticated, ""},
		{"signed by nobody", trigger.Header{"x-hub-signature-256": sign(body, "guess")}, firing.Target{Scope: project}, body, fault.Unauthenticated, ""},
		{"with a guess", trigger.Header{"x-api-key": "pat.default.x.y"}, firing.Target{Scope: project}, body, fault.Unauthenticated, ""},
		{"of a delegate", trigger.Header{"x-api-key": h.mint(store.TokenDelegate, project)}, firing.Target{Scope: project}, body, fault.Forbidden, ""},
		{"of another project", trigger.Header{"x-api-key": h.mint(store.TokenUser, ref.Scope{Account: "default", Org: "other"})},
			firing.Target{Scope: project}, body, fault.Forbidden, ""},
		{"to no trigger", trigger.Header{"x-api-key": user}, firing.Target{Scope: project, Pipeline: "deploy", Trigger: "none"}, body, fault.NotFound, ""},
		{"to another pipeline", trigger.Header{"x-api-key": user}, firing.Target{Scope: project, Pipeline: "other"}, body, fault.NotFound, ""},
	} {
		report, err := h.Triggers.DeliverCustom(t.Context(), trigger.Delivery{Source: trigger.Custom, Header: c.header, Body: []byte(c.body)}, c.to)
		if fault.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if c.fired != "" && (len(report.Fires) != 1 || report.Fires[0].Outcome != c.fired) {
			t.Errorf("%s: %+v, want %s", c.name, report.Fires, c.fired)
		}
	}
	// Without an id each delivery is a new one.
	if n := len(h.executions()); n != 3 {
		t.Errorf("there are %d executions, want 3", n)
	}
}

func schedule(id, expression, zone string) string {
	return strings.NewReplacer("ID", id, "EXPRESSION", expression, "ZONE", zone).Replace(`
trigger:
  name: ID
  identifier: ID
  orgIdentifier: default
  projectIdentifier: shop
  pipelineIdentifier: deploy
  source: {type: Scheduled, spec: {type: Cron, spec: {expression: "EXPRESSION", type: UNIX, timezone: "ZONE"}}}
  inputYaml: |
    pipeline: {identifier: deploy, variables: [{name: branch, type: String, value: <+trigger.type>}]}`)
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.save(schedule("daily", "30 8 * * *", "UTC") + "\n---\n" + schedule("berlin", "30 8 * * *", "Europe/Berlin") + "\n---\n" + schedule("often", "*/2 * * * *", "UTC"))
	day := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	for _, minute := range []time.Duration{
		6*time.Hour + 29*time.Minute, 6*time.Hour + 30*time.Minute, // 8:30 in Berlin
		8*time.Hour + 30*time.Minute, 8*time.Hour + 30*time.Minute, 8*time.Hour + 30*time.Minute + 59*time.Second, // one minute
		8*time.Hour + 31*time.Minute,
	} {
		if _, err := h.Triggers.Tick(t.Context(), day.Add(minute)); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string][]string{}
	for _, id := range []string{"daily", "berlin", "often"} {
		for _, f := range h.fires(id) {
			got[id] = append(got[id], string(f.Outcome)+" "+f.ID)
		}
	}
	want := map[string][]string{
		"daily":  {"Started 2026-07-01T08:30Z"},
		"berlin": {"Started 2026-07-01T06:30Z"},
		"often":  {"Started 2026-07-01T08:30Z", "Started 2026-07-01T06:30Z"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fires (-want +got):\n%s", diff)
	}
	if n := len(h.executions()); n != 4 {
		t.Errorf("there are %d executions, want 4", n)
	}
}

// A freeze that names the pipeline keeps triggers from starting it, and says so
// once for an event.
func TestAFreezeRejectsAFire(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.save(onPush("on_push", "") + "\n---\n" + `freeze:
  name: calm
  identifier: calm
  orgIdentifier: default
  projectIdentifier: shop
  status: Enabled
  entityConfigs: [{name: r, entities: [{type: Pipeline, filterType: Equals, entityRefs: [deploy]}]}]
  windows: [{timeZone: UTC, startTime: 2020-01-01 12:00 AM, duration: 2d, recurrence: {type: Daily}}]`)
	h.deliver(push("d1", "web", "main"))
	h.deliver(push("d1", "web", "main"))
	fires := h.fires("on_push")
	if len(fires) == 0 || fires[0].Outcome != store.FireRejected || !strings.Contains(fires[0].Reason, "deployment freeze calm of ") {
		t.Errorf("fires are %+v; want one that names the freeze", fires)
	}
	if list := h.executions(); len(list) != 0 {
		t.Errorf("there are %d executions; want none", len(list))
	}
	trail, err := h.Catalog.Store.ListAudit(h.Context(), "default", 1, 100)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(slices.DeleteFunc(trail, func(r audit.Record) bool { return r.Action != audit.FreezeRejected })); n != 1 {
		t.Errorf("the trail has %d refusals; want 1", n)
	}
}

// A policy that is against what would run keeps triggers from starting it, and
// says why.
func TestAPolicyRejectsAFire(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.save(onPush("on_push", "") + "\n---\n" + `policy:
  name: never
  identifier: never
  orgIdentifier: default
  projectIdentifier: shop
  rego: |
    package pipeline
    deny[msg] { msg := sprintf("%s never runs", [input.pipeline.identifier]) }` + "\n---\n" + `policySet:
  name: house
  identifier: house
  orgIdentifier: default
  projectIdentifier: shop
  type: pipeline
  action: onrun
  enabled: true
  policies: [{identifier: never, severity: error}]`)
	h.deliver(push("d1", "web", "main"))
	fires := h.fires("on_push")
	if len(fires) == 0 || fires[0].Outcome != store.FireRejected || !strings.Contains(fires[0].Reason, "deploy never runs (policy never of set house)") {
		t.Errorf("fires are %+v; want one that says why", fires)
	}
	if list := h.executions(); len(list) != 0 {
		t.Errorf("there are %d executions; want none", len(list))
	}
}
