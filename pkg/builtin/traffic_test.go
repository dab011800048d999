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

// A stage swaps the target groups of a service of ECS, or shifts its traffic.
func TestAStageMovesTheTrafficOfAServiceInOneWay(t *testing.T) {
	t.Parallel()
	step := func(id, typ, spec string) string {
		return "step: {identifier: " + id + ", name: " + id + ", type: " + typ + ", timeout: 10m, spec: {" + spec + "}}"
	}
	swap := step("swap", "EcsBlueGreenSwapTargetGroups", "")
	shift := step("shift", "EcsBlueGreenTrafficShift", "ecsTrafficShiftWrapper: {type: Inherit, spec: {weightPercentage: 10}}")
	again := step("again", "EcsBlueGreenTrafficShift", "ecsTrafficShiftWrapper: {type: Inherit, spec: {weightPercentage: 100}}")
	alone := step("alone", "EcsBlueGreenTrafficShift", "ecsTrafficShiftWrapper: {type: Standalone, spec: {loadBalancer: l, listener: a, listenerRuleArn: r, forwardConfig: [{targetGroupArn: t, weight: 1}]}}")
	stage := func(id string, steps ...string) string {
		return "    - stage:\n        identifier: " + id + "\n        name: " + id + "\n        type: Deployment\n" +
			"        failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: StageRollback}}}]\n" +
			"        spec:\n          deploymentType: ECS\n          service: {serviceRef: s}\n" +
			"          environment: {environmentRef: e, infrastructureDefinitions: [{identifier: i}]}\n          execution:\n            steps:\n              - " +
			strings.Join(steps, "\n              - ") + "\n"
	}
	const head = "pipeline:\n  identifier: p\n  name: p\n  orgIdentifier: default\n  projectIdentifier: web\n  stages:\n"
	for name, tt := range map[string]struct{ doc, want string }{
		"each in a stage of its own, and another rule beside": {stage("s", swap, alone) + stage("t", shift, again, alone), "[]"},
		"a swap after a shift": {
			stage("s", shift, swap),
			"[19:60 stages[0].stage.spec.execution.steps[1].step.type: the EcsBlueGreenTrafficShift step in line 18 of this stage moves the same traffic; want steps of one of the two types [WRONG_VALUE]]",
		},
		"a shift in a group after a swap": {
			stage("s", swap, "stepGroup: {identifier: g, name: g, steps: [{"+shift+"}]}"),
			"[19:107 stages[0].stage.spec.execution.steps[1].stepGroup.steps[0].step.type: the EcsBlueGreenSwapTargetGroups step in line 18 of this stage moves the same traffic; want steps of one of the two types [WRONG_VALUE]]",
		},
	} {
		docs, report := yamldoc.Parse("", []byte(head+tt.doc))
		entity.Decode(docs[0], report, builtin.Options(project()))
		if diff := cmp.Diff(tt.want, fmt.Sprint(report.Findings())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
