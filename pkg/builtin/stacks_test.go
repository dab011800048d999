package builtin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// A rollback by an identifier takes back one stack: a stage makes one of each.
func TestAStageMakesAStackOnceByAnIdentifier(t *testing.T) {
	t.Parallel()
	made := func(id, by string) string {
		return "step: {identifier: " + id + ", name: " + id + ", type: CreateStack, timeout: 10m, spec: {provisionerIdentifier: " + by +
			", configuration: {connectorRef: c, region: r, stackName: a, templateFile: {type: Inline, spec: {templateBody: x}}}}}"
	}
	stage := func(id string, items ...string) string {
		return "    - stage:\n        identifier: " + id + "\n        name: " + id + "\n        type: Custom\n        spec:\n          execution:\n            steps:\n              - " +
			strings.Join(items, "\n              - ") + "\n            rollbackSteps:\n              - " + made("z", "web") + "\n"
	}
	const head = "pipeline:\n  identifier: p\n  name: p\n  orgIdentifier: default\n  projectIdentifier: web\n  stages:\n"
	for name, tt := range map[string]struct{ doc, want string }{
		"once, and in another stage": {head + stage("s", made("a", "web"), made("b", "shop"), made("c", `"<+pipeline.name>"`), made("d", `"<+pipeline.name>"`)) + stage("t", made("a", "web")), "[]"},
		"twice": {
			head + stage("s", made("a", "web"), "stepGroup: {identifier: g, name: g, steps: [{"+made("b", "web")+"}]}"),
			`[15:156 stages[0].stage.spec.execution.steps[1].stepGroup.steps[0].step.spec.provisionerIdentifier: the CreateStack step in line 14 of this stage has the provisionerIdentifier "web", too; want one of its own for each [DUPLICATE_IDENTIFIER]]`,
		},
		"in both sections": {
			head + strings.NewReplacer("type: Custom", "type: Deployment\n        failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: StageRollback}}}]", "spec:\n          execution", "spec:\n          deploymentType: ECS\n          service: {serviceRef: s}\n          environment: {environmentRef: e, infrastructureDefinition: {identifier: i}, provisioner: {steps: [{"+made("b", "web")+"}]}}\n          execution").
				Replace(stage("s", made("a", "web"))),
			`[18:111 stages[0].stage.spec.execution.steps[0].step.spec.provisionerIdentifier: the CreateStack step in line 15 of this stage has the provisionerIdentifier "web", too; want one of its own for each [DUPLICATE_IDENTIFIER]]`,
		},
		"a step of a deployment": {
			head + strings.NewReplacer("type: Custom", "type: Deployment\n        failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: StageRollback}}}]", "spec:\n          execution", "spec:\n          deploymentType: AWS_SAM\n          service: {serviceRef: s}\n          environment: {environmentRef: e, infrastructureDefinition: {identifier: i}, provisioner: {steps: [{step: {identifier: x, name: x, type: DownloadManifests, timeout: 1m, spec: {}}}]}}\n          execution").
				Replace(stage("s", made("a", "web"))),
			`[15:147 stages[0].stage.spec.environment.provisioner.steps[0].step.spec: found a DownloadManifests step in a stage of type provisioner, which has no service yet; it needs a Deployment stage [WRONG_STAGE]]`,
		},
	} {
		docs, report := yamldoc.Parse("", []byte(tt.doc))
		entity.Decode(docs[0], report, builtin.Options(project()))
		if diff := cmp.Diff(tt.want, fmt.Sprint(report.Findings())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
