package lint_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/lint"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

const pipeline = `
pipeline:
  identifier: p
  variables: [{name: tag, type: String, value: x}, {name: a.b, type: String, value: x}]
  stages:
    - stage:
        identifier: build
        type: Custom
        variables: [{name: flavour, type: String, value: x}]
        spec:
          execution:
            steps:
              - step: {identifier: make, type: ShellScript, spec: {outputAlias: {key: made, scope: Stage}, script: "@here"}}
              - parallel:
                  - step: {identifier: test, type: ShellScript}
                  - stepGroup: {identifier: g, steps: [{step: {identifier: inner}}]}
              - step: {identifier: loop, strategy: {parallelism: 2}}
            rollbackSteps:
              - step: {identifier: back, type: ShellScript}
    - parallel:
        - stage:
            identifier: deploy
            type: Deployment
            strategy: {matrix: {x: [1]}}
            spec: {environment: {environmentRef: dev}, execution: {steps: [{step: {identifier: roll}}]}}
        - stage: {identifier: many, type: Deployment, spec: {services: {values: [{serviceRef: web}]}, environment: {environmentRef: dev}}}
        - stage: {identifier: foreign, template: {templateRef: t}}
`

// semantics/pipeline §3.5: what no run can resolve, and what it may.
func TestNames(t *testing.T) {
	t.Parallel()
	tests := map[string]string{ // the text of a step of the stage build; the reason
		"<+pipeline.variables.tag>":                                          "",
		"<+pipeline.variables.a.b>":                                          "",
		"<+pipeline.variables.tag.split(',')[0]>":                            "",
		"<+pipeline.variables.<+stage.name>>":                                "",
		"<+pipeline.variables.tga>":                                          `the pipeline has no variable "tga"; did you mean "tag"?`,
		"echo <+pipeline.variables.tag> <+pipeline.variables.no>":            `the pipeline has no variable "no"`,
		"<+pipeline.name> <+pipeline.sequenceId>":                            "",
		"<+stage.variables.flavour>":                                         "",
		"<+stage.variables.flavor>":                                          `the stage build has no variable "flavor"; did you mean "flavour"?`,
		"<+pipeline.stages.build.variables.flavor>":                          `the stage build has no variable "flavor"; did you mean "flavour"?`,
		"<+pipeline.stages.buidl.status>":                                    `the pipeline has no stage "buidl"; did you mean "build"?`,
		"<+stages.nowhere.status>":                                           `the pipeline has no stage "nowhere"`,
		"<+pipeline.stages.deploy_1.status>":                                 "",
		"<+pipeline.stages.many_0.status>":                                   "",
		"<+pipeline.stages.foreign.spec.execution.steps.any.output.x>":       "",
		"<+pipeline.stages.foreign.variables.any>":                           "",
		"<+pipeline.stages.deploy.spec.execution.steps.roll.output.x>":       "",
		"<+pipeline.stages.deploy.spec.execution.steps.rol.output.x>":        `the stage deploy has no step "rol"; did you mean "roll"?`,
		"<+execution.steps.test.output.outputVariables.steps.x>":             "",
		"<+execution.steps.tset.output.outputVariables.x>":                   `the stage build has no step "tset"; did you mean "test"?`,
		"<+execution.steps.g.steps.inner.output.outputVariables.x>":          "",
		"<+execution.steps.g.steps.outer.output.outputVariables.x>":          `the stage build has no step "outer"`,
		"<+execution.rollbackSteps.back.status>":                             "",
		"<+execution.rollbackSteps.front.status>":                            `the stage build has no step "front"`,
		"<+steps.make.status>":                                               "",
		"<+steps.loop_0.status>":                                             "",
		"<+steps.mak.status>":                                                `the stage build has no step "mak"; did you mean "make"?`,
		"<+env.name>":                                                        "the stage build deploys nothing",
		"<+artifact.tag>":                                                    "the stage build deploys nothing",
		"<+pipline.name>":                                                    "", // a template's step may be called so
		"<+make.output.x>":                                                   "",
		"<+input>.default(<+pipeline.variables.no>)":                         "",
		`<+json.select("a", <+steps.no.output.x>)>`:                          `the stage build has no step "no"`,
		"<+secrets.getValue(\"x\")>":                                         "",
		"<+matrix.x> <+strategy.iteration> <+repeat.item> <+trigger.type>":   "",
		"<+httpResponseCode> <+issue.Status> <+kubernetes.release.revision>": "",
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			doc := strings.Replace(pipeline, `"@here"`, "'"+text+"'", 1)
			got := findings(t, doc)
			if want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("found %q; want %q", got, want)
			}
		})
	}
}

// pipelineOf decodes a pipeline, whatever else is wrong with it.
func pipelineOf(doc *yamldoc.Node) *entity.Pipeline {
	return entity.DecodePart(ref.Pipeline, doc, yamldoc.NewReport(""), entity.Options{}).Pipeline
}

func findings(t *testing.T, text string) string {
	t.Helper()
	docs, report := yamldoc.Parse("p.yaml", []byte(text))
	if report.Failed() {
		t.Fatal(report.Err())
	}
	lint.Names(pipelineOf(docs[0].Get("pipeline")), report)
	var lines []string
	for _, f := range report.Findings() {
		lines = append(lines, f.String())
	}
	return strings.Join(lines, "\n")
}

func TestFindingsHaveTheirPlacesAndSeverities(t *testing.T) {
	t.Parallel()
	got := findings(t, `
pipeline:
  description: of <+execution.steps.x.status>
  stages:
    - stage:
        identifier: s
        type: Custom
        when: {pipelineStatus: Success, condition: <+pipeline.variables.x> == "a"}
        spec:
          execution:
            steps:
              - step:
                  identifier: a
                  spec:
                    script: echo <+stag.name>
                    message: |
                      <+input>
                    approvalMessage: <+env.name>
`)
	want := `p.yaml:3:16 description: warning: <+execution.steps.x.status> never has a value: it stands outside of a stage [UNRESOLVABLE_EXPRESSION]
p.yaml:8:52 stages[0].stage.when.condition: warning: <+pipeline.variables.x> never has a value: the pipeline has no variable "x" [UNRESOLVABLE_EXPRESSION]
p.yaml:15:29 stages[0].stage.spec.execution.steps[0].step.spec.script: <+stag.name> can never be resolved: there is no "stag"; did you mean "stage"? [UNRESOLVABLE_EXPRESSION]
p.yaml:18:38 stages[0].stage.spec.execution.steps[0].step.spec.approvalMessage: warning: <+env.name> never has a value: the stage s deploys nothing [UNRESOLVABLE_EXPRESSION]`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExports(t *testing.T) {
	t.Parallel()
	doc := `
pipeline:
  stages:
    - stage:
        identifier: a
        type: Custom
        spec:
          execution:
            steps:
              - step: {identifier: p, spec: {outputAlias: {key: made, scope: Pipeline}}}
              - step: {identifier: s, spec: {outputAlias: {key: own, scope: Stage}}}
              - stepGroup: {identifier: g, strategy: {parallelism: 2}, steps: [{step: {identifier: l, spec: {outputAlias: {key: many, scope: Stage}}}}]}
    - stage:
        identifier: b
        type: Custom
        spec: {execution: {steps: [{step: {identifier: x, spec: {script: "@here"}}}]}}
`
	const looped = `p.yaml:12:129 "many" is published in a loop; every iteration would publish the same name [LOOPED_ALIAS]`
	for script, want := range map[string]string{
		`<+exportedVariables.getValue('pipeline.made.x')>`: "",
		`<+exportedVariables.getValue('pipeline.maid.x')>`: `no step publishes its outputs as "maid" in its pipeline`,
		`<+exportedVariables.getValue('stage.own.x')>`:     `no step publishes its outputs as "own" in its stage`,
		`<+exportedVariables.getValue(<+stage.name>)>`:     "",
	} {
		got := findings(t, strings.Replace(doc, "@here", script, 1))
		if !strings.Contains(got, looped) || !strings.Contains(got, want) || want == "" && strings.Count(got, "\n") > 0 {
			t.Errorf("%s: found\n%s\nwant %s and the loop", script, got, want)
		}
	}
}

func TestATemplateMayBringAnything(t *testing.T) {
	t.Parallel()
	if got := findings(t, "pipeline: {identifier: p, template: {templateRef: t}, name: <+nothing.x>}"); got != "" {
		t.Errorf("found %s", got)
	}
}

// The outputs of a Pipeline stage are evaluated in the other pipeline; its
// inputs aren't (semantics/pipeline §1.7).
func TestOutputsOfAChainedPipeline(t *testing.T) {
	t.Parallel()
	got := findings(t, `
pipeline:
  stages:
    - stage:
        identifier: s
        type: Pipeline
        spec:
          inputs: {variables: [{name: a, value: <+pipeline.variables.no>}]}
          outputs: [{name: o, value: <+pipeline.stages.other.variables.x>}]
`)
	want := `p.yaml:8:49 stages[0].stage.spec.inputs.variables[0].value: <+pipeline.variables.no> can never be resolved: the pipeline has no variable "no" [UNRESOLVABLE_EXPRESSION]`
	if got != want {
		t.Errorf("found %s; want %s", got, want)
	}
}

// semantics/pipeline §7.16: outputs of a section that a stage hasn't.
func TestNamesOfProvisioners(t *testing.T) {
	t.Parallel()
	const section = ", provisioner: {steps: [{step: {identifier: make, type: CreateStack}}]}"
	for name, tt := range map[string]struct{ environment, want string }{
		"with one":    {environment: section},
		"without one": {want: "<+provisioner.Cluster> can never be resolved: the environment of the stage d has no provisioner"},
	} {
		docs, report := yamldoc.Parse("p.yaml", []byte("identifier: p\nstages: [{stage: {identifier: d, type: Deployment, spec: {environment: {environmentRef: dev"+tt.environment+
			"}, execution: {steps: [{step: {identifier: say, type: ShellScript, spec: {script: <+provisioner.Cluster>}}}]}}}}]\n"))
		lint.Names(pipelineOf(docs[0]), report)
		got := ""
		if err := report.Err(); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: found %q; want %q", name, got, tt.want)
		}
	}
}

// Of what isn't all there yet nothing is said: what an input stands for, what a
// template leaves to others, and what another template will bring.
func TestWhatIsOpenMayHoldAnything(t *testing.T) {
	t.Parallel()
	const reads = `{step: {identifier: say, type: ShellScript, spec: {script: "<+steps.other.output.x> <+pipeline.stages.other.status>"}}}`
	stage := func(spec string) string {
		return "pipeline:\n  stages:\n    - stage: {identifier: a, type: Custom, " + spec + "}\n"
	}
	const noStep, noStage = `the stage a has no step "other"`, `the pipeline has no stage "other"`
	for name, tt := range map[string]struct {
		doc  string
		want []string
	}{
		"all there":                      {stage("spec: {execution: {steps: [" + reads + "]}}"), []string{noStep, noStage}},
		"an insert among the steps":      {stage("spec: {execution: {steps: [" + reads + ", {insert: {identifier: i, name: i, steps: []}}]}}"), []string{noStage}},
		"an input for the rollback":      {stage("spec: {execution: {steps: [" + reads + "], rollbackSteps: <+input>}}"), []string{noStage}},
		"a step of a template":           {stage("spec: {execution: {steps: [" + reads + ", {step: {identifier: b, template: {templateRef: t}}}]}}"), []string{noStage}},
		"a group of a template":          {stage("spec: {execution: {steps: [" + reads + ", {stepGroup: {identifier: b, template: {templateRef: t}}}]}}"), []string{noStage}},
		"a step in an insert is checked": {stage("spec: {execution: {steps: [{insert: {identifier: i, name: i, steps: [" + reads + "]}}]}}"), []string{noStage}},
		"an insert among the stages":     {stage("spec: {execution: {steps: ["+reads+"]}}") + "    - insert: {identifier: i, name: i, stages: []}\n", []string{noStep}},
		"a copy of a step": {stage("spec: {execution: {steps: [" + strings.Replace(reads, "steps.other", "steps.many_1", 1) +
			", {step: {identifier: many, strategy: <+input>}}]}}"), []string{noStage}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := findings(t, tt.doc)
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("found %q; want %q", got, want)
				}
			}
			if n := strings.Count(got, "[UNRESOLVABLE_EXPRESSION]"); n != len(tt.want) {
				t.Errorf("found %q; want %d findings", got, len(tt.want))
			}
		})
	}
}
