package trigger_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/trigger"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// webhook reads a trigger whose source's spec is given.
func webhook(t *testing.T, spec string) entity.Webhook {
	t.Helper()
	doc := "trigger:\n  name: t\n  identifier: t\n  pipelineIdentifier: p\n  encryptedWebhookSecretIdentifier: s\n" +
		"  source:\n    type: Webhook\n    spec:\n" + indent(spec, "      ")
	docs, report := yamldoc.Parse("trigger.yaml", []byte(doc))
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	e := entity.Decode(docs[0], report, entity.Options{Scope: ref.Scope{Account: "a", Org: "o", Project: "p"}})
	if err := report.Err(); err != nil {
		t.Fatalf("%v\n%s", err, doc)
	}
	return e.Trigger.Webhook
}

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.Trim(text, "\n"), "\n", "\n"+by) + "\n"
}

func TestWhichWebhooksAnEventConcerns(t *testing.T) {
	t.Parallel()
	const url = "git@github.com:acme/web.git"
	for _, c := range []struct{ name, sample, host, event, url, want string }{
		{"the same event", "github-push", "Github", "Push", url, "yes"},
		{"another event", "github-push", "Github", "PullRequest", url, "no"},
		{"another repository", "github-push", "Github", "Push", "https://github.com/acme/website", "no"},
		{"another host", "github-push", "Gitlab", "Push", url, "no"},
		{"a tag is a push", "github-push-tag", "Github", "Push", url, "yes"},
		{"a deletion is no push", "github-push-deleted", "Github", "Push", url, "no"},
		{"a tag of GitLab is a push", "gitlab-tag", "Gitlab", "Push", "https://gitlab.com/acme/web", "yes"},
		{"and a tag", "gitlab-tag", "Gitlab", "Tag", "https://gitlab.com/acme/web", "yes"},
		{"a comment on an issue", "github-comment-on-issue", "Github", "IssueComment", url, "no"},
	} {
		w := webhook(t, "type: "+c.host+"\nspec: {type: "+c.event+", spec: {connectorRef: git}}")
		if got := trigger.Concerns(w, c.url, read(t, c.sample)); got != (c.want == "yes") {
			t.Errorf("%s: %t, want %s", c.name, got, c.want)
		}
	}
}

func TestOperators(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key, operator, value string
		want                 bool
	}{
		{"targetBranch", "Equals", "main", true},
		{"targetBranch", "Equals", "mai", false},
		{"targetBranch", "NotEquals", "dev", true},
		{"targetBranch", "In", "dev, main", true},
		{"targetBranch", "In", "dev,m.*", true},
		{"targetBranch", "In", "dev,ai", false}, // a pattern matches all or nothing
		{"targetBranch", "In", "main,(", true},  // what is no pattern is a text
		{"targetBranch", "NotIn", "dev, release/.*", true},
		{"targetBranch", "NotIn", "ma.*", false},
		{"targetBranch", "StartsWith", "ma", true},
		{"targetBranch", "EndsWith", "in", true},
		{"targetBranch", "Contains", "ai", true},
		{"targetBranch", "DoesNotContain", "ai", false},
		{"targetBranch", "Regex", "m.*", true},
		{"targetBranch", "Regex", "ai", false},
		{"targetBranch", "Regex", "x|m|main", true}, // alternatives don't escape the anchors
		{"sourceBranch", "Equals", "null", true},    // a push has none
		{"<+trigger.payload.pusher.name>", "Equals", "ann", true},
		{"<+eventPayload.pusher.name>", "Equals", "ann", true},
		{"<+trigger.payload.nothing.there>", "Equals", "null", true},
		{"<+trigger.payload.pusher.name.first>", "Equals", "null", true},
		{"<+trigger.payload.commits[0].id>", "Equals", "b1", true},
		{"<+trigger.header['x-github-EVENT']>", "Equals", "push", true},
		{"<+trigger.event>", "Equals", "PUSH", true},
		{"changedFiles", "Equals", "README.md", true},
		{"changedFiles", "StartsWith", "deploy/", true},
		{"changedFiles", "In", "src/.*, deploy/.*", true},
		{"changedFiles", "Regex", "src/.*", false},
		{"changedFiles", "NotEquals", "README.md", false}, // not: none of them may
		{"changedFiles", "NotEquals", "LICENSE", true},
		{"changedFiles", "NotIn", "old.txt", false},
		{"changedFiles", "DoesNotContain", "secret", true},
	} {
		w := webhook(t, "type: Github\nspec:\n  type: Push\n  spec:\n    connectorRef: git\n    payloadConditions:\n"+
			"      - {key: \""+c.key+"\", operator: "+c.operator+", value: \""+c.value+"\"}")
		mismatch, err := trigger.Match(w, read(t, "github-push"))
		if err != nil || (mismatch == "") != c.want {
			t.Errorf("%s %s %s: %q, %v; want %t", c.key, c.operator, c.value, mismatch, err, c.want)
		}
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	const pull = "type: Github\nspec:\n  type: PullRequest\n  spec:\n    connectorRef: git\n"
	for _, c := range []struct{ name, sample, spec, want string }{
		{"no condition", "github-pull-request", pull, ""},
		{"an action", "github-pull-request", pull + "    actions: [Open, Synchronize]", ""},
		{"another action", "github-pull-request", pull + "    actions: [Open, Close]", "the action is Synchronize; the trigger wants Open, Close"},
		{"all must hold", "github-pull-request", pull + "    payloadConditions:\n" +
			"      - {key: targetBranch, operator: Equals, value: main}\n      - {key: sourceBranch, operator: Equals, value: red}",
			`sourceBranch is "blue", not Equals "red"`},
		{"a header", "github-pull-request", pull + "    headerConditions: [{key: \"<+trigger.header['X-GitHub-Event']>\", operator: Equals, value: push}]",
			`<+trigger.header['X-GitHub-Event']> is "pull_request", not Equals "push"`},
		{"a header by its name", "github-pull-request", pull + "    headerConditions: [{key: X-GitHub-Event, operator: Equals, value: pull_request}]", ""},
		{"JEXL", "github-pull-request", pull + "    jexlCondition: <+trigger.payload.pull_request.title>.contains(\"blue\") && <+trigger.prNumber> > 16", ""},
		{"JEXL says no", "github-pull-request", pull + "    jexlCondition: <+trigger.payload.pull_request.title> == \"x\"", "the jexlCondition is false"},
		{"JEXL of nothing", "github-pull-request", pull + "    jexlCondition: <+trigger.payload.none> != null", "the jexlCondition is false"},
		{"files that nobody lists", "gitlab-push-many-commits",
			"type: Gitlab\nspec:\n  type: Push\n  spec:\n    connectorRef: git\n    payloadConditions: [{key: changedFiles, operator: Equals, value: a.txt}]",
			"changedFiles can't be compared: the delivery doesn't list all files that changed"},
		{"an image was pushed to ECR", "custom-ecr", "type: Custom\nspec:\n  payloadConditions:\n" +
			"    - {key: '<+trigger.payload.detail[\"repository-name\"]>', operator: Equals, value: acme/web}\n" +
			"    - {key: '<+trigger.payload.detail[\"image-tag\"]>', operator: Regex, value: '\\d+\\.\\d+\\.\\d+'}", ""},
		{"custom", "custom", "type: Custom\nspec:\n  payloadConditions: [{key: <+trigger.payload.environment>, operator: In, value: \"dev,qa\"}]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := trigger.Match(webhook(t, c.spec), read(t, c.sample))
			if err != nil || got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sample, text, want string }{
		{"github-pull-request", "<+trigger.type> <+trigger.event> <+trigger.sourceRepo>", "Webhook PR Github"},
		{"github-pull-request", "<+trigger.sourceBranch> <+trigger.targetBranch> <+trigger.prNumber> <+trigger.prTitle>", "blue main 17 Make it blue"},
		{"github-pull-request", "<+trigger.gitUser> <+trigger.repoUrl> <+trigger.commitSha> <+trigger.baseCommitSha>", "ann https://github.com/acme/web h1 m1"},
		{"github-push", "<+trigger.branch> <+trigger.prNumber> <+trigger.tag>", "main null null"},
		{"github-push-tag", "<+trigger.branch> <+trigger.tag>", "v1.2 v1.2"},
		{"github-comment", "<+trigger.event> <+trigger.payload.comment.body>", "ISSUE_COMMENT deploy"},
		{"custom", "<+trigger.payload.environment> <+trigger.payload.versions> <+trigger.header['X-Team']>", "dev [1,2] blue"},
		{"custom", "<+trigger.eventPayload.contains(\"dev\")>", "true"},
		{"gitlab-push", "<+trigger.header['X-Gitlab-Token']>", "null"}, // proves the sender: nobody's to read
	} {
		v, err := expr.Interpolate(c.text, read(t, c.sample).Names())
		if err != nil || v.Text() != c.want {
			t.Errorf("%s of %s: %q, %v; want %q", c.text, c.sample, v.Text(), err, c.want)
		}
	}
}

func TestProof(t *testing.T) {
	t.Parallel()
	body := []byte(`{"a": 1}`)
	mac := hmac.New(sha256.New, []byte("hush"))
	mac.Write(body)
	signature := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	for _, c := range []struct {
		name, source, header, value, secret string
		want                                bool
	}{
		{"GitHub", trigger.Github, "x-hub-signature-256", signature, "hush", true},
		{"another secret", trigger.Github, "x-hub-signature-256", signature, "hash", false},
		{"no signature", trigger.Github, "x-hub-signature-256", "", "hush", false},
		{"no secret", trigger.Github, "x-hub-signature-256", signature, "", false},
		{"half of it", trigger.Github, "x-hub-signature-256", signature[:30], "hush", false},
		{"another algorithm", trigger.Github, "x-hub-signature-256", strings.Replace(signature, "sha256", "sha1", 1), "hush", false},
		{"the old header", trigger.Github, "x-hub-signature", signature, "hush", false},
		{"GitLab", trigger.Gitlab, "x-gitlab-token", "hush", "hush", true},
		{"GitLab with nothing", trigger.Gitlab, "x-gitlab-token", "", "", false},
		{"GitLab with another", trigger.Gitlab, "x-gitlab-token", "hushh", "hush", false},
		{"Bitbucket", trigger.Bitbucket, "x-hub-signature", signature, "hush", true},
		{"custom", trigger.Custom, "x-hub-signature-256", signature, "hush", true},
	} {
		d := trigger.Delivery{Source: c.source, Header: trigger.Header{c.header: c.value}, Body: body}
		if got := d.Proves(c.secret); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
		if err := d.Unproven(); !fault.Is(err, fault.Unauthenticated) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestDeliveryIDs(t *testing.T) {
	t.Parallel()
	first := delivery(t, "github-push")
	again, other := first, first
	other.Body = []byte("{}")
	if first.ID() == "" || first.ID() != again.ID() {
		t.Errorf("the same delivery is %q and %q", first.ID(), again.ID())
	}
	if first.ID() == other.ID() {
		t.Error("another body has the same id")
	}
	if id := delivery(t, "custom").ID(); id != "" {
		t.Errorf("a delivery without an id has %q", id)
	}
}

func TestSubjects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sample, want string }{
		{"github-push", "github.com/acme/web refs/heads/main"},
		{"github-pull-request", "github.com/acme/web#17 blue → main"},
		{"custom", ""},
	} {
		if got := read(t, c.sample).Subject(); got != c.want {
			t.Errorf("%s is about %q, want %q", c.sample, got, c.want)
		}
	}
}
