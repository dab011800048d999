package e2e_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// semantics/pipeline §6: loops of a stage, a group and a step, one in the
// other, with values that are known at run time only.
func TestLoops(t *testing.T) {
	t.Parallel()
	onEveryHost(t, loops)
}

const loopingPipeline = `pipeline:
  identifier: loops
  name: Loops
  orgIdentifier: default
  projectIdentifier: default_project
  stages:
    - stage:
        identifier: list
        name: List
        type: Custom
        spec: {execution: {steps: [STEPS]}}
    - stage:
        identifier: each
        name: Each
        type: Custom
        strategy:
          matrix:
            service: <+pipeline.stages.list.spec.execution.steps.find.output.outputVariables.names>.split(',')
            region: [eu, us]
            exclude: [{service: web, region: us}]
            nodeName: <+matrix.service> in <+matrix.region>
            maxConcurrency: 2
        spec:
          execution:
            steps:
              - stepGroup:
                  identifier: g
                  name: G
                  steps:
                    - step:
                        identifier: say
                        name: Say
                        type: ShellScript
                        timeout: 1m
                        strategy: {repeat: {items: [1, 2]}}
                        spec:
                          shell: Bash
                          onDelegate: true
                          outputVariables: [{name: SAID, type: String, value: SAID}]
                          source: {type: Inline, spec: {script: 'SAID="<+matrix.service>-<+matrix.region>-<+repeat.item>"'}}
    - stage:
        identifier: after
        name: After
        type: Custom
        spec:
          execution:
            steps:
              - AFTER
`

func loops(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	find := `{step: {identifier: find, name: find, type: ShellScript, timeout: 1m, spec: {shell: Bash, onDelegate: true, outputVariables: [{name: names, type: String, value: N}], source: {type: Inline, spec: {script: 'N=api,web'}}}}}`
	said := `<+pipeline.stages.each_0_1.spec.execution.steps.g.steps.say_1.output.outputVariables.SAID>`
	doc := strings.NewReplacer("[STEPS]", "["+find+"]", "AFTER", shell("check", `[ "`+said+`" = api-us-2 ]`)).Replace(loopingPipeline)
	s.Apply(t, doc)
	e := run(t, s, "loops", "Success", nil)
	each := e.Root.Find("each")
	var got []string
	for _, c := range each.Children {
		got = append(got, c.Identifier+" "+c.Name+" "+c.Status)
	}
	want := "each_0_0 api in eu Success|each_0_1 api in us Success|each_1_0 web in eu Success"
	if text := strings.Join(got, "|"); text != want {
		t.Errorf("iterations:\n%s; want\n%s", text, want)
	}
	for _, c := range each.Children {
		if say := c.Find("say"); say == nil || len(say.Children) != 2 {
			t.Errorf("%s: the looped step has no two iterations", c.Identifier)
		}
	}
}
