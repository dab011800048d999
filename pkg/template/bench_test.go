package template_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

const benchTemplates = `
template:
  name: Say
  identifier: say
  versionLabel: v1
  type: Step
  spec:
    type: ShellScript
    timeout: <+input>.default(10m)
    spec:
      shell: Bash
      onDelegate: true
      source: {type: Inline, spec: {script: <+input>}}
      environmentVariables:
        - {name: MODE, type: String, value: "<+input>.allowedValues(fast,slow)"}
        - {name: WHO, type: String, value: me}
---
template:
  name: Ten
  identifier: ten
  versionLabel: v1
  type: StepGroup
  spec:
    steps:
`

// stagesOfTemplates is a pipeline of n stages of ten groups of ten steps, all
// of templates.
func stagesOfTemplates(n int) (doc, templates string) {
	var t, b strings.Builder
	t.WriteString(benchTemplates)
	link := "%[1]s- step: {name: s%[2]d, identifier: s%[2]d, template: {templateRef: account.say, versionLabel: v1, templateInputs: " +
		"{type: ShellScript, timeout: %[2]dm, spec: {source: {type: Inline, spec: {script: echo}}, environmentVariables: [{name: MODE, type: String, value: fast}]}}}}\n"
	for i := range 10 {
		fmt.Fprintf(&t, link, "      ", i+1)
	}
	b.WriteString("pipeline:\n  name: p\n  identifier: p\n  stages:\n")
	for s := range n {
		fmt.Fprintf(&b, "    - stage:\n        name: s%[1]d\n        identifier: s%[1]d\n        type: Custom\n        spec:\n          execution:\n            steps:\n", s)
		for g := range 10 {
			fmt.Fprintf(&b, "              - stepGroup: {name: g%[1]d, identifier: g%[1]d, template: {templateRef: account.ten}}\n", g)
		}
	}
	return b.String(), t.String()
}

// BenchmarkPlan1000Steps reads, resolves and plans a pipeline of 1,000 steps
// of templates.
func BenchmarkPlan1000Steps(b *testing.B) {
	doc, templates := stagesOfTemplates(10)
	find := shelve(b, []byte(templates)).find
	for b.Loop() {
		root := parse(b, "doc.yaml", []byte(doc))
		report := yamldoc.NewReport("doc.yaml")
		resolved, err := template.Resolve(b.Context(), root, project, report, find)
		if err != nil || report.Failed() || len(resolved.Missing()) > 0 {
			b.Fatal(err, report.Err(), resolved.Missing())
		}
		made, err := planning.Build(planning.Source{Pipeline: entity.Decode(resolved.Doc, report, entity.Options{Scope: project}).Pipeline})
		if err != nil {
			b.Fatal(err)
		}
		encoded, err := made.Encode()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(encoded)), "plan-bytes")
	}
}
