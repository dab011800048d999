package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testmail"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/feed"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/notify"
	"github.com/slipway-cd/slipway/pkg/notify/send"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

var (
	scope = ref.Scope{Account: "acme", Org: "default", Project: "shop"}
	noon  = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
)

// bench is a Notifier over a store with one execution, x1, and a channel.
type bench struct {
	*notify.Notifier
	log bytes.Buffer
	url string // of the channel

	mu     sync.Mutex
	now    time.Time
	posts  []string                                     // path and body of each request
	answer func(w http.ResponseWriter, r *http.Request) // nil: 200
}

func (b *bench) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *bench) later(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

// got is what the channel was sent so far, in no order.
func (b *bench) got() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string{}, b.posts...)
}

func (b *bench) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	b.posts = append(b.posts, r.URL.Path+" "+r.Header.Get("X-Token")+" "+string(body))
	answer := b.answer
	b.mu.Unlock()
	if answer != nil {
		answer(w, r)
	}
}

// setup makes a bench whose pipeline has the rules, in which URL is the
// channel's.
func setup(t *testing.T, rules string, setting mail.Setting, sender mail.Sender) *bench {
	t.Helper()
	b := &bench{now: noon}
	channel := httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(channel.Close)
	b.url = channel.URL
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"))
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	s, err := sqlite.New(t.Context(), db)
	must(t, err)
	key, err := secret.LoadKey(filepath.Join(t.TempDir(), "secret.key"))
	must(t, err)
	keeper := secret.New(key, s, b.clock)
	must(t, keeper.Put(t.Context(), ref.Ref{Scope: scope, ID: "token"}, "s3cr3t-value"))
	must(t, keeper.Put(t.Context(), ref.Ref{Scope: scope, ID: "hook"}, channel.URL+"/hidden-path"))
	must(t, keeper.Put(t.Context(), ref.Ref{Scope: ref.Scope{Account: "acme"}, ID: "smtp"}, "mail-pass"))
	execute(t, s, strings.ReplaceAll(rules, "URL", channel.URL))
	server, err := setting.Server()
	must(t, err)
	log := slog.New(slog.NewTextHandler(&b.log, nil))
	b.Notifier = notify.New(notify.Config{
		Executions: s, Entities: s, Sent: s, Secret: keeper, Sender: send.New(sender, true), Mail: server, Now: b.clock, Log: log,
		Engine: engine.NewHandler(engine.Config{Store: s.Store, Now: b.clock, Log: log}),
	})
	return b
}

func execute(t *testing.T, s *sqlite.Store, rules string) {
	t.Helper()
	docs, report := yamldoc.Parse("pipeline.yaml", []byte(`
pipeline:
  identifier: web
  name: Web
  variables: [{name: path, type: String, value: from-a-variable}, {name: group, type: String, value: ops}]
  notificationRules:
`+rules+`
  stages:
    - stage: {identifier: prod, name: Production, type: Custom, spec: {execution: {steps: [{step: {identifier: s, name: s, type: ShellScript}}]}}}
    - stage:
        identifier: each
        name: Each
        type: Custom
        strategy: {repeat: {times: 2}}
        spec: {execution: {steps: [{step: {identifier: s, name: s, type: ShellScript}}]}}
`))
	must(t, report.Err())
	p, err := planning.Build(planning.Source{Pipeline: entity.DecodePart(ref.Pipeline, docs[0].Get("pipeline"), yamldoc.NewReport(""), entity.Options{}).Pipeline})
	must(t, err)
	doc, err := p.Encode()
	must(t, err)
	_, err = s.CreateExecution(t.Context(), store.Execution{
		ID: "x1", Scope: scope, Pipeline: "web", Name: "Web", PlanHash: "h", Status: plan.Running, Actor: "ann", StartedAt: noon, Inputs: []byte("{}"),
	}, doc, audit.Record{Scope: scope, Action: audit.Create})
	must(t, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func event(id string, typ feed.Type, status plan.Status) feed.Event {
	return feed.Event{Type: typ, At: noon, Detail: feed.Detail{
		ID: id, Account: "acme", Org: "default", Project: "shop", Execution: "x1", Pipeline: "web", PipelineName: "Web", Sequence: 1, Status: status, StartedAt: noon,
	}}
}

func stage(e feed.Event, id string) feed.Event {
	e.Detail.Stage = &feed.Node{Node: plan.NodeID("pipeline.stages." + id), ID: id, Name: id, Type: "Custom"}
	return e
}

const onEnd = `    - {identifier: end, pipelineEvents: [{type: PipelineSuccess}, {type: PipelineEnd}], notificationMethod: {type: Webhook, spec: {webhookUrl: URL/end}}}
    - {identifier: stage, pipelineEvents: [{type: StageFailed, forStages: [each]}], notificationMethod: {type: Webhook, spec: {webhookUrl: URL/stage}}}`

// kinds is what the posts of a webhook were about.
func kinds(t *testing.T, posts []string) []string {
	t.Helper()
	out := []string{}
	for _, p := range posts {
		path, body, _ := strings.Cut(p, " ")
		var m struct {
			EventData struct{ EventType, StageIdentifier string }
		}
		must(t, json.Unmarshal([]byte(body), &m))
		out = append(out, strings.TrimSpace(path+" "+m.EventData.EventType+" "+m.EventData.StageIdentifier))
	}
	return out
}

// An event is told once for each type that a rule asks for, however often it
// comes.
func TestEachMessageIsSentOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, onEnd, mail.Setting{}, mail.Sender{})
	for range 3 {
		for _, e := range []feed.Event{
			event("e1", feed.ExecutionStarted, plan.Running), event("e2", feed.ExecutionEnded, plan.Success), event("e3", feed.ExecutionEnded, plan.Aborted),
			stage(event("e4", feed.StageEnded, plan.Failed), "prod"), stage(event("e5", feed.StageEnded, plan.Failed), "each_1"),
			event("e6", feed.EntitySaved, ""),
		} {
			must(t, b.Handle(t.Context(), e))
		}
	}
	got := map[string]int{}
	for _, k := range kinds(t, b.got()) {
		got[k]++
	}
	want := map[string]int{"/end PipelineSuccess": 1, "/end PipelineEnd": 2, "/stage StageFailed each_1": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// Expressions and secrets are resolved when a message is sent, and what is
// secret is in no log, whatever the channel answers.
func TestSecretsAreForTheChannelAlone(t *testing.T) {
	t.Parallel()
	b := setup(t, `    - identifier: hidden
      pipelineEvents: [{type: PipelineStart}]
      notificationMethod:
        type: Webhook
        spec:
          webhookUrl: '<+secrets.getValue("hook")>/<+pipeline.variables.path>/<+stage.name>'
          headers: {X-Token: 'Bearer <+secrets.getValue("token")>'}`, mail.Setting{}, mail.Sender{})
	b.answer = func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "%s isn't good", r.Header.Get("X-Token"))
	}
	must(t, b.Handle(t.Context(), event("e1", feed.ExecutionStarted, plan.Running)))
	got := b.got()
	if want := "/hidden-path/from-a-variable/<+stage.name> Bearer s3cr3t-value {"; len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Errorf("got %q, want %q", got, want)
	}
	log := b.log.String()
	if !strings.Contains(log, "a notification wasn't sent") || !strings.Contains(log, "403") {
		t.Errorf("the log doesn't say what went wrong:\n%s", log)
	}
	for _, hidden := range []string{"s3cr3t-value", "hidden-path"} {
		if strings.Contains(log, hidden) {
			t.Errorf("%s is in the log:\n%s", hidden, log)
		}
	}
	must(t, b.Handle(t.Context(), event("e1", feed.ExecutionStarted, plan.Running)))
	if n := len(b.got()); n != 1 {
		t.Errorf("a message that was given up was sent again: %d requests", n)
	}
}

// A template's body is what a webhook gets: what can't be resolved is empty,
// and how the event went has names.
func TestATemplatesBody(t *testing.T) {
	t.Parallel()
	b := setup(t, `    - identifier: own
      pipelineEvents: [{type: PipelineFailed}, {type: StageFailed}]
      template: {templateRef: told, versionLabel: v1}
      body:
        type: YAML
        content: |-
          <+pipeline.name> <+notification.eventType> [<+stage.name>] [<+pipeline.variables.nothing>]
          <+notification.nodeStatus == "failed" ? "page" : "mail"> <+secrets.getValue("token")> <+notification.startDate>
      notificationMethod: {type: Webhook, spec: {webhookUrl: URL/own}}`, mail.Setting{}, mail.Sender{})
	var types []string
	b.answer = func(_ http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		types = append(types, r.Header.Get("Content-Type"))
	}
	must(t, b.Handle(t.Context(), event("e1", feed.ExecutionEnded, plan.Failed)))
	must(t, b.Handle(t.Context(), stage(event("e2", feed.StageEnded, plan.Failed), "prod")))
	want := []string{
		"/own  Web PipelineFailed [] []\npage s3cr3t-value Fri Jan 02 12:00:00 UTC 2026",
		"/own  Web StageFailed [Production] []\npage s3cr3t-value Fri Jan 02 12:00:00 UTC 2026",
	}
	if diff := cmp.Diff(want, b.got()); diff != "" {
		t.Errorf("posts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"application/yaml", "application/yaml"}, types); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
}

// A trigger that starts nothing is told by the rules that its pipeline has now,
// whose expressions know no run.
func TestATriggerThatFails(t *testing.T) {
	t.Parallel()
	b := setup(t, onEnd, mail.Setting{}, mail.Sender{})
	failed := feed.Event{Type: feed.TriggerFailed, At: noon, Detail: feed.Detail{
		ID: "f1", Account: "acme", Org: "default", Project: "shop", Pipeline: "shop", Message: "there is no input set x",
		Trigger: &feed.Trigger{ID: "on_push", Event: "e1"},
	}}
	must(t, b.Handle(t.Context(), failed)) // there is no such pipeline
	if got := b.got(); len(got) > 0 || !strings.Contains(b.log.String(), "nobody was told") {
		t.Fatalf("of a pipeline that is gone: %q\n%s", got, b.log.String())
	}
	save := func(kind ref.Kind, env, id, yaml string) {
		t.Helper()
		_, err := b.Entities.SaveEntity(t.Context(), store.Entity{
			Key: store.EntityKey{Scope: scope, Kind: kind, Env: env, ID: id}, Name: id, YAML: []byte(strings.ReplaceAll(yaml, "URL", b.url)),
		}, audit.Record{Time: noon, Scope: scope, Action: audit.Create, Kind: string(kind), ID: id})
		must(t, err)
	}
	save(ref.Pipeline, "", "shop", `
pipeline:
  identifier: shop
  name: Shop
  variables: [{name: path, type: String, value: from-a-variable}]
  notificationRules:
    - {identifier: told, pipelineEvents: [{type: TriggerFailed}], notificationMethod: {type: Webhook, spec: {webhookUrl: 'URL/<+pipeline.variables.path>/<+stage.name>', headers: {X-Token: '<+secrets.getValue("token")>'}}}}
    - {identifier: else, pipelineEvents: [{type: PipelineFailed}], notificationMethod: {type: Webhook, spec: {webhookUrl: URL/else}}}
  stages: [{stage: {identifier: a, name: a, type: Custom, spec: {execution: {steps: []}}}}]`)
	save(ref.Trigger, "shop", "on_push", "trigger: {identifier: on_push, name: On push, source: {type: Webhook, spec: {type: Github}}}")
	for range 2 {
		must(t, b.Handle(t.Context(), failed))
	}
	want := []string{`/from-a-variable/<+stage.name> s3cr3t-value {"eventData":{"accountIdentifier":"acme","orgIdentifier":"default","projectIdentifier":"shop",` +
		`"pipelineIdentifier":"shop","pipelineName":"Shop","executionUrl":"","pipelineUrl":"","eventType":"TriggerFailed","nodeStatus":"failed",` +
		`"triggeredBy":{"triggerType":"","name":"","email":""},"moduleInfo":{},"startTime":"Fri Jan 02 12:00:00 UTC 2026","startTs":1767355200,` +
		`"errorMessage":"there is no input set x","triggerName":"On push","triggerIdentifier":"on_push","triggerType":"Webhook","triggerSubType":"Github"}}` + "\n"}
	if diff := cmp.Diff(want, b.got()); diff != "" {
		t.Errorf("posts (-want +got):\n%s", diff)
	}
}

// What a person must put right is logged, and the event needn't come again.
func TestWhatCantBeSentIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, method := range map[string]string{
		"no such secret":  `{type: Slack, spec: {webhookUrl: '<+secrets.getValue("nothing")>'}}`,
		"no URL":          `{type: Slack, spec: {webhookUrl: '<+pipeline.variables.nothing>'}}`,
		"no mail server":  `{type: Email, spec: {recipients: [ops@example.com]}}`,
		"metadata's host": `{type: Slack, spec: {webhookUrl: 'http://169.254.169.254/latest'}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, "    - {identifier: r, pipelineEvents: [{type: PipelineStart}], notificationMethod: "+method+"}", mail.Setting{}, mail.Sender{})
			must(t, b.Handle(t.Context(), event("e1", feed.ExecutionStarted, plan.Running)))
			if log := b.log.String(); !strings.Contains(log, "level=WARN") || !strings.Contains(log, "rule=r") {
				t.Errorf("the log: %s", log)
			}
		})
	}
}

// A process that dies while it sends leaves the message to whoever handles
// the event when its claim has run out.
func TestAMessageOfADeadProcessIsSent(t *testing.T) {
	t.Parallel()
	b := setup(t, onEnd, mail.Setting{}, mail.Sender{})
	dying, die := context.WithCancel(t.Context())
	b.answer = func(_ http.ResponseWriter, r *http.Request) {
		die()
		<-r.Context().Done() // the client has gone
	}
	e := stage(event("e1", feed.StageEnded, plan.Failed), "each_0")
	if err := b.Handle(dying, e); err == nil {
		t.Error("the dying process has handled the event")
	}
	b.mu.Lock()
	b.posts, b.answer = nil, nil
	b.mu.Unlock()
	if err := b.Handle(t.Context(), e); !fault.Is(err, fault.Unavailable) || len(b.got()) != 0 {
		t.Errorf("while the claim holds: %v, %q", err, b.got())
	}
	b.later(61 * time.Second)
	must(t, b.Handle(t.Context(), e))
	must(t, b.Handle(t.Context(), e))
	if diff := cmp.Diff([]string{"/stage StageFailed each_0"}, kinds(t, b.got())); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// Many that handle the same event send one message.
func TestRacersSendOneMessage(t *testing.T) {
	t.Parallel()
	b := setup(t, onEnd, mail.Setting{}, mail.Sender{})
	e := stage(event("e1", feed.StageEnded, plan.Failed), "each_0")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := b.Handle(t.Context(), e); err != nil && !fault.Is(err, fault.Unavailable) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(b.got()); n != 1 {
		t.Errorf("%d messages were sent", n)
	}
}

// Teams has a message for each of its webhooks; mail goes through the
// installation's server, whose password is a secret.
func TestOtherChannels(t *testing.T) {
	t.Parallel()
	mails := testmail.Start(t, testmail.Config{TLS: mail.StartTLS, Username: "slipway", Password: "mail-pass"})
	b := setup(t, `    - {identifier: teams, pipelineEvents: [{type: PipelineStart}], notificationMethod: {type: MsTeams, spec: {msTeamKeys: [URL/a, URL/b]}}}
    - {identifier: mail, pipelineEvents: [{type: PipelineStart}], notificationMethod: {type: Email, spec: {recipients: ['<+pipeline.identifier>@example.com']}}}`,
		mail.Setting{URL: "smtp://slipway@" + mails.Address, From: "slipway@example.com", Password: "account.smtp"}, mail.Sender{Roots: mails.Roots})
	for range 2 {
		must(t, b.Handle(t.Context(), event("e1", feed.ExecutionStarted, plan.Running)))
	}
	var paths []string
	for _, p := range b.got() {
		path, _, _ := strings.Cut(p, " ")
		paths = append(paths, path)
	}
	if len(paths) != 2 || paths[0] == paths[1] {
		t.Errorf("Teams got %q", paths)
	}
	got := mails.Received()
	if len(got) != 1 || got[0].To[0] != "web@example.com" || !strings.Contains(got[0].Text, "Subject: [Slipway] Pipeline Web started") {
		t.Errorf("mail: %+v", got)
	}
}

// User groups are told in their own ways of the channel, as they are now; one
// that isn't there is logged, and the others are told.
func TestUserGroups(t *testing.T) {
	t.Parallel()
	mails := testmail.Start(t, testmail.Config{TLS: mail.StartTLS, Username: "slipway", Password: "mail-pass"})
	b := setup(t, `    - {identifier: mail, pipelineEvents: [{type: PipelineStart}], notificationMethod: {type: Email, spec: {userGroups: [account.ops, plain, gone]}}}
    - {identifier: slack, pipelineEvents: [{type: PipelineStart}], notificationMethod: {type: Slack, spec: {webhookUrl: URL/own, userGroups: ['account.<+pipeline.variables.group>', plain]}}}
    - {identifier: teams, pipelineEvents: [{type: PipelineStart}], notificationMethod: {type: MsTeams, spec: {userGroups: [plain]}}}`,
		mail.Setting{URL: "smtp://slipway@" + mails.Address, From: "slipway@example.com", Password: "account.smtp"}, mail.Sender{Roots: mails.Roots})
	save := func(at ref.Scope, id, doc string) {
		_, err := b.Entities.SaveEntity(t.Context(), store.Entity{
			Key: store.EntityKey{Scope: at, Kind: ref.UserGroup, ID: id}, YAML: []byte("userGroup: {identifier: " + id + ", name: " + id + ", " + doc + "}"),
		}, audit.Record{Scope: at, Action: audit.Create})
		must(t, err)
	}
	must(t, b.Secret.Put(t.Context(), ref.Ref{Scope: ref.Scope{Account: "acme"}, ID: "secrets"}, b.url+"/of-the-account"))
	save(ref.Scope{Account: "acme"}, "ops", `users: [ada@example.com, bob], notificationConfigs: [{type: EMAIL, groupEmail: ops@example.com, sendEmailToAllUsers: true},
  {type: SLACK, slackWebhookUrl: '<+secrets.getValue("secrets")>'}]`)
	save(scope, "plain", `userEmails: [eve@example.com, ada@example.com]`)
	for range 2 {
		must(t, b.Handle(t.Context(), event("e1", feed.ExecutionStarted, plan.Running)))
	}
	got := mails.Received()
	if want := []string{"ops@example.com", "ada@example.com", "eve@example.com"}; len(got) != 1 || !cmp.Equal(got[0].To, want) {
		t.Errorf("mail: %+v; want one to %v", got, want)
	}
	paths := map[string]int{}
	for _, p := range b.got() {
		path, _, _ := strings.Cut(p, " ")
		paths[path]++
	}
	if diff := cmp.Diff(map[string]int{"/own": 1, "/of-the-account": 1}, paths); diff != "" {
		t.Errorf("Slack (-want +got):\n%s", diff)
	}
	for _, want := range []string{`a user group wasn't told`, `group=gone`, `a user group has no address of the channel`} {
		if !strings.Contains(b.log.String(), want) {
			t.Errorf("the log doesn't say %q:\n%s", want, &b.log)
		}
	}
}
