package schema_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/schema"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// placed gives the findings of a document after Place.
func placed(t *testing.T, text string) []yamldoc.Finding {
	t.Helper()
	docs, report := yamldoc.Parse("a.yaml", []byte(text))
	if report.Failed() {
		t.Fatal(report.Err())
	}
	e := entity.Decode(docs[0], report, builtin.Options(ref.Scope{Account: "a", Org: "o", Project: "p"}))
	schema.Place(e.Kind, docs[0], report)
	return report.Findings()
}

// A key that is known elsewhere nearby is told to belong there.
func TestAnUnknownKeyIsToldWhereItBelongs(t *testing.T) {
	t.Parallel()
	step := func(step string) string {
		return "pipeline: {identifier: p, name: p, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [{step: {identifier: a, name: a, " + step + "}}]}}}}]}"
	}
	stage := func(stage, spec string) string {
		return "pipeline: {identifier: p, name: p, stages: [{stage: {identifier: s, name: s, type: Deployment, " + stage + "spec: {" + spec + "}}}]}"
	}
	for name, tt := range map[string]struct{ doc, want string }{
		"a script beside its shell": {
			step("type: ShellScript, spec: {shell: Bash, script: echo}"), `unknown key "script"; it belongs in source.spec.script`,
		},
		"a script beside its source's type": {
			step("type: ShellScript, spec: {shell: Bash, source: {type: Inline, script: echo}}"), `unknown key "script"; it belongs in spec.script`,
		},
		"a step's key in its spec": {
			step("type: Wait, spec: {duration: 1m, failureStrategies: []}"), `unknown key "failureStrategies"; it belongs beside "spec", one level up`,
		},
		"a spec's key beside it": {
			step("type: ShellScript, shell: Bash, spec: {}"), `unknown key "shell"; it belongs in spec.shell`,
		},
		"a key two levels up": {
			step("type: ShellScript, spec: {shell: Bash, source: {type: Inline, strategy: {}, spec: {script: a}}}"), `unknown key "strategy"; it belongs beside "spec", two levels up`,
		},
		"steps beside their execution": {
			stage("", "deploymentType: Kubernetes, rollbackSteps: []"), `unknown key "rollbackSteps"; it belongs in execution.rollbackSteps`,
		},
		"a deployment type beside its spec": {
			stage("deploymentType: Kubernetes, ", ""), `unknown key "deploymentType"; it belongs in spec.deploymentType`,
		},
		"manifests of a service": {
			"service: {identifier: s, name: s, manifests: []}", `unknown key "manifests"; it belongs in serviceDefinition.spec.manifests`,
		},
		"a key that is there already": {
			step("type: ShellScript, spec: {shell: Bash, script: echo, source: {type: Inline, spec: {script: echo}}}"), `unknown key "script"`,
		},
		"a key that is nowhere":           {step("type: Wait, spec: {duration: 1m, colour: red}"), `unknown key "colour"`},
		"a key that stands everywhere":    {step("type: ShellScript, spec: {shell: Bash, name: a}"), `unknown key "name"`},
		"a key that many mappings have":   {"pipeline: {identifier: p, name: p, connectorRef: a}", `unknown key "connectorRef"`},
		"a key beside the document's own": {"inputs: {}\nservice: {identifier: s, name: s}", `unknown key "inputs"; did you mean "inputSet"?`},
		"a misspelt key":                  {step("type: Wait, spec: {duratoin: 1m}"), `unknown key "duratoin"; did you mean "duration"?`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range placed(t, tt.doc) {
				if f.Code == "UNKNOWN_KEY" {
					got = append(got, f.Message)
				}
			}
			if text := strings.Join(got, "\n"); text != tt.want {
				t.Errorf("found %q; want %q", text, tt.want)
			}
		})
	}
}

// A document with nothing but unknown keys is done with soon.
func BenchmarkPlace(b *testing.B) {
	var text strings.Builder
	text.WriteString("pipeline:\n  identifier: p\n  name: p\n")
	for range 1000 {
		text.WriteString("  k" + strings.Repeat("x", text.Len()%50) + ": a\n")
	}
	for b.Loop() {
		docs, report := yamldoc.Parse("a.yaml", []byte(text.String()))
		e := entity.Decode(docs[0], report, entity.Options{})
		schema.Place(e.Kind, docs[0], report)
	}
}

// Of so many keys the place is told; whoever has more misread the whole.
func TestThePlaceIsToldOfSomeKeys(t *testing.T) {
	t.Parallel()
	const told = 20
	doc := "pipeline:\n  identifier: p\n  name: p\n  stages:\n"
	for i := range told + 1 {
		id := string(rune('a' + i))
		doc += "    - stage: {identifier: " + id + ", name: " + id + ", type: Custom, rollbackSteps: [], spec: {}}\n"
	}
	places, unknown := 0, 0
	for _, f := range placed(t, doc) {
		if f.Code == "UNKNOWN_KEY" {
			unknown++
			if strings.Contains(f.Message, "it belongs in spec.execution.rollbackSteps") {
				places++
			}
		}
	}
	if unknown != told+1 || places != told {
		t.Errorf("%d keys are unknown, and the place of %d is told; want %d and %d", unknown, places, told+1, told)
	}
}
