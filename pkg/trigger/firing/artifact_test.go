package firing_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/trigger"
)

const awsConnectors = `
connector: {name: aws, identifier: aws, type: Aws, spec: {credential: {type: InheritFromDelegate}}}
---
connector:
  name: other
  identifier: other
  type: Aws
  spec: {credential: {type: InheritFromDelegate, crossAccountAccess: {crossAccountRoleArn: "arn:aws:iam::210987654321:role/r"}}}`

// onImage is a trigger on images of acme/web.
func onImage(id, connector, more string) string {
	return fmt.Sprintf(`
trigger:
  name: %[1]s
  identifier: %[1]s
  orgIdentifier: default
  projectIdentifier: shop
  pipelineIdentifier: deploy
  source:
    type: Artifact
    spec:
      type: Ecr
      spec: {connectorRef: %[2]s, region: eu-west-1, imagePath: acme/web%[3]s}
  inputYaml: |
    pipeline:
      identifier: deploy
      variables:
        - {name: branch, type: String, value: <+trigger.artifact.build>}
`, id, connector, more)
}

func image(event, tag string) []byte {
	return fmt.Appendf(nil, `{"id":%q,"source":"aws.ecr","detail-type":"ECR Image Action","account":"123456789012","region":"eu-west-1","detail":{
  "result":"SUCCESS","repository-name":"acme/web","image-digest":"sha256:ab","action-type":"PUSH","image-tag":%q}}`, event, tag)
}

func (h *host) image(event, tag string) []store.Fire {
	h.Helper()
	r, err := h.Triggers.Artifact(h.Context(), image(event, tag))
	if err != nil {
		h.Fatal(err)
	}
	return r.Fires
}

func TestAnImageStartsOneExecution(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.save(awsConnectors + "\n---\n" + onImage("on_image", "aws", ""))
	var g sync.WaitGroup
	for range 8 { // EventBridge gives an event at least once
		g.Go(func() {
			if _, err := h.Triggers.Artifact(t.Context(), image("e1", "1.0")); err != nil {
				t.Error(err)
			}
		})
	}
	g.Wait()
	h.image("e2", "1.0") // the same version counts once
	list := h.executions()
	if len(list) != 1 || list[0].Actor != "trigger on_image" || len(h.fires("on_image")) != 1 {
		t.Fatalf("executions are %+v, fires %+v; want one of each", list, h.fires("on_image"))
	}
	given, err := launch.GivenTo(list[0])
	if err != nil || !strings.Contains(given.YAML, "1.0") {
		t.Errorf("inputs are %q, %v; want the version", given.YAML, err)
	}
	h.image("e3", "1.1")
	if list := h.executions(); len(list) != 2 {
		t.Errorf("after another version there are %d executions; want 2", len(list))
	}
}

// Versions that were there before a trigger start nothing; the next one starts
// one execution, which is told which it is.
func TestCase40OnlyNewVersionsFire(t *testing.T) {
	t.Parallel()
	h := setup(t)
	for i := range 10 {
		h.image(fmt.Sprintf("old%d", i), fmt.Sprintf("1.%d", i))
	}
	h.save(awsConnectors + "\n---\n" + onImage("on_image", "aws", ""))
	if list, fires := h.executions(), h.fires("on_image"); len(list) != 0 || len(fires) != 0 {
		t.Fatalf("what was there has started %+v: %+v", list, fires)
	}
	if fires := h.image("new", "1.10"); len(fires) != 1 || fires[0].Outcome != store.FireStarted {
		t.Fatalf("the new version's fires are %+v, want one execution", fires)
	}
	list := h.executions()
	if len(list) != 1 {
		t.Fatalf("there are %d executions, want one", len(list))
	}
	given, err := launch.GivenTo(list[0])
	if err != nil || !strings.Contains(given.YAML, "value: 1.10") && !strings.Contains(given.YAML, `value: "1.10"`) {
		t.Errorf("<+trigger.artifact.build> has given %q, %v; want 1.10", given.YAML, err)
	}
}

func TestWhoFiresOfAnImage(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.save(awsConnectors + "\n---\n" + onImage("any", "aws", "") +
		"\n---\n" + onImage("another_account", "other", "") +
		"\n---\n" + onImage("own_registry", "other", `, registryId: "123456789012"`) +
		"\n---\n" + strings.Replace(onImage("another_image", "aws", ""), "acme/web", "acme/api", 1) +
		"\n---\n" + strings.Replace(onImage("off", "aws", ""), "  pipelineIdentifier", "  enabled: false\n  pipelineIdentifier", 1) +
		"\n---\n" + onImage("released", "aws", `, eventConditions: [{key: build, operator: StartsWith, value: v}]`))
	h.image("e1", "1.0")
	got := map[string]string{}
	for _, id := range []string{"any", "another_account", "own_registry", "another_image", "off", "released"} {
		for _, f := range h.fires(id) {
			got[id] += string(f.Outcome) + " " + f.Reason
		}
	}
	want := map[string]string{
		"any": "Started ", "own_registry": "Started ", "released": `Skipped <+trigger.artifact.build> is "1.0", not StartsWith "v"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fires (-want +got):\n%s", diff)
	}
}

// Who forwards an event reaches the triggers of what his token is for.
func TestForwardedImages(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.save(awsConnectors + "\n---\n" + onImage("on_image", "aws", ""))
	for i, c := range []struct {
		name, token string
		code        fault.Code
		fires       int
	}{
		{"nobody", "", fault.Unauthenticated, 0},
		{"a guess", "pat.default.x.y", fault.Unauthenticated, 0},
		{"a delegate", h.mint(store.TokenDelegate, project), fault.Forbidden, 0},
		{"of another project", h.mint(store.TokenUser, ref.Scope{Account: "default", Org: "other"}), "", 0},
		{"of the project", h.mint(store.TokenUser, project), "", 1},
		{"of the account", h.mint(store.TokenUser, ref.Scope{Account: "default"}), "", 1},
	} {
		header := trigger.Header{}
		if c.token != "" {
			header["x-api-key"] = c.token
		}
		r, err := h.Triggers.DeliverAWS(t.Context(), trigger.Delivery{Header: header, Body: image("e1", fmt.Sprintf("1.%d", i))})
		if fault.CodeOf(err) != c.code || len(r.Fires) != c.fires {
			t.Errorf("%s: %d fires, error %v; want %d, %q", c.name, len(r.Fires), err, c.fires, c.code)
		}
	}
}
