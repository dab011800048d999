package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// shop saves two services and two environments with an infrastructure each.
const shop = `connector: {identifier: cluster, name: cluster, type: K8sCluster, spec: {credential: {type: InheritFromDelegate}, delegateSelectors: [embedded]}}
---
service:
  identifier: web
  name: The web
  serviceDefinition:
    type: Kubernetes
    spec: {variables: [{name: port, type: String, value: "80"}, {name: size, type: String, value: <+input>}]}
---
service:
  identifier: api
  name: The API
  tags: {tier: gold}
  serviceDefinition:
    type: Kubernetes
    spec: {variables: [{name: port, type: String, value: "90"}]}
---
environment: {identifier: dev, name: Development, type: PreProduction, variables: [{name: who, type: String, value: <+service.name> in <+env.name>}]}
---
environment: {identifier: prod, name: Production, type: Production, variables: [{name: who, type: String, value: <+service.name> for all}]}
---
infrastructureDefinition:
  identifier: eu
  name: Europe
  environmentRef: dev
  deploymentType: Kubernetes
  type: KubernetesDirect
  spec: {connectorRef: cluster, namespace: dev-eu, releaseName: release-<+INFRA_KEY_SHORT_ID>}
---
infrastructureDefinition:
  identifier: eu
  name: Europe
  environmentRef: prod
  deploymentType: Kubernetes
  type: KubernetesDirect
  spec: {connectorRef: cluster, namespace: prod-eu, releaseName: release-<+INFRA_KEY_SHORT_ID>}
`

// deploying is a pipeline of one Deployment stage, whose one step says what it
// deploys where.
func deploying(id, target, more string) string {
	return strings.NewReplacer("ID", id, "TARGET", target, "MORE", more).Replace(`pipeline:
  identifier: ID
  name: ID
  variables: [{name: to, type: String, value: <+input>.default(dev)}]
  stages:
    - stage:
        identifier: s
        name: S
        type: Deployment
        MORE
        spec:
          deploymentType: Kubernetes
          TARGET
          execution:
            steps:
              - step:
                  identifier: say
                  name: Say
                  type: ShellScript
                  timeout: 1m
                  spec:
                    shell: Bash
                    onDelegate: true
                    source: {type: Inline, spec: {script: 'echo "said <+service.identifier>:<+serviceVariables.port> <+env.variables.who> <+infra.namespace>"'}}
        failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: MarkAsFailure}}}]
`)
}

// said lists what the iterations of the stage s said, by their identifiers.
func said(t *testing.T, s *e2e.Server, e e2e.Execution) []string {
	t.Helper()
	var out []string
	for _, c := range e.Root.Find("s").Children {
		line := c.Identifier + " " + c.Status
		if n := c.Find("say"); n != nil {
			for text := range strings.Lines(logOf(t, s, e.ID, n)) {
				if _, what, ok := strings.Cut(text, "said "); ok {
					line += ": " + strings.TrimSpace(what)
				}
			}
		}
		out = append(out, line)
	}
	return out
}

// A service, an environment and an infrastructure may be chosen by
// expressions, in a matrix too (semantics/entities §5).
func TestExpressionsChooseWhatIsDeployed(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true, Tags: []string{"embedded"}})
	s.Apply(t, shop)
	s.Apply(t, deploying("each", `service: {serviceRef: <+matrix.service>, serviceInputs: {serviceDefinition: {type: Kubernetes, spec: {variables: [{name: size, type: String, value: S}]}}}}
          environment: {environmentRef: <+matrix.env>, infrastructureDefinitions: [{identifier: '<+pipeline.variables.to.replace("dev", "eu")>'}]}`,
		"strategy: {matrix: {service: [web, api], env: [dev, prod]}}"))
	want := []string{
		"s_0_0 Success: web:80 The web in Development dev-eu", "s_0_1 Success: web:80 The web for all prod-eu",
		"s_1_0 Success: api:90 The API in Development dev-eu", "s_1_1 Success: api:90 The API for all prod-eu",
	}
	if diff := cmp.Diff(want, said(t, s, run(t, s, "each", "Success", nil))); diff != "" {
		t.Errorf("iterations (-want +got):\n%s", diff)
	}

	s.Apply(t, deploying("one", `service: {serviceRef: api}
          environment: {environmentRef: <+pipeline.variables.to>, infrastructureDefinitions: [{identifier: eu}]}`, ""))
	e := run(t, s, "one", "Failed", map[string]string{"variables.to": "moon"})
	if stage := e.Root.Find("s"); !strings.Contains(stage.Message, `there is no environment "moon" in default/default/default_project`) {
		t.Errorf("the stage says %q", stage.Message)
	}
}

// semantics/entities §5.2 and §5.3: the deployments of a stage with several, in
// their order, as far as names say.
func TestStagesWithSeveralDeployments(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true, Tags: []string{"embedded"}})
	s.Apply(t, shop+`---
infrastructureDefinition:
  identifier: us
  name: America
  tags: {tier: gold}
  environmentRef: dev
  deploymentType: Kubernetes
  type: KubernetesDirect
  scopedServices: [api]
  spec: {connectorRef: cluster, namespace: dev-us, releaseName: <+INFRA_KEY_SHORT_ID>}
---
infrastructureDefinition: {identifier: helm, name: Helm, environmentRef: dev, deploymentType: NativeHelm, type: KubernetesDirect, spec: {connectorRef: cluster, namespace: x, releaseName: x}}
---
environmentGroup: {identifier: west, name: The West, envIdentifiers: [dev, prod]}
`)
	sized := `{serviceRef: web, serviceInputs: {serviceDefinition: {type: Kubernetes, spec: {variables: [{name: size, type: String, value: S}]}}}}`
	both := "services: {values: [" + sized + ", {serviceRef: '<+pipeline.variables.to.replace(\"dev\", \"api\")>'}]%s}"
	tests := []struct{ id, target, want string }{
		{
			"to_all", fmt.Sprintf(both, "") + "\n          environment: {environmentRef: dev, deployToAll: true}",
			"web:80 eu dev-eu, api:90 eu dev-eu, api:90 us dev-us",
		},
		{
			"services_first", fmt.Sprintf(both, "") + `
          environments: {metadata: {parallel: true}, values: [{environmentRef: dev, infrastructureDefinitions: [{identifier: eu}]}, {environmentRef: prod, deployToAll: true}]}`,
			"web:80 eu dev-eu, web:80 eu prod-eu, api:90 eu dev-eu, api:90 eu prod-eu",
		},
		{
			"group", `service: {serviceRef: api}
          environmentGroup: {envGroupRef: west, deployToAll: true}
          multiDeploymentConfig: {maxConcurrency: 1}`,
			"api:90 eu dev-eu, api:90 us dev-us, api:90 eu prod-eu",
		},
		{
			"filtered", `service: {serviceRef: api}
          environmentGroup: {envGroupRef: west, filters: [{identifier: f, type: tags, entities: [infrastructures], spec: {matchType: any, tags: {tier: gold, x: y}}}]}`,
			"api:90 us dev-us",
		},
		{
			"filtered_by_service", `service: {serviceRef: api}
          environments: {filters: [{identifier: f, type: tags, entities: [infrastructures], spec: {matchType: all, tags: <+service.tags>}}]}`,
			"api:90 us dev-us",
		},
	}
	for _, tt := range tests {
		s.Apply(t, strings.Replace(deploying(tt.id, tt.target, ""), "<+env.variables.who>", "<+matrix.identifier>", 1))
		var want []string
		for i, what := range strings.Split(tt.want, ", ") {
			want = append(want, fmt.Sprintf("s_%d Success: %s", i, what))
		}
		if diff := cmp.Diff(want, said(t, s, run(t, s, tt.id, "Success", nil))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.id, diff)
		}
	}
}

// semantics/entities §5.1: a stage takes the service, or the environment with
// its infrastructure, that an earlier one has chosen, and its inputs.
func TestStagesTakeWhatOthersChose(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true, Tags: []string{"embedded"}})
	s.Apply(t, shop)
	sized := `serviceInputs: {serviceDefinition: {type: Kubernetes, spec: {variables: [{name: size, type: String, value: S}]}}}`
	stage := func(id, target string) string {
		return fmt.Sprintf(`    - stage:
        {identifier: %[1]s, name: %[1]s, type: Deployment, failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: MarkAsFailure}}}],
         spec: {deploymentType: Kubernetes, %[2]s, execution: {steps: [%[3]s]}}}
`, id, target, strings.Replace(shell("say", "SAY"), "SAY", "echo said <+service.identifier> <+serviceVariables.size> <+env.identifier> <+infra.namespace>", 1))
	}
	const head = `pipeline:
  identifier: takes
  name: Takes
  allowStageExecutions: true
  variables: [{name: which, type: String, value: web}]
  stages:
`
	s.Apply(t, head+
		stage("a", `service: {serviceRef: <+pipeline.variables.which>, `+sized+`}, environment: {environmentRef: dev, infrastructureDefinitions: [{identifier: eu}]}`)+
		stage("b", `service: {useFromStage: {stage: a}}, environment: {environmentRef: prod, infrastructureDefinitions: [{identifier: eu}]}`)+
		stage("many", `services: {values: [{serviceRef: web, `+sized+`}]}, environment: {useFromStage: {stage: a}}`)+
		stage("last", `services: {useFromStage: {stage: many}}, environment: {useFromStage: {stage: b}}`))
	e := run(t, s, "takes", "Success", nil)
	for id, want := range map[string]string{"a": "web S dev dev-eu", "b": "web S prod prod-eu", "many_0": "web S dev dev-eu", "last_0": "web S prod prod-eu"} {
		n := e.Root.Find(id).Find("say")
		if text := logOf(t, s, e.ID, n); !strings.Contains(text, "said "+want) {
			t.Errorf("stage %s said %q; want %s", id, text, want)
		}
	}
	err := s.Call(t.Context(), "POST", "/v1/pipelines/takes/executions", map[string]any{"stages": []string{"b"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "stage b takes its service from stage a; run both") {
		t.Errorf("b alone: %v", err)
	}
}

// semantics/entities §8: overrides of an environment, of a service in it and
// of an infrastructure; config files and variables of the one that wins. A run
// takes overrides that came after the one before it.
func TestOverrides(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true, Tags: []string{"embedded"}})
	s.Apply(t, shop)
	say := `echo said <+serviceVariables.port> <+env.variables.who> <+configFile.getAsString("motd")> <+configFile.getAsBase64("motd")>`
	s.Apply(t, strings.Replace(deploying("over", `service: {serviceRef: api}
          environment: {environmentRef: dev, infrastructureDefinitions: [{identifier: eu}], serviceOverrideInputs: {variables: [{name: port, type: String, value: "93"}]}}`, ""),
		`'echo "said <+service.identifier>:<+serviceVariables.port> <+env.variables.who> <+infra.namespace>"'`, `'`+say+`'`, 1))
	s.Apply(t, `overrides: {type: ENV_GLOBAL_OVERRIDE, environmentRef: dev, spec: {variables: [{name: who, type: String, value: nobody}, {name: port, type: String, value: "91"}], configFiles: [{configFile: {identifier: motd, spec: {store: {type: Inline, spec: {content: port <+serviceVariables.port>}}}}}]}}`)
	check := func(want string) {
		t.Helper()
		e := run(t, s, "over", "Success", nil)
		if text := logOf(t, s, e.ID, e.Root.Find("say")); !strings.Contains(text, "said "+want) {
			t.Errorf("it said %q; want %s", text, want)
		}
	}
	check("91 nobody port 91 cG9ydCA5MQ==")
	s.Apply(t, `overrides: {type: ENV_SERVICE_OVERRIDE, environmentRef: dev, serviceRef: api, variables: [{name: port, type: String, value: <+input>}]}`)
	check("93 nobody port 93 cG9ydCA5Mw==")
	s.Apply(t, `overrides: {type: INFRA_SERVICE_OVERRIDE, environmentRef: dev, serviceRef: api, infraIdentifier: eu, spec: {variables: [{name: port, type: String, value: "94"}]}}`)
	check("94 nobody port 94 cG9ydCA5NA==")
}
