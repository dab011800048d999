package entity_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a finding says is what whoever reads it can act on.
func TestFindingsSayWhatToDo(t *testing.T) {
	t.Parallel()
	const (
		pipeline = "pipeline: {identifier: p, name: p, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [{step: {identifier: a, name: a, type: Wait}}]}}}}]}"
		step     = "type: Wait"
	)
	connector := func(typ string) string {
		return "connector: {identifier: c, name: c, type: " + typ + ", spec: {}}"
	}
	for name, tt := range map[string]struct{ doc, want string }{
		"a type that is refused isn't proposed": {
			strings.Replace(pipeline, "type: Custom", "type: Ci", 1), `stages[0].stage.type: found "Ci"; want one of Deployment, Approval, Custom, Pipeline; CI isn't supported [WRONG_VALUE]`,
		},
		"a type that is like one that is refused": {
			strings.Replace(pipeline, "type: Custom", "type: CD", 1), `stages[0].stage.type: found "CD"; want one of Deployment, Approval, Custom, Pipeline [WRONG_VALUE]`,
		},
		"a type that is like one that is there": {
			strings.Replace(pipeline, "type: Custom", "type: Custum", 1), `stages[0].stage.type: found "Custum"; want one of Deployment, Approval, Custom, Pipeline; did you mean "Custom"? [WRONG_VALUE]`,
		},
		"a step type that is there": {
			strings.Replace(pipeline, step, "type: Wiat", 1), `stages[0].stage.spec.execution.steps[0].step.type: unknown step type "Wiat"; did you mean "Wait"? [UNKNOWN_STEP_TYPE]`,
		},
		"a step type that is refused isn't proposed": {
			strings.Replace(pipeline, step, "type: TerraformPlans", 1), `stages[0].stage.spec.execution.steps[0].step.type: unknown step type "TerraformPlans" [UNKNOWN_STEP_TYPE]`,
		},
		"a step type that is refused, in other letters": {
			strings.Replace(pipeline, step, "type: terraformplan", 1), `stages[0].stage.spec.execution.steps[0].step.type: unknown step type "terraformplan"; TerraformPlan isn't supported [UNKNOWN_STEP_TYPE]`,
		},
		"a key that is refused isn't proposed": {
			strings.Replace(pipeline, "identifier: p,", "identifier: p, propertis: {a: b},", 1), `propertis: warning: unknown key "propertis" [UNKNOWN_KEY]`,
		},
		"a key that is there": {
			strings.Replace(pipeline, "identifier: p,", "identifier: p, timout: 1h,", 1), `timout: warning: unknown key "timout"; did you mean "timeout"? [UNKNOWN_KEY]`,
		},
		"a type of connector that is known": {
			connector("Prometheus"), `type: connector type Prometheus isn't supported yet: nothing verifies deployments by what others measure [UNSUPPORTED]`,
		},
		"another": {connector("Codecommit"), `type: connector type Codecommit isn't supported yet: a connector of the type Git reaches the same repositories [UNSUPPORTED]`},
		"an organization with a placeholder": {
			strings.Replace(pipeline, "identifier: p,", `identifier: p, orgIdentifier: "${HARNESS_ORG}",`, 1),
			`orgIdentifier: organization "${HARNESS_ORG}" has the placeholder ${HARNESS_ORG}, which was left in; put the value there [WRONG_SCOPE]`,
		},
		"a project with a blank": {
			strings.Replace(pipeline, "identifier: p,", `identifier: p, projectIdentifier: a b,`, 1),
			`projectIdentifier: project "a b" can't have " "; it may have letters, digits, _, $ and - [WRONG_SCOPE]`,
		},
		"a reference with a placeholder": {
			"infrastructureDefinition: {identifier: i, name: i, environmentRef: <ENV>, deploymentType: Kubernetes, type: KubernetesDirect, spec: {connectorRef: c, namespace: n, releaseName: r}}",
			`environmentRef: environment "<ENV>" has the placeholder <ENV>, which was left in; put the value there [BAD_REFERENCE]`,
		},
		"a name with a slash": {strings.Replace(pipeline, "name: p,", "name: a/b,", 1), `name: name "a/b" can't have "/"; it may have letters, digits, spaces, dots, _ and - [BAD_NAME]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scope := project
			if strings.Contains(tt.doc, "orgIdentifier") {
				scope.Org, scope.Project = "", ""
			}
			if strings.Contains(tt.doc, "projectIdentifier") {
				scope.Project = ""
			}
			_, report := decode("", []byte(tt.doc), scope)
			got := lines(report)
			for at := range strings.SplitSeq(got, "\n") {
				_, got, _ = strings.Cut(at, " ") // the line and the column
				break
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, lines(report))
			}
		})
	}
}
