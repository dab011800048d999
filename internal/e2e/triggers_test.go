package e2e_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
)

const onPush = `secret: {name: hook, identifier: hook, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: "hush"}}
---
connector: {name: github, identifier: github, type: Github, spec: {url: "https://github.com/acme", type: Account, authentication: {type: Http, spec: {type: Anonymous}}}}
---
pipeline:
  identifier: pushed
  name: pushed
  variables: [{name: branch, type: String, value: <+input>}]
  stages:
    - stage:
        identifier: s
        name: s
        type: Custom
        spec:
          execution:
            steps:
              - step:
                  identifier: look
                  name: look
                  type: ShellScript
                  timeout: 1m
                  spec:
                    shell: Bash
                    onDelegate: true
                    source: {type: Inline, spec: {script: '[ "<+pipeline.variables.branch> <+trigger.commitSha> <+pipeline.triggerType>" = "main b2 WEBHOOK" ]'}}
---
trigger:
  name: on push
  identifier: on_push
  pipelineIdentifier: pushed
  encryptedWebhookSecretIdentifier: hook
  source:
    type: Webhook
    spec:
      type: Github
      spec:
        type: Push
        spec:
          connectorRef: github
          repoName: web
          payloadConditions: [{key: targetBranch, operator: In, value: "main, release/.*"}]
  inputYaml: |
    pipeline: {identifier: pushed, variables: [{name: branch, type: String, value: <+trigger.branch>}]}`

// TestAPushStartsAPipeline: a signed push starts one execution, which knows
// the push; sent again it starts nothing, and a forged one never does.
func TestAPushStartsAPipeline(t *testing.T) {
	t.Parallel()
	onEveryHost(t, aPushStartsAPipeline)
}

func aPushStartsAPipeline(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	s.Apply(t, onPush)
	const body = `{"ref": "refs/heads/main", "after": "b2", "repository": {"clone_url": "https://github.com/acme/web.git"}, "sender": {"login": "ann"}}`
	var history struct {
		Fires []struct{ Outcome, Execution string }
	}
	if status, answer := push(t, s, body, "guess"); status != http.StatusUnauthorized {
		t.Errorf("a forged push: %d %s; want 401", status, answer)
	}
	if err := s.Call(t.Context(), "GET", "/v1/pipelines/pushed/triggers/on_push/fires", nil, &history); err != nil || len(history.Fires) != 0 {
		t.Fatalf("after a forged push: %+v, %v", history, err)
	}
	var ids []string
	for range 2 {
		status, answer := push(t, s, body, "hush")
		var got struct {
			Data struct {
				Fires []struct{ Outcome, Reason, Execution string }
			}
		}
		if err := json.Unmarshal([]byte(answer), &got); err != nil || status != http.StatusOK || len(got.Data.Fires) != 1 || got.Data.Fires[0].Outcome != "Started" {
			t.Fatalf("a push: %d %s; want one execution", status, answer)
		}
		ids = append(ids, got.Data.Fires[0].Execution)
	}
	var list struct{ Executions []struct{ ID string } }
	if err := s.Call(t.Context(), "GET", "/v1/executions?pipeline=pushed", nil, &list); err != nil || len(list.Executions) != 1 || ids[0] != ids[1] {
		t.Errorf("the push twice started %v, and there are %+v, %v; want one", ids, list, err)
	}
	if e := finish(t, s, ids[0]); e.Status != "Success" {
		t.Errorf("the execution ended %s: %s", e.Status, e.Message)
	}
}

// push sends a push as GitHub does.
func push(t *testing.T, s *e2e.Server, body, secret string) (status int, answer string) {
	t.Helper()
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/webhooks/github", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "X-GitHub-Event": "push", "X-GitHub-Delivery": "d1",
		"X-Hub-Signature-256": fmt.Sprintf("sha256=%s", hex.EncodeToString(mac.Sum(nil))),
	} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	doc, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(doc)
}

// TestObjectsStartPipelinesByEvents: EventBridge tells of objects by the rule that is
// installed. A new version of an artifact starts one execution, however often its event
// comes; other keys and other buckets start none, and no delegate asks for anything.
func TestObjectsStartPipelinesByEvents(t *testing.T) {
	t.Parallel()
	a := e2e.StartAWS(t)
	pipeline, _, _ := strings.Cut(onPolledImage, "---\ntrigger:")
	trigger, _, _ := strings.Cut(asked, "---\n")
	a.Apply(t, pipeline+"---\n"+strings.NewReplacer("REGION", testaws.Region, "    pollInterval: 2m\n", "").Replace(trigger))
	bus := eventbridge.NewFromConfig(testaws.Config(a.Bus.URL))
	created := func(bucket, key string) {
		t.Helper()
		out, err := bus.PutEvents(t.Context(), &eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{{
			Source: ptr("aws.s3"), DetailType: ptr("Object Created"),
			Detail: ptr(fmt.Sprintf(`{"bucket": {"name": %q}, "object": {"key": %q, "etag": "ab", "size": 9}}`, bucket, key)),
		}}})
		if err != nil || out.FailedEntryCount > 0 {
			t.Fatalf("put an event: %v, %+v", err, out)
		}
	}
	created("builds", "web/1.zip")
	created("builds", "web/1.zip")
	created("builds", "other/2.zip")
	created("others", "web/3.zip")
	created("builds", "web/4.zip")
	var said []string
	for _, f := range fires(t, a.Server, "pushed", "new_object", 2) {
		if f.Outcome != "Started" {
			continue
		}
		e := finish(t, a.Server, f.Execution)
		first, _, _ := strings.Cut(logOf(t, a.Server, e.ID, e.Root.Find("say")), "\n")
		said = append(said, e.Status+": "+first)
	}
	if want := []string{"Success: pushed web/4.zip", "Success: pushed web/1.zip"}; !slices.Equal(said, want) {
		t.Errorf("the executions are %q; want %q", said, want)
	}
}
