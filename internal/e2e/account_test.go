package e2e_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
)

// delegateOf starts a delegate that finds the credentials of an account around it.
func delegateOf(t *testing.T, s *e2e.Server, w *testaws.World, more ...string) *process {
	t.Helper()
	return spawn(t, append([]string{
		delegateEnv + "=account", addrEnv + "=" + s.URL, tokenEnv + "=" + delegateToken(t, s),
		"AWS_ENDPOINT_URL=" + w.Endpoint, "AWS_ACCESS_KEY_ID=AKIA", "AWS_SECRET_ACCESS_KEY=s", "AWS_EC2_METADATA_DISABLED=true",
	}, more...)...)
}

// byTheAccounts has the delegate of an account do what entities need: a host's own
// has no credentials of it.
func byTheAccounts(entities string) string {
	const connector = "  type: Aws\n  spec:\n"
	return strings.Replace(entities, connector, connector+"    delegateSelectors: [account]\n", 1)
}

// awsPipeline deploys the service web<id> to the infrastructure <id> of examples/<id>
// by a step, whose output it says, then runs a script, and rolls back if any of that
// should fail.
func awsPipeline(id, deploymentType, deploy, back, output string) string {
	return strings.NewReplacer("ID", id, "TYPE", deploymentType, "DEPLOY", deploy, "BACK", back, "OUTPUT", output).Replace(`pipeline:
  identifier: ID
  name: ID
  orgIdentifier: default
  projectIdentifier: default_project
  variables:
    - {name: script, type: String, value: <+input>}
  stages:
    - stage:
        identifier: deploy
        name: deploy
        type: Deployment
        failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: StageRollback}}}]
        spec:
          deploymentType: TYPE
          service: {serviceRef: webID}
          environment: {environmentRef: dev, infrastructureDefinitions: [{identifier: ID}]}
          execution:
            steps:
              - step: {identifier: roll, name: Roll, type: DEPLOY, timeout: 5m, spec: {}}
              - step:
                  identifier: check
                  name: Check
                  type: ShellScript
                  timeout: 1m
                  spec: {shell: Bash, onDelegate: true, source: {type: Inline, spec: {script: "echo <+execution.steps.roll.output.OUTPUT>; <+pipeline.variables.script>"}}}
            rollbackSteps:
              - step: {identifier: back, name: Back, type: BACK, timeout: 5m, spec: {}}
`)
}

// phasedPipeline deploys the service web<id> to the infrastructure <id> of examples/<id>
// in phases: a step makes what the machines move to, whose name it says, and another
// one moves them. Then it runs a script, and rolls back if any of that should fail.
func phasedPipeline(id, deploymentType, setup, spec, deploy, amount, output, back string) string {
	return strings.NewReplacer("ID", id, "TYPE", deploymentType, "SETUP", setup, "SPEC", spec, "DEPLOY", deploy, "AMOUNT", amount, "OUTPUT", output, "BACK", back).Replace(`pipeline:
  identifier: ID
  name: ID
  orgIdentifier: default
  projectIdentifier: default_project
  variables:
    - {name: script, type: String, value: <+input>}
  stages:
    - stage:
        identifier: deploy
        name: deploy
        type: Deployment
        failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: StageRollback}}}]
        spec:
          deploymentType: TYPE
          service: {serviceRef: webID}
          environment: {environmentRef: dev, infrastructureDefinitions: [{identifier: ID}]}
          execution:
            steps:
              - step: {identifier: setup, name: Setup, type: SETUP, timeout: 5m, spec: SPEC}
              - step: {identifier: canary, name: Canary, type: DEPLOY, timeout: 5m, spec: {AMOUNT: {type: Percentage, spec: {percentage: 50}}}}
              - step: {identifier: all, name: All, type: DEPLOY, timeout: 5m, spec: {AMOUNT: {type: Count, spec: {count: 2}}}}
              - step:
                  identifier: check
                  name: Check
                  type: ShellScript
                  timeout: 1m
                  spec: {shell: Bash, onDelegate: true, source: {type: Inline, spec: {script: "echo <+execution.steps.setup.output.OUTPUT>; <+pipeline.variables.script>"}}}
            rollbackSteps:
              - step: {identifier: back, name: Back, type: BACK, timeout: 5m, spec: {}}
`)
}
