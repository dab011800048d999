package firing_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/trigger"
	"github.com/slipway-cd/slipway/pkg/wire"
)

var project = ref.Scope{Account: "default", Org: "default", Project: "shop"}

// host is a whole control plane on one machine.
type host struct {
	testing.TB
	*wire.Local
}

func setup(t *testing.T) *host {
	t.Helper()
	local, err := wire.Open(t.Context(), wire.ServeConfig{Data: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	h := &host{t, local}
	h.save(documents)
	return h
}

// save saves documents, separated by ---.
func (h *host) save(docs string) {
	h.Helper()
	for doc := range strings.SplitSeq(docs, "\n---\n") {
		_, err := h.Catalog.Save(h.Context(), catalog.Draft{Scope: project, YAML: []byte(doc), Version: catalog.AnyVersion}, audit.Author{Actor: "ann"})
		if err != nil {
			h.Fatalf("%v\n%s", err, doc)
		}
	}
}

const documents = `
secret:
  name: hook
  identifier: hook
  orgIdentifier: default
  projectIdentifier: shop
  type: SecretText
  spec:
    secretManagerIdentifier: harnessSecretManager
    valueType: Inline
    value: hush
---
connector:
  name: github
  identifier: github
  orgIdentifier: default
  projectIdentifier: shop
  type: Github
  spec:
    url: https://github.com/acme
    type: Account
    authentication: {type: Http, spec: {type: Anonymous}}
---
` + deployPipeline

// deployPipeline is what triggers start.
const deployPipeline = `pipeline:
  name: deploy
  identifier: deploy
  orgIdentifier: default
  projectIdentifier: shop
  variables:
    - {name: branch, type: String, value: <+input>}
    - {name: by, type: String, value: <+input>.default(nobody)}
  stages:
    - stage:
        name: s
        identifier: s
        type: Custom
        spec:
          execution:
            steps:
              - step: {name: wait, identifier: wait, type: Wait, spec: {duration: 1h}}`

// onPush is a trigger on pushes to acme/web, with more of its spec.
func onPush(id, spec string) string {
	return fmt.Sprintf(`
trigger:
  name: %[1]s
  identifier: %[1]s
  orgIdentifier: default
  projectIdentifier: shop
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
          repoName: web
%[2]s
  inputYaml: |
    pipeline:
      identifier: deploy
      variables:
        - {name: branch, type: String, value: <+trigger.branch>}
        - {name: by, type: String, value: <+trigger.payload.sender.login>}
`, id, spec)
}

// push is a signed push to a repository of acme.
func push(id, repository, branch string) trigger.Delivery {
	body := fmt.Sprintf(`{"ref": "refs/heads/%s", "after": "b2", "repository": {"clone_url": "https://github.com/acme/%s.git"}, "sender": {"login": "ann"}}`, branch, repository)
	return trigger.Delivery{Source: trigger.Github, Body: []byte(body), Header: trigger.Header{
		"x-github-event": "push", "x-github-delivery": id, "x-hub-signature-256": sign(body, "hush"),
	}}
}

func sign(body, secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// deliver gives the outcomes of the fires, e.g. "on_push Started".
func (h *host) deliver(d trigger.Delivery) []store.Fire {
	h.Helper()
	report, err := h.Triggers.Deliver(h.Context(), d)
	if err != nil {
		h.Fatal(err)
	}
	return report.Fires
}

// executions are all of the project, the newest first.
func (h *host) executions() []store.Execution {
	h.Helper()
	list, _, err := h.Store.ListExecutions(h.Context(), store.ExecutionFilter{Scope: project}, store.Page{})
	if err != nil {
		h.Fatal(err)
	}
	return list
}

// fires are a trigger's history, the newest first.
func (h *host) fires(id string) []store.Fire {
	h.Helper()
	list, _, err := h.Store.ListFires(h.Context(), store.EntityKey{Scope: project, Kind: ref.Trigger, Env: "deploy", ID: id}, time.Time{}, store.Page{})
	if err != nil {
		h.Fatal(err)
	}
	return list
}

func (h *host) mint(kind store.TokenKind, scope ref.Scope) string {
	h.Helper()
	t, text := access.Mint(access.Grant{Kind: kind, Scope: scope, Name: "ci", Actor: "ci"}, time.Now())
	if err := h.Store.PutToken(h.Context(), t); err != nil {
		h.Fatal(err)
	}
	return text
}

// end makes an execution one that has ended.
func (h *host) end(id string) {
	h.Helper()
	for {
		e, err := h.Store.Execution(h.Context(), id)
		if err != nil {
			h.Fatal(err)
		}
		e.Status = plan.Aborted
		err = h.Store.CommitExecution(h.Context(), id, store.Commit{Execution: &e})
		if err == nil {
			return
		}
		if !fault.Is(err, fault.StaleVersion) { // else the engine was quicker
			h.Fatal(err)
		}
	}
}
