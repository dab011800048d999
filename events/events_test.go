package events_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/feed"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/socket"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/dynamo"
	"github.com/slipway-cd/slipway/pkg/wire"
	"github.com/slipway-cd/slipway/pkg/wire/function"
	"github.com/slipway-cd/slipway/pkg/wire/plane"
)

// bench is a control plane with what the samples' events are about.
type bench struct {
	*wire.Local
	replace *strings.Replacer // the samples' words by what is really there
	id      string            // of an execution under way
	open    map[string]string // connections by delegate
	told    []feed.Event      // on the bus
}

func setup(t *testing.T) *bench {
	t.Helper()
	local, err := wire.Open(t.Context(), wire.ServeConfig{Data: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	b := &bench{Local: local, open: map[string]string{}}
	user := b.mint(t, store.TokenUser)
	agent := b.mint(t, store.TokenDelegate)
	token, err := access.Verify(t.Context(), local.Store, agent, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	d := store.Delegate{ID: "d1", Scope: ref.Scope{Account: plane.Account}, TokenID: token.ID, LastSeen: time.Now()}
	if err := local.Store.PutDelegate(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	for _, doc := range triggers() {
		if _, err := b.Catalog.Save(t.Context(), catalog.Draft{Scope: web, YAML: []byte(doc), Version: catalog.AnyVersion}, audit.Author{Actor: "ada"}); err != nil {
			t.Fatalf("%v: %s", err, doc)
		}
	}
	b.id = b.start(t)
	b.replace = strings.NewReplacer("EXECUTION", b.id, "DELEGATE", "d1", "CONNECT_TOKEN", agent, "TOKEN", user)
	return b
}

func (b *bench) mint(t *testing.T, kind store.TokenKind) string {
	t.Helper()
	token, text := access.Mint(access.Grant{Kind: kind, Scope: ref.Scope{Account: plane.Account}, Name: "t", Actor: "ada"}, time.Now())
	if err := b.Store.PutToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	return text
}

var web = ref.Scope{Account: plane.Account, Org: "default", Project: "web"}

// start runs a pipeline that waits.
func (b *bench) start(t *testing.T) string {
	t.Helper()
	_, err := b.Store.SaveEntity(t.Context(), store.Entity{
		Key: store.EntityKey{Scope: web, Kind: ref.Pipeline, ID: "p"}, Name: "p",
		YAML: []byte("pipeline: {identifier: p, name: p, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [" +
			"{step: {identifier: w, name: w, type: Wait, timeout: 2h, spec: {duration: 1h}}}]}}}}]}"),
	}, audit.Record{Time: time.Now(), Actor: "ada", Scope: web, Action: audit.Create, Kind: "pipeline", ID: "p"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := b.Launch.Start(t.Context(), launch.Request{Scope: web, Pipeline: "p", By: audit.Author{Actor: "ada"}})
	if err != nil {
		t.Fatal(err)
	}
	return e.ID
}

// The bench keeps the connections itself: on one machine nobody does.

func (b *bench) PutConnection(_ context.Context, c store.Connection) error {
	b.open[c.Delegate] = c.ID
	return nil
}
func (b *bench) Connections(context.Context, string) ([]store.Connection, error) { return nil, nil }
func (b *bench) DeleteConnection(context.Context, store.Connection) error        { return nil }

func (b *bench) PutViewer(context.Context, store.Viewer) error              { return nil }
func (b *bench) Viewers(context.Context, string) ([]store.Viewer, error)    { return nil, nil }
func (b *bench) DeleteViewer(context.Context, string, string) (bool, error) { return false, nil }

func (b *bench) lobby() lambda.Handler {
	return function.Connect(&socket.Lobby{Store: b.Store.Store, Connections: b, Viewers: b, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
}

// stream reads the table's stream; the records of the sample hold all of
// themselves, so there is no table.
func (b *bench) stream() lambda.Handler {
	return function.Feed(function.Stream{
		Change: dynamo.New(nil, dynamo.Config{}).Change, Read: b.Feed.Events, Superseded: dynamo.Superseded, Touched: dynamo.Touched, Hint: func(context.Context, []string) {}, Metrics: io.Discard, Log: slog.New(slog.DiscardHandler),
		Put: func(_ context.Context, list []feed.Event) error {
			b.told = append(b.told, list...)
			return nil
		},
	})
}

func webhooks(b *bench) lambda.Handler { return function.Webhooks(b.Plane) }

// triggers are of the bench's pipeline; the secret of all is "hush".
func triggers() []string {
	const secret = `
secret:
  name: hook
  identifier: hook
  type: SecretText
  spec:
    secretManagerIdentifier: harnessSecretManager
    valueType: Inline
    value: hush
`
	list := []string{secret}
	for name, url := range map[string]string{
		"Github": "https://github.com/acme/web", "Gitlab": "https://gitlab.com/acme/web", "Bitbucket": "https://bitbucket.org/acme/web",
	} {
		id := strings.ToLower(name)
		list = append(list,
			fmt.Sprintf("connector: {name: %[1]s, identifier: %[1]s, type: %[2]s, spec: {url: %[3]q, type: Repo, authentication: {type: Http, spec: {type: Anonymous}}}}", id, name, url),
			fmt.Sprintf("trigger: {name: %[1]s, identifier: %[1]s, pipelineIdentifier: p, encryptedWebhookSecretIdentifier: hook,"+
				" source: {type: Webhook, spec: {type: %[2]s, spec: {type: Push, spec: {connectorRef: %[1]s}}}}}", id, name))
	}
	return append(list,
		"trigger: {name: custom, identifier: custom, pipelineIdentifier: p, source: {type: Webhook, spec: {type: Custom, spec: {}}}}",
		"connector: {name: aws, identifier: aws, type: Aws, spec: {credential: {type: InheritFromDelegate}}}",
		"trigger: {name: image, identifier: image, pipelineIdentifier: p, source: {type: Artifact, spec: {type: Ecr, spec: "+
			"{connectorRef: aws, region: eu-west-1, imagePath: acme/web, eventConditions: [{key: build, operator: Regex, value: '\\d+\\.\\d+\\.\\d+'}]}}}}",
		"trigger: {name: object, identifier: object, pipelineIdentifier: p, source: {type: Artifact, spec: {type: AmazonS3, spec: "+
			"{connectorRef: aws, bucketName: acme-builds, filePathRegex: web/.*}}}}",
		"trigger: {name: ami, identifier: ami, pipelineIdentifier: p, source: {type: Artifact, spec: {type: AmazonMachineImage, spec: "+
			"{connectorRef: aws, region: eu-west-1, tags: [{name: team, value: web}]}}}}",
		"trigger: {name: nightly, identifier: nightly, pipelineIdentifier: p, source: {type: Scheduled, spec: {type: Cron, spec: {expression: 15 3 * * *}}}}",
	)
}

// fired checks that a trigger has started one execution, however often its
// event came.
func fired(id string) func(*testing.T, *bench, []byte) {
	return func(t *testing.T, b *bench, answer []byte) {
		t.Helper()
		key := store.EntityKey{Scope: web, Kind: ref.Trigger, Env: "p", ID: id}
		fires, _, err := b.Store.ListFires(t.Context(), key, time.Time{}, store.Page{})
		if err != nil || len(fires) != 1 || fires[0].Outcome != store.FireStarted {
			t.Fatalf("fires of %s are %+v, %v; want one that started: %s", id, fires, err, answer)
		}
		list, _, err := b.Store.ListExecutions(t.Context(), store.ExecutionFilter{Scope: web, Pipeline: "p"}, store.Page{})
		if err != nil || len(list) != 2 || list[0].ID != fires[0].Execution && list[1].ID != fires[0].Execution {
			t.Errorf("executions are %+v, %v; want the bench's and %s", list, err, fires[0].Execution)
		}
	}
}

// TestSamples gives every sample to its function, and looks at what it did.
func TestSamples(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	status := func(t *testing.T, answer []byte, want int) {
		t.Helper()
		var a struct {
			StatusCode int    `json:"statusCode"`
			Body       string `json:"body"`
		}
		if err := json.Unmarshal(answer, &a); err != nil || a.StatusCode != want {
			t.Errorf("status %d, %v; want %d: %s", a.StatusCode, err, want, a.Body)
		}
	}
	tests := map[string]struct {
		handler func(*bench) lambda.Handler
		check   func(t *testing.T, b *bench, answer []byte)
	}{
		"aws.apigateway.http": {
			func(b *bench) lambda.Handler { return function.API(b.Plane) },
			func(t *testing.T, b *bench, answer []byte) {
				t.Helper()
				status(t, answer, 200)
				if !strings.Contains(string(answer), b.id) {
					t.Errorf("the answer doesn't list execution %s: %s", b.id, answer)
				}
			},
		},
		"aws.apigateway.http.github":    {webhooks, fired("github")},
		"aws.apigateway.http.gitlab":    {webhooks, fired("gitlab")},
		"aws.apigateway.http.bitbucket": {webhooks, fired("bitbucket")},
		"aws.apigateway.http.custom":    {webhooks, fired("custom")},
		"aws.apigateway.websocket.connect": {
			(*bench).lobby,
			func(t *testing.T, b *bench, answer []byte) {
				t.Helper()
				status(t, answer, 200)
				if b.open["d1"] != "JKJcVeMPDoECJwA=" {
					t.Errorf("connections are %v", b.open)
				}
			},
		},
		"aws.apigateway.websocket.disconnect": {
			(*bench).lobby,
			func(t *testing.T, _ *bench, answer []byte) {
				t.Helper()
				status(t, answer, 200)
			},
		},
		"aws.dynamodb.stream": {
			(*bench).stream,
			func(t *testing.T, b *bench, answer []byte) {
				t.Helper()
				if string(answer) != `{"batchItemFailures":null}` {
					t.Errorf("the answer is %s", answer)
				}
				if e := b.told[len(b.told)-1]; e.Type != feed.StepStarted || e.Detail.Execution != b.id || e.Detail.Step.ID != "w" {
					t.Errorf("the bus was told %+v", e)
				}
			},
		},
		"aws.ec2.ami-state-change": {
			func(b *bench) lambda.Handler { return function.Events(b.Plane, log) },
			func(t *testing.T, b *bench, _ []byte) {
				t.Helper()
				p, err := b.Store.Poll(t.Context(), store.EntityKey{Scope: web, Kind: ref.Trigger, Env: "p", ID: "ami"})
				if err != nil || !slices.Equal(p.Asked, []string{"ami-0abcdef1234567890"}) {
					t.Errorf("a delegate is asked for %q, %v; want the image once", p.Asked, err)
				}
			},
		},
		"aws.ecr.image-action":  {func(b *bench) lambda.Handler { return function.Events(b.Plane, log) }, fired("image")},
		"aws.s3.object-created": {func(b *bench) lambda.Handler { return function.Events(b.Plane, log) }, fired("object")},
		"aws.events.minute": {
			func(b *bench) lambda.Handler { return function.Events(b.Plane, log) }, fired("nightly"),
		},
		"aws.events.audit-stream": {
			func(b *bench) lambda.Handler {
				_, err := b.Store.SaveEntity(t.Context(), store.Entity{
					Key:  store.EntityKey{Scope: ref.Scope{Account: plane.Account}, Kind: ref.StreamingDestination, ID: "siem"},
					YAML: []byte("streamingDestination: {identifier: siem, name: siem, status: ACTIVE, spec: {type: HTTP, url: 'https://siem.example.com', secretRef: account.gone}}"),
				}, audit.Record{Time: time.Now(), Actor: "ada", Scope: ref.Scope{Account: plane.Account}, Action: audit.Create, Kind: "streamingDestination", ID: "siem"})
				if err != nil && !fault.Is(err, fault.StaleVersion) { // of the second time
					t.Error(err)
				}
				return function.Sweeper(b.Plane, t.Output())
			},
			func(t *testing.T, b *bench, _ []byte) {
				t.Helper()
				all, err := b.Stream.Destinations(t.Context())
				if err != nil || len(all.Destinations) != 1 || all.Destinations[0].Failures == 0 {
					t.Errorf("the destinations are %+v, %v; want one that was tried", all, err)
				}
			},
		},
		"aws.events.scheduled": {
			func(b *bench) lambda.Handler { return function.Sweeper(b.Plane, t.Output()) },
			func(t *testing.T, _ *bench, answer []byte) {
				t.Helper()
				if !strings.Contains(string(answer), `"looked":0`) { // the execution is too young to be looked at
					t.Errorf("the report is %s", answer)
				}
			},
		},
		"aws.states.run-changed": {
			func(b *bench) lambda.Handler { return function.Events(b.Plane, log) },
			func(t *testing.T, b *bench, _ []byte) {
				t.Helper()
				e, err := b.Store.Execution(t.Context(), b.id)
				if err != nil || e.Status != plan.Errored || !strings.Contains(e.Message, "stopped by hand") {
					t.Errorf("the execution is %s: %q, %v; want it Errored, with the cause", e.Status, e.Message, err)
				}
			},
		},
	}
	samples, err := filepath.Glob("aws.*/sample.json")
	if err != nil || len(samples) != len(tests) {
		t.Fatalf("%d samples, %d tests, %v", len(samples), len(tests), err)
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			sample := read(t, name, "sample.json")
			valid(t, name, sample)
			for range 2 { // at least once
				answer, err := tt.handler(b).Invoke(t.Context(), []byte(b.replace.Replace(string(sample))))
				if err != nil {
					t.Fatal(err)
				}
				tt.check(t, b, answer)
			}
		})
	}
}

func read(t *testing.T, parts ...string) []byte {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// valid checks a sample against its schema, and that the schema refuses
// something.
func valid(t *testing.T, name string, sample []byte) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(name, "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(sample)))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Error(err)
	}
	if schema.Validate(map[string]any{}) == nil {
		t.Error("the schema accepts anything")
	}
}

func TestTheReadmeListsEveryEvent(t *testing.T) {
	t.Parallel()
	readme := string(read(t, "README.md"))
	dirs, err := filepath.Glob("*/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if name := filepath.Dir(d); !strings.Contains(readme, "["+name+"]") {
			t.Errorf("README.md doesn't list %s", name)
		}
	}
}
