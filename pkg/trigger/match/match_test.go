package match_test

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/trigger"
	"github.com/slipway-cd/slipway/pkg/trigger/match"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// read reads a sample of one event of pkg/trigger.
func read(tb testing.TB, name string) trigger.Event {
	tb.Helper()
	a, err := txtar.ParseFile(filepath.Join("..", "testdata", name+".txtar"))
	if err != nil {
		tb.Fatal(err)
	}
	host, _, _ := strings.Cut(name, "-")
	d := trigger.Delivery{Source: strings.ToUpper(host[:1]) + host[1:], Header: trigger.Header{}}
	for _, f := range a.Files {
		switch f.Name {
		case "header":
			for line := range strings.Lines(string(f.Data)) {
				key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				d.Header[strings.ToLower(key)] = value
			}
		case "body":
			d.Body = f.Data
		}
	}
	events, err := trigger.Read(d)
	if err != nil || len(events) == 0 {
		tb.Fatalf("read %s: %v, %d events", name, err, len(events))
	}
	return events[0]
}

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
		if got := match.Concerns(w, c.url, read(t, c.sample)); got != (c.want == "yes") {
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
		mismatch, err := match.Webhook(w, read(t, "github-push"))
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
			got, err := match.Webhook(webhook(t, c.spec), read(t, c.sample))
			if err != nil || got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}
