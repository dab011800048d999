package resolve_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/redact"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// A document is resolved for people as far as it can be. Secrets are masked
// wherever they come to stand.
func TestADocumentForPeople(t *testing.T) {
	t.Parallel()
	s := scopeAt(t, "pipeline.stages.deploy.spec.execution.steps.roll")
	doc := parse(t, `
plain: 1
whole: <+pipeline.variables.v>
list: ["<+pipeline.tags>", "<+pipeline.name>!"]
secret: 'Bearer <+secrets.getValue("account.token")>'
variable: <+pipeline.variables.token>
output: {of: "<+pipeline.stages.build.spec.execution.steps.make.output.outputVariables.t>"}
none: <+pipeline.variables.nope>
token: <+oidc.token("vault")>
asked: <+input>
late: <+pipeline.name>
`)
	known, values := resolve.Show(s, doc, []string{"late"}, 1<<10)
	want := `plain: 1
whole: ABC
list:
  - team: blue
  - Web!
secret: Bearer MASK
variable: MASK
output:
  of: MASK
none: <+pipeline.variables.nope>
token: MASK
asked: <+input>
late: <+pipeline.name>
`
	got := strings.ReplaceAll(string(yamldoc.Format(known, nil)), redact.Mask, "MASK")
	got = strings.ReplaceAll(got, `'MASK'`, "MASK")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(s.Secrets()) == 0 {
		t.Fatal("no secret was handed out, so nothing was masked")
	}
	told := map[string]resolve.Known{}
	for _, v := range values {
		told[v.Path] = v
	}
	for path, secret := range map[string]bool{"whole": false, "list[0]": false, "list[1]": false, "secret": true, "variable": true, "output.of": true, "token": true} {
		if v, ok := told[path]; !ok || v.Secret != secret || v.Err != nil || strings.Contains(v.Value, "⟦") || secret != strings.Contains(v.Value, redact.Mask) {
			t.Errorf("%s is told as %+v", path, v)
		}
	}
	if v := told["none"]; v.Err == nil || !strings.Contains(v.Err.Error(), "nope") || v.Value != "" {
		t.Errorf("what there isn't is told as %+v", v)
	}
	if _, ok := told["late"]; ok || len(told) != 8 {
		t.Errorf("told are %v", told)
	}
}

func TestValuesThatAreTooManyAreLeftOut(t *testing.T) {
	t.Parallel()
	s := scopeAt(t, "pipeline.stages.deploy.spec.execution.steps.roll")
	_, values := resolve.Show(s, parse(t, "{a: <+pipeline.variables.v>, b: <+pipeline.variables.v>}"), nil, 4)
	if values[0].Value != "ABC" || values[0].Err != nil || values[1].Value != "" || values[1].Err == nil {
		t.Errorf("with room for 4 bytes: %+v", values)
	}
}

// What a stage deploys is told as far as it is known, with what was found when
// its artifact was looked up.
func TestWhatAStageDelivers(t *testing.T) {
	t.Parallel()
	d, err := resolve.DeliveredBy(scopeAt(t, "pipeline.stages.deploy.spec.execution.steps.roll"))
	if err != nil {
		t.Fatal(err)
	}
	if d.Service != "shop" || d.ServiceName != "Shop" || d.Environment != "dev" || len(d.Artifacts) != 1 || len(d.Manifests) == 0 {
		t.Fatalf("delivered is %+v", d)
	}
	if a := d.Artifacts[0]; a.Version != "dev" || a.Type != "DockerRegistry" || a.Digest != "" {
		t.Errorf("the fixed artifact is %+v", a)
	}
	if m := d.Manifests[0]; m.Identifier != "over" || m.Type != "Values" || m.From != "the service" {
		t.Errorf("the first manifest is %+v", m)
	}

	source := "type: DockerRegistry, spec: {connectorRef: hub, imagePath: library/nginx, tagRegex: .*}"
	d, err = resolve.DeliveredBy(stageWith(t, source, plan.State{Status: plan.Success, Outputs: []byte(results)}, rollNode))
	if err != nil {
		t.Fatal(err)
	}
	want := []resolve.DeliveredArtifact{{Identifier: "main", Type: "DockerRegistry", Version: "1.7", Image: "index.docker.io/library/nginx:1.7", Digest: "sha256:ab"}}
	if diff := cmp.Diff(want, d.Artifacts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d, err = resolve.DeliveredBy(stageWith(t, source, plan.State{Status: plan.Running}, rollNode))
	if err != nil {
		t.Fatal(err)
	}
	if a := d.Artifacts[0]; a.Version != "" || !strings.Contains(a.Unknown, "isn't known before its source was asked") {
		t.Errorf("before it was looked up: %+v", a)
	}
}
