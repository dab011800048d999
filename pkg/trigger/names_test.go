package trigger_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/trigger"
)

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
