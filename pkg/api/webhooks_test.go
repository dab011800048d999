package api_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/trigger"
)

// What a trigger starts is tested in pkg/trigger/firing; here its conditions
// don't hold.
const (
	hookSecret = `
secret:
  name: hook
  identifier: hook
  type: SecretText
  spec:
    secretManagerIdentifier: harnessSecretManager
    valueType: Inline
    value: hush
`
	hookConnector = `
connector:
  name: github
  identifier: github
  type: Github
  spec: {url: "https://github.com/acme/web", type: Repo, authentication: {type: Http, spec: {type: Anonymous}}}
`
	hookTrigger = `
trigger:
  name: push
  identifier: push
  pipelineIdentifier: deploy
  encryptedWebhookSecretIdentifier: hook
  source:
    type: Webhook
    spec:
      type: Github
      spec:
        type: Push
        spec:
          connectorRef: github
          payloadConditions: [{key: targetBranch, operator: Equals, value: release}]
`
	customTrigger = `
trigger:
  name: any
  identifier: any
  pipelineIdentifier: deploy
  source: {type: Webhook, spec: {type: Custom, spec: {jexlCondition: <+trigger.payload.go> == true}}}
`
	pushBody = `{"ref": "refs/heads/main", "repository": {"html_url": "https://github.com/acme/web"}}`
)

func signed(body, secret string) []string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return []string{"X-GitHub-Event", "push", "X-GitHub-Delivery", "d1", "X-Hub-Signature-256", "sha256=" + hex.EncodeToString(mac.Sum(nil)), "Authorization", ""}
}

func setupHooks(t *testing.T) *server {
	t.Helper()
	s := setup(t)
	for _, doc := range []string{hookSecret, hookConnector, hookTrigger, customTrigger} {
		s.save(doc)
	}
	return s
}

func TestDeliver(t *testing.T) {
	t.Parallel()
	s := setupHooks(t)
	alone := *s
	alone.Server = api.NewWebhooks(s.cfg) // the function's
	want := api.Fire{
		Org: "default", Project: "web", Pipeline: "deploy", Trigger: "push", Outcome: "Skipped",
		Reason: `targetBranch is "main", not Equals "release"`, Subject: "github.com/acme/web refs/heads/main",
	}
	for id, s := range map[string]*server{"d1": s, "d2": &alone} {
		var got api.Received
		s.ask("POST", "/webhooks/github", pushBody, append(signed(pushBody, "hush"), "X-GitHub-Delivery", id)...).want(200, &got)
		if diff := cmp.Diff([]api.Fire{want}, got.Data.Fires, cmpopts.IgnoreFields(api.Fire{}, "At", "Event")); diff != "" || got.Status != "SUCCESS" {
			t.Errorf("%s, fires (-want +got):\n%s", got.Status, diff)
		}
		if !strings.HasPrefix(got.Data.ID, id+"/") {
			t.Errorf("the delivery's id is %q", got.Data.ID)
		}
	}
	var history api.FireList
	s.ask("GET", "/v1/pipelines/deploy/triggers/push/fires"+scope, "").want(200, &history)
	if len(history.Fires) != 2 || history.Fires[0].Reason != want.Reason {
		t.Errorf("history is %+v", history)
	}
	s.ask("GET", "/v1/pipelines/deploy/triggers/none/fires"+scope, "").problem(404)
}

func TestDeliverRefuses(t *testing.T) {
	t.Parallel()
	s := setupHooks(t)
	for _, c := range []struct {
		name, path, body string
		headers          []string
		status           int
		want             string
	}{
		{"a wrong signature", "/webhooks/github", pushBody, signed(pushBody, "guess"), 401, "no trigger has a secret that fits"},
		{"no signature", "/webhooks/github", pushBody, []string{"Authorization", ""}, 401, "has no header X-Hub-Signature-256"},
		{"a user's token", "/webhooks/github", pushBody, nil, 401, "has no header X-Hub-Signature-256"},
		{"an unknown host", "/webhooks/sourceforge", pushBody, signed(pushBody, "hush"), 400, "host"},
		{"what isn't JSON", "/webhooks/github", "hello", signed("hello", "hush"), 400, "payload of Github can't be read"},
		{"too much", "/webhooks/github", strings.Repeat("x", trigger.MaxBytes+1), signed("", "hush"), 413, ""},
		{"nobody", "/webhooks/custom?orgIdentifier=default&projectIdentifier=web", "{}", []string{"Authorization", ""}, 401, "Authorization is mandatory"},
		{"no project", "/webhooks/custom?orgIdentifier=default", "{}", []string{"X-Api-Key", "x"}, 400, "projectIdentifier"},
		{"an organization that is a path", "/webhooks/custom?orgIdentifier=default/web&projectIdentifier=web", "{}", []string{"X-Api-Key", "x"}, 400, `organization "default/web" can't have`},
		{"another account", "/webhooks/custom?accountIdentifier=x&orgIdentifier=default&projectIdentifier=web", "{}", []string{"X-Api-Key", "x"}, 404, "no account"},
		{"a trigger of no pipeline", "/webhooks/custom?orgIdentifier=default&projectIdentifier=web&triggerIdentifier=any", "{}", []string{"X-Api-Key", "x"}, 400, "pipelineIdentifier"},
		{"elsewhere", "/webhooks/github/more", "{}", nil, 404, "no endpoint"},
	} {
		if p := s.ask("POST", c.path, c.body, c.headers...).problem(c.status); !strings.Contains(p.Message, c.want) {
			t.Errorf("%s: %q, want %q", c.name, p.Message, c.want)
		}
	}
}

func TestDeliverCustom(t *testing.T) {
	t.Parallel()
	s := setupHooks(t)
	var got api.Received
	s.ask("POST", "/webhooks/custom?accountIdentifier=default&orgIdentifier=default&projectIdentifier=web", `{"go": false}`,
		"X-Api-Key", s.token, "Authorization", "").want(200, &got)
	if len(got.Data.Fires) != 1 || got.Data.Fires[0].Reason != "the jexlCondition is false" {
		t.Errorf("fires are %+v", got.Data.Fires)
	}
}
