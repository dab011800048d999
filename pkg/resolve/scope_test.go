package resolve_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

const pipelineYAML = `
identifier: web
name: Web
tags: {team: blue}
variables:
  - {name: v, type: String, value: ABC}
  - {name: env, type: String, value: dev}
  - {name: version, type: String, value: 5.60}
  - {name: deep, type: String, value: "<+pipeline.variables.v>-<+pipeline.variables.env>"}
  - {name: round, type: String, value: "<+pipeline.variables.trip>"}
  - {name: trip, type: String, value: "<+pipeline.variables.round>"}
  - {name: w1, type: String, value: "<+pipeline.variables.w2><+pipeline.variables.w2>"}
  - {name: w2, type: String, value: "<+pipeline.variables.w3><+pipeline.variables.w3>"}
  - {name: w3, type: String, value: "<+pipeline.variables.w4><+pipeline.variables.w4>"}
  - {name: w4, type: String, value: "<+pipeline.variables.w5><+pipeline.variables.w5>"}
  - {name: w5, type: String, value: "<+pipeline.variables.w6><+pipeline.variables.w6>"}
  - {name: w6, type: String, value: "<+pipeline.variables.w7><+pipeline.variables.w7>"}
  - {name: w7, type: String, value: "<+pipeline.variables.w8><+pipeline.variables.w8>"}
  - {name: w8, type: String, value: "<+pipeline.variables.w9><+pipeline.variables.w9>"}
  - {name: w9, type: String, value: "<+pipeline.variables.w10><+pipeline.variables.w10>"}
  - {name: w10, type: String, value: "<+pipeline.variables.w11><+pipeline.variables.w11>"}
  - {name: w11, type: String, value: "<+pipeline.variables.w12><+pipeline.variables.w12>"}
  - {name: w12, type: String, value: "<+pipeline.variables.w13><+pipeline.variables.w13>"}
  - {name: w13, type: String, value: "<+pipeline.variables.w14><+pipeline.variables.w14>"}
  - {name: w14, type: String, value: "<+pipeline.variables.w15><+pipeline.variables.w15>"}
  - {name: w15, type: String, value: "<+pipeline.name>"}
  - {name: n, type: Number, value: "3"}
  - {name: token, type: Secret, value: account.token}
stages:
  - stage:
      identifier: build
      name: Build
      type: Custom
      variables:
        - {name: flavour, type: String, value: "<+pipeline.variables.v.toLowerCase()>"}
      spec:
        execution:
          steps:
            - step: {identifier: make, name: make, type: ShellScript, spec: {shell: Bash, outputAlias: {key: built, scope: Pipeline}, environmentVariables: [{name: A, type: String, value: "<+stage.name>"}]}}
            - step: {identifier: ask, name: ask, type: HarnessApproval, spec: {}}
            - step: {identifier: later, name: later, type: ShellScript, spec: {}}
            - stepGroup:
                identifier: g
                name: G
                variables: [{name: replicas, type: String, value: 9}]
                steps:
                  - step: {identifier: inner, name: inner, type: ShellScript, spec: {}}
                  - step: {identifier: other, name: other, type: ShellScript, spec: {}}
  - stage:
      identifier: deploy
      name: Deploy
      type: Deployment
      spec:
        deploymentType: Kubernetes
        execution:
          steps:
            - step: {identifier: roll, name: roll, type: K8sRollingDeploy, spec: {}}
            - stepGroup:
                identifier: outer
                name: Outer
                variables: [{name: replicas, type: String, value: 7}, {name: host, type: String, value: outer}]
                steps:
                  - stepGroup:
                      identifier: within
                      name: Within
                      variables: [{name: replicas, type: String, value: 8}]
                      steps:
                        - step: {identifier: deep, name: deep, type: ShellScript, spec: {outputAlias: {key: deep, scope: StepGroup}}}
          rollbackSteps:
            - step: {identifier: back, name: back, type: K8sRollingRollback, spec: {}}
`

const serviceYAML = `
identifier: shop
name: Shop
tags: {tier: gold}
serviceDefinition:
  type: Kubernetes
  spec:
    variables:
      - {name: replicas, type: String, value: 2}
      - {name: host, type: String, value: "shop-<+env.name>.example.com"}
      - {name: a.b, type: String, value: dotted}
    manifests:
      - manifest: {identifier: over, type: Values, spec: {}}
      - manifest: {identifier: patch, type: KustomizePatches, spec: {}}
      - manifest: {identifier: main, type: K8sManifest, spec: {}}
    artifacts:
      primary:
        primaryArtifactRef: hub
        sources:
          - {identifier: other, type: DockerRegistry, spec: {connectorRef: hub, imagePath: x/y, tag: "1"}}
          - {identifier: hub, type: DockerRegistry, spec: {connectorRef: hub, imagePath: library/nginx, tag: "<+pipeline.variables.env>"}}
`

const environmentYAML = `
identifier: dev
name: Dev
type: PreProduction
variables:
  - {name: replicas, type: String, value: 5}
`

const infrastructureYAML = `
identifier: local
name: Local
type: KubernetesDirect
spec:
  connectorRef: cluster
  namespace: shop-<+env.name.toLowerCase()>
  releaseName: release-<+INFRA_KEY_SHORT_ID>
`

const hubYAML = `
connector:
  identifier: hub
  name: hub
  type: DockerRegistry
  spec: {dockerRegistryUrl: "https://index.docker.io/v2/", providerType: DockerHub, auth: {type: Anonymous}}
`

// entities serves one connector and a few variables.
type entities struct{ store.Entities }

func (entities) Entity(_ context.Context, k store.EntityKey) (store.Entity, error) {
	if k.Kind == ref.Variable && (k.ID == "region" || k.ID == "company" && k.Scope == (ref.Scope{Account: "acme"})) {
		return store.Entity{Key: k, YAML: []byte("variable: {spec: {valueType: FIXED, fixedValue: " + k.ID + " of " + k.Scope.String() + "}}")}, nil
	}
	if k.Kind == ref.Variable && k.ID == "size" {
		return store.Entity{Key: k, YAML: []byte("variable: {spec: {valueType: FIXED_SET, defaultValue: small, allowedValues: [small, large]}}")}, nil
	}
	if k == (store.EntityKey{Scope: ref.Scope{Account: "acme", Org: "default"}, Kind: ref.Project, ID: "web"}) {
		return store.Entity{Key: k, YAML: []byte("project: {name: Web shop, description: What customers see, tags: {team: blue}}")}, nil
	}
	if k.Kind != ref.Connector || k.ID != "hub" {
		return store.Entity{}, fault.New(fault.NotFound, "no %s", k.ID)
	}
	return store.Entity{Key: k, YAML: []byte(hubYAML)}, nil
}

func parse(tb testing.TB, text string) *yamldoc.Node {
	tb.Helper()
	docs, report := yamldoc.Parse("test.yaml", []byte(text))
	if err := report.Err(); err != nil {
		tb.Fatal(err)
	}
	return docs[0]
}

// pipelineOf is a pipeline's document below its root key, decoded.
func pipelineOf(tb testing.TB, text string) *entity.Pipeline {
	tb.Helper()
	return entity.DecodePart(ref.Pipeline, parse(tb, text), yamldoc.NewReport(""), entity.Options{Types: builtin.Types()}).Pipeline
}

func scopeAt(tb testing.TB, node plan.NodeID) *resolve.Scope {
	tb.Helper()
	p, err := planning.Build(planning.Source{
		Pipeline: pipelineOf(tb, pipelineYAML),
		Deployments: map[string]*plan.Deployment{"deploy": {
			Type: "Kubernetes", ServiceRef: "shop", EnvironmentRef: "dev",
			Service: parse(tb, serviceYAML), Environment: parse(tb, environmentYAML), Infrastructure: parse(tb, infrastructureYAML),
		}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	n := p.Node(node)
	if n == nil {
		tb.Fatalf("the plan has no node %s", node)
	}
	states := map[plan.NodeID]plan.State{
		"pipeline.stages.build": {Status: plan.Success, StartedAt: time.Unix(10, 0)},
		"pipeline.stages.build.spec.execution.steps.make": {
			Status: plan.Success, Attempt: 3, EndedAt: time.Unix(20, 0),
			Outputs: []byte(`{"output":{"outputVariables":{"x":"one,two","t":{"$secret":"output/1"}},"exitCode":0}}`),
		},
		"pipeline.stages.build.spec.execution.steps.g.steps.inner": {
			Status: plan.Success, Outputs: []byte(`{"output":{"outputVariables":{"y":"inner"}}}`),
		},
		"pipeline.stages.build.spec.execution.steps.ask": {
			Status: plan.Success, EndedAt: time.Unix(30, 0), Approval: &plan.Approval{},
			Outputs: []byte(`{"output":{"approvalActivities":[{"user":{"name":"bo","email":"bo@example.com"},"comments":"fine"}]}}`),
		},
		"pipeline.stages.build.spec.execution.steps.later": {Status: plan.Skipped},
		"pipeline.stages.deploy":                           {Status: plan.Running, Worst: plan.Failed},
	}
	return resolve.New(resolve.Config{
		Types: builtin.Types(), Context: tb.Context(), Plan: p, Node: n, Entities: entities{}, Now: time.Unix(1000, 0),
		State: func(id plan.NodeID) plan.State { return states[id] },
		Execution: store.Execution{
			ID: "x1", Sequence: 7, Actor: "ann", StartedAt: time.Unix(5, 0),
			Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"},
		},
	})
}

func TestNamesOfAStep(t *testing.T) {
	t.Parallel()
	const (
		later = "pipeline.stages.build.spec.execution.steps.later"
		other = "pipeline.stages.build.spec.execution.steps.g.steps.other"
		roll  = "pipeline.stages.deploy.spec.execution.steps.roll"
		back  = "pipeline.stages.deploy.spec.execution.rollbackSteps.back"
		deep  = "pipeline.stages.deploy.spec.execution.steps.outer.steps.within.steps.deep"
	)
	tests := []struct {
		name string
		at   plan.NodeID
		text string
		want string
	}{
		{"pipeline §14.1 a method on a nested expression", later, "<+<+pipeline.variables.v>.toLowerCase()>", "abc"},
		{"pipeline §14.1 a method on a path", later, "<+pipeline.variables.v.toLowerCase()>", "abc"},
		{"pipeline §14.3 a ternary doesn't evaluate what it doesn't take", later, `<+<+pipeline.triggerType> == "MANUAL" ? <+pipeline.executionId>:<+trigger.commitSha>>`, "x1"},
		{"pipeline §14.5 an output of a skipped step is null", other, "<+execution.steps.later.output.outputVariables.x>", "null"},
		{"pipeline §14.8 a number in a text", later, "/tmp/<+pipeline.sequenceId>", "/tmp/7"},
		{"pipeline §1.5 a variable may refer to others", later, "<+pipeline.variables.deep>", "ABC-dev"},
		{"pipeline §1.5 a String keeps its digits", later, "<+pipeline.variables.version>", "5.60"},
		{"pipeline §1.5 a Number is one", later, "<+<+pipeline.variables.n> + 1>", "4"},
		{"pipeline §1.5 a stage's variable by its full name", roll, "<+pipeline.stages.build.variables.flavour>", "abc"},
		{"pipeline §3.5 the own stage", later, "<+stage.variables.flavour>/<+stage.identifier>/<+stage.type>", "abc/build/Custom"},
		{"pipeline §3.5 an output by steps", later, "<+steps.make.output.outputVariables.x>", "one,two"},
		{"pipeline §3.5 steps are looked for outwards from a group", other, "<+steps.inner.output.outputVariables.y> <+steps.make.output.exitCode>", "inner 0"},
		{"pipeline §3.5 the group", other, "<+stepGroup.identifier>", "g"},
		{"pipeline §3.5 an output by the full name, from another stage", roll, "<+pipeline.stages.build.spec.execution.steps.g.steps.inner.output.outputVariables.y>", "inner"},
		{"pipeline §3.5 a method after an output", later, `<+steps.make.output.outputVariables.x.split(",")[1]>`, "two"},
		{"pipeline §3.5 a list by name, resolved", later, "<+execution.steps.make.spec.environmentVariables.A>", "Build"},
		{"pipeline §3.6 retryCount", later, "<+steps.make.retryCount>", "2"},
		{"pipeline §3.7 a status", later, `<+<+steps.make.status> == "SUCCEEDED"> <+steps.later.status>`, "true SKIPPED"},
		{"pipeline §3.6 the pipeline", later, "<+pipeline.name> <+pipeline.tags.team> <+pipeline.triggeredBy.name> <+pipeline.startTs>", "Web blue ann 5000"},
		{"pipeline §3.6 scopes", later, "<+account.identifier>/<+org.identifier>/<+project.identifier>", "acme/default/web"},
		{"entities §1 the record of a project", later, "<+project.name>: <+project.description> by <+project.tags.team>, <+<+project.tags>.team>", "Web shop: What customers see by blue, blue"},
		{"entities §1 what has no record is called by its identifier", later, "<+org.name>, <+account.name>", "default, acme"},
		{"pipeline §3.6 service, environment and infrastructure", roll, "<+service.name> <+service.type> <+service.tags.tier> <+env.name> <+env.type> <+infra.name> <+infra.namespace>", "Shop Kubernetes gold Dev PreProduction Local shop-dev"},
		{"entities §2.1 a service variable that needs the environment", roll, "<+serviceVariables.host>", "shop-Dev.example.com"},
		{"entities §7 the environment overrides the service", roll, "<+serviceVariables.replicas>", "5"},
		{"entities §2.1 a name with a dot", roll, `<+serviceVariables.get("a.b")>`, "dotted"},
		{"entities §17.7 primaryArtifactRef chooses; entities §17.9 Docker Hub", roll, "<+artifact.identifier> <+artifact.image>", "hub index.docker.io/library/nginx:dev"},
		{"entities §2.2 both prefixes", roll, "<+artifacts.primary.tag>", "dev"},
		{"entities §4 the key: sha1 of shop-dev-cluster-shop-dev", roll, "<+infra.releaseName>", "release-8f9e33"},
		{"pipeline §1.5 variables of the scopes", later, "<+variable.region>, <+variable.org.region>, <+variable.account.region>", "region of acme/default/web, region of acme/default, region of acme"},
		{"pipeline §1.5 a variable with its default", later, "<+variable.size>", "small"},
		{"pipeline §1.5 a variable that was deleted", later, "<+variable.company> <+variable.account.none>", "null null"},
		{"pipeline §3.5 a step by its identifier alone", later, "<+make.output.outputVariables.x> <+g.steps.inner.output.outputVariables.y>", "one,two inner"},
		{"pipeline §3.5 the identifier in the own group comes first", other, "<+inner.output.outputVariables.y>", "inner"},
		{"pipeline §3.6 what people said", later, "<+approval.approvalActivities[0].user.name>: <+approval.approvalActivities[0].comments>", "bo: fine"},
		{"pipeline §3.6 no approval has been given", roll, "<+approval.approvalActivities>", "null"},
		{"pipeline §3.6 OnStageSuccess and its like", back, "<+OnStageSuccess> <+OnStageFailure> <+OnPipelineSuccess> <+OnPipelineFailure> <+Always>", "false true true false true"},
		{"pipeline §3.6 the older name of the execution's URL", later, "<+pipeline.execution.url>", "null"},
		{"pipeline §3.6 step groups override a service's variables, inner ones first", deep, "<+serviceVariableOverrides.replicas> <+serviceVariableOverrides.host> <+serviceVariableOverrides.get(\"a.b\")>", "8 outer dotted"},
		{"pipeline §3.6 without an override it is the effective one", roll, "<+serviceVariableOverrides.replicas>", "5"},
		{"pipeline §3.6 an artifact's metadata", roll, "<+artifact.metadata.image> <+artifacts.primary.metadata.tag> <+artifact.metadata.SHA>", "index.docker.io/library/nginx:dev dev null"},
		{"pipeline §3.6 the main manifest", roll, "<+manifestConfig.primaryManifestId> <+manifests.main.type>", "main K8sManifest"},
		{"pipeline §3.4 outputs that were exported", roll, `<+exportedVariables.getValue("pipeline.built.x")>`, "one,two"},
		{"pipeline §3.4 all outputs of an alias", roll, `<+exportedVariables.getValue("pipeline.built").x.split(",")[1]>`, "two"},
		{"pipeline §3.4 an export that hasn't run is null", deep, `<+exportedVariables.getValue("stepGroup.deep.x")>`, "null"},
		{"pipeline §3.6 a rollback step sees the deployment", back, "<+infra.namespace>", "shop-dev"},
		{"pipeline §3.6 the execution", later, "<+pipeline.executionMode> <+pipeline.resumedExecutionId> <+pipeline.orgIdentifier> <+pipeline.projectIdentifier> <+pipeline.storeType> <+pipeline.endTs>", "NORMAL x1 default web inline null"},
		{"pipeline §3.6 the stages that run", later, "<+pipeline.selectedStages[0]> <+pipeline.selectedStages[1]>", "build deploy"},
		{"pipeline §3.6 all of the pipeline's document", later, "<+<+pipeline>.tags.team>", "blue"},
		{"pipeline §3.6 the infrastructure by its type's name", roll, "<+infra.infraIdentifier> <+infra.kubernetes.namespace>", "local shop-dev"},
		{"pipeline §3.6 an environment that no group brought", roll, "<+env.envGroupName> <+env.envGroupRef>", "null null"},
		{"pipeline §3.6 older names of a service", roll, "<+serviceConfig.service.name> <+serviceConfig.serviceDefinition.spec.variables.replicas>", "Shop 5"},
		{"pipeline §3.6 all variables of a service", roll, "<+<+serviceVariables>.replicas>", "5"},
		{"pipeline §3.6 what Slipway doesn't keep of a scope", later, "<+account.description> <+project.tags.any>", "null null"},
		{"kubernetes §4.1 the release number is left to the delegate", roll, "v<+kubernetes.release.revision>", "v<+kubernetes.release.revision>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := scopeAt(t, tt.at).Text(tt.text)
			if err != nil || got != tt.want {
				t.Errorf("%s\n got %q, %v\nwant %q", tt.text, got, err, tt.want)
			}
		})
	}
}

// semantics/pipeline §3.6: what an execution is of tells a condition what is rolled
// back.
func TestTheModeOfAnExecution(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*resolve.Scope){
		"NORMAL x0":                  func(s *resolve.Scope) { s.Execution.RetryOf = "x0" },
		"POST_EXECUTION_ROLLBACK x1": func(s *resolve.Scope) { s.Execution.RollbackOf = "x0" },
		"PIPELINE_ROLLBACK x1": func(s *resolve.Scope) {
			s.State = func(id plan.NodeID) plan.State { return plan.State{Rollback: id == "pipeline"} }
		},
	} {
		s := scopeAt(t, "pipeline.stages.build.spec.execution.steps.later")
		change(s)
		if got, err := s.Text("<+pipeline.executionMode> <+pipeline.resumedExecutionId>"); err != nil || got != want {
			t.Errorf("it is %q (%v); want %q", got, err, want)
		}
	}
}

// A function says how many arguments it takes.
func TestArgumentsOfFunctions(t *testing.T) {
	t.Parallel()
	const roll = "pipeline.stages.deploy.spec.execution.steps.roll"
	for text, want := range map[string]string{
		"<+secrets.getValue()>":                           "secrets.getValue takes one argument",
		`<+secrets.getValue("a", "b")>`:                   "secrets.getValue takes one argument",
		`<+configFile.getAsString()>`:                     "takes one argument, the config file's identifier",
		`<+exportedVariables.getValue("a", "b")>`:         "exportedVariables.getValue takes one argument",
		`<+exportedVariables.getValue("pipeline")>`:       "want the scope, the alias",
		`<+exportedVariables.getValue("planet.built.x")>`: `the scope is "planet"; want pipeline, stage or stepGroup`,
	} {
		if got, err := scopeAt(t, roll).Text(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gave %q, error %v; want %s", text, got, err, want)
		}
	}
}

func TestWhatDoesNotExistIsAnError(t *testing.T) {
	t.Parallel()
	const later = "pipeline.stages.build.spec.execution.steps.later"
	tests := []struct{ name, text, want string }{
		{"pipeline §14.4 an unknown variable, even in a comment", "# <+pipeline.variables.undefined>", `"undefined"`},
		{"an unknown variable where there are none", "<+pipeline.stages.deploy.variables.x>", `"x"`},
		{"an unknown export", `<+exportedVariables.getValue("pipeline.nope.x")>`, `"nope"`},
		{"an export in another scope", `<+exportedVariables.getValue("stage.built.x")>`, `"built"`},
		{"an unknown step", "<+steps.nope.output.x>", `"nope"`},
		{"an unknown stage", "<+pipeline.stages.nope.status>", `"nope"`},
		{"an unknown root", "<+nonsense.x>", "nonsense"},
		{"a stage that deploys nothing has no environment", "<+env.name>", "deploys nothing"},
		{"a field of the account that there isn't", "<+account.colour>", "it has identifier and name"},
		{"a field of a loop where there is none", "<+strategy.iteration>", "nothing around it loops"},
		{"a variable without its name", "<+variable>", "variable needs a name"},
		{"pipeline §1.5 a cycle", "<+pipeline.variables.round>", "pipeline.variables."},
		{"values that double at every level", "<+pipeline.variables.w1>", "too often"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := scopeAt(t, later).Text(tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s gave %q, error %v; want one about %s", tt.text, got, err, tt.want)
			}
			if code := fault.CodeOf(err); code != fault.UnresolvedExpression {
				t.Errorf("code %s, want %s", code, fault.UnresolvedExpression)
			}
		})
	}
}

// semantics/pipeline §14.6 and §14.7: in a stage's own condition the
// environment isn't known yet.
func TestAStageConditionHasNoEnvironment(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{`<+env.name> == "prod"`: false, `<+env.name> != "prod"`: true} {
		got, err := scopeAt(t, "pipeline.stages.deploy").Condition(body)
		if err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", body, got, err, want)
		}
	}
}

// semantics/pipeline §14.11: a secret is a placeholder wherever it goes, and
// its name is known.
func TestSecretsArePlaceholders(t *testing.T) {
	t.Parallel()
	s := scopeAt(t, "pipeline.stages.build.spec.execution.steps.later")
	text := `<+secrets.getValue("a_" + <+pipeline.variables.env>)> <+pipeline.variables.token> <+steps.make.output.outputVariables.t>`
	got, err := s.Text(text)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for placeholder, name := range s.Secrets() {
		if !strings.Contains(got, placeholder) {
			t.Errorf("%q has no placeholder of %s", got, name)
		}
		names[name] = true
	}
	for _, want := range []string{"secret:acme/default/web:a_dev", "secret:acme:token", "output/1"} {
		if !names[want] {
			t.Errorf("secrets are %v; %s is missing", names, want)
		}
	}
}
