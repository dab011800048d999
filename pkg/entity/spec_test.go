package entity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// one decodes a document.
func one(t *testing.T, text string, o entity.Options) (*entity.Entity, *yamldoc.Report) {
	t.Helper()
	docs, report := yamldoc.Parse("", []byte(text))
	if len(docs) != 1 {
		t.Fatalf("found %d documents:\n%s", len(docs), lines(report))
	}
	o.Types = builtin.Types()
	return entity.Decode(docs[0], report, o), report
}

const gitManifest = `
service:
  name: web
  identifier: web
  serviceDefinition:
    type: Kubernetes
    spec:
      manifests:
        - manifest:
            identifier: m
            type: K8sManifest
            spec:
              store: {type: Git, spec: {connectorRef: %s, gitFetchType: Branch, branch: main, paths: [k8s]}}
`

// The rows are named after the lists of error-prone behaviours:
// semantics/entities §17 and semantics/pipeline §14, as far as they are about
// saving.
func TestErrorProneBehaviours(t *testing.T) {
	t.Parallel()
	account := ref.Scope{Account: "acme"}
	variable := "service: {name: a, identifier: a, serviceDefinition: {type: Kubernetes, spec: {variables: [%s]}}}"
	tests := []struct {
		name    string
		yaml    string
		options entity.Options
		want    string // part of the one finding; empty: none
	}{
		{
			name:    "entities §17.2 an account's service may not name an organization's connector",
			yaml:    fmt.Sprintf(gitManifest, "org.git"),
			options: entity.Options{Scope: account, Types: builtin.Types()},
			want:    `connector "org.git" names an organization's entity`,
		},
		{
			name: "entities §17.4 a reserved word is no identifier",
			yaml: "service: {name: a, identifier: stepGroup}",
			want: `identifier "stepGroup" is a reserved word [BAD_IDENTIFIER]`,
		},
		{
			name: "entities §17.4 a secret's identifier may have a dash",
			yaml: "secret: {name: a, identifier: a-b, type: SecretFile, spec: {secretManagerIdentifier: harnessSecretManager}}",
		},
		{
			name: "entities §17.4 a service's may not",
			yaml: "service: {name: a, identifier: a-b}",
			want: `identifier "a-b" can't have`,
		},
		{
			name:    "entities §17.5 an identifier can't be changed",
			yaml:    "service: {name: a, identifier: b}",
			options: entity.Options{Identifier: "a"},
			want:    `found "b", but "a" is addressed; an identifier can't be changed`,
		},
		{
			name: "entities §17.6 an unknown key is a warning",
			yaml: "service: {name: a, identifier: a, skipDryRun: true}",
			want: `warning: unknown key "skipDryRun"`,
		},
		{
			name: "entities §17.7 the primary artifact is one of the sources",
			yaml: `service: {name: a, identifier: a, serviceDefinition: {type: Kubernetes, spec: {artifacts: {primary: {primaryArtifactRef: c,
			  sources: [{identifier: a, type: DockerRegistry, spec: {connectorRef: h, imagePath: i, tag: t}}]}}}}}`,
			want: `there is no artifact source "c" [BAD_REFERENCE]`,
		},
		{
			name: "entities §17.12 a secret variable holds an identifier, not an expression",
			yaml: fmt.Sprintf(variable, `{name: v, type: Secret, value: <+secrets.getValue("x")>}`),
			want: "want the identifier of a secret alone",
		},
		{
			name: "entities §17.12 and the identifier alone is good",
			yaml: fmt.Sprintf(variable, `{name: v, type: Secret, value: x}`),
		},
		{
			name: "entities §17.20 a service is taken from an earlier stage",
			yaml: `pipeline: {name: a, identifier: a, stages: [{stage: {name: b, identifier: b, type: Deployment, failureStrategies: [{onFailure:
			  {errors: [AllErrors], action: {type: Ignore}}}], spec: {deploymentType: Kubernetes, service: {useFromStage: {stage: a}},
			  environment: {environmentRef: e, infrastructureDefinition: {identifier: i}}, execution: {steps: [{step: {name: s, identifier: s, type: Wait}}]}}}}]}`,
			want: "the service can't be taken from stage a: there is no such stage before this one [BAD_REFERENCE]",
		},
		{
			name: "pipeline §14.6 a stage's own condition may name its environment",
			yaml: `pipeline: {name: a, identifier: a, stages: [{stage: {name: b, identifier: b, type: Custom, when: {pipelineStatus: Success,
			  condition: '<+env.name> == "prod"'}, spec: {execution: {steps: [{step: {name: s, identifier: s, type: Wait}}]}}}}]}`,
		},
		{
			name: "pipeline §14.37 a default is one of the allowed values",
			yaml: fmt.Sprintf(variable, `{name: v, type: String, value: "<+input>.default(a).allowedValues(b,c)"}`),
			want: `the default doesn't fit: "a" isn't one of b, c [BAD_INPUT]`,
		},
		{
			name: "pipeline §1.1 version 1 is refused",
			yaml: "version: 1\nkind: pipeline\nspec: {}",
			want: "this is version 1 of Harness YAML",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.options.Scope.Account == "" {
				tt.options.Scope = project
			}
			_, report := one(t, tt.yaml, tt.options)
			got := lines(report)
			if strings.Count(got, "\n") > 1 || !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("found:\n%swant one finding with %q", got, tt.want)
			}
		})
	}
}

func TestUnknownKeysAreErrorsWhenStrict(t *testing.T) {
	t.Parallel()
	docs, report := yamldoc.Parse("", []byte("service: {name: a, identifier: a, zzz: 1}"))
	report.Strict()
	entity.Decode(docs[0], report, entity.Options{Scope: project, Types: builtin.Types()})
	if !report.Failed() {
		t.Error("an unknown key passed a strict report")
	}
}

// semantics/entities §17.1: a bare identifier means the document's own scope.
func TestReferences(t *testing.T) {
	t.Parallel()
	const text = `
pipeline:
  name: p
  identifier: p
  variables:
    - {name: s, type: Secret, value: token}
    - {name: t, type: String, value: 'x <+secrets.getValue("account.other")>'}
  stages:
    - stage:
        name: d
        identifier: d
        type: Deployment
        failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: Abort}}}]
        spec:
          deploymentType: Kubernetes
          service: {serviceRef: account.web}
          environment: {environmentRef: org.dev, infrastructureDefinitions: [{identifier: local}]}
          execution:
            steps:
              - step:
                  name: a
                  identifier: a
                  type: K8sApply
                  spec: {overrides: [{manifest: {spec: {store: {spec: {connectorRef: git}}}}}]}
`
	e, report := one(t, text, entity.Options{Scope: project, Steps: stepTypes(), Types: builtin.Types()})
	if got := lines(report); got != "" {
		t.Fatal(got)
	}
	var got []string
	for _, r := range e.References {
		got = append(got, strings.Join(strings.Fields(fmt.Sprintf("%d %s %s %s", r.At.Line, r.Kind, r.Ref, r.Environment)), " "))
	}
	want := []string{
		"6 secret acme/default/default_project:token",
		"16 service acme:web",
		"17 environment acme/default:dev",
		"17 infrastructureDefinition acme/default:local dev",
		"24 connector acme/default/default_project:git",
		"7 secret acme:other",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
}

// semantics/entities §17.3: an infrastructure's identifier is unique within its
// environment, and it lives in the environment's scope.
func TestInfrastructureBelongsToItsEnvironment(t *testing.T) {
	t.Parallel()
	const text = `infrastructureDefinition: {name: i, identifier: i, environmentRef: %s, deploymentType: Kubernetes, type: KubernetesDirect,
	  spec: {connectorRef: c, namespace: n, releaseName: r}}`
	for environment, want := range map[string]string{
		"dev": "acme/default/default_project:dev", "org.dev": "acme/default:dev", "account.prod": "acme:prod",
	} {
		e, report := one(t, fmt.Sprintf(text, environment), entity.Options{Scope: project, Types: builtin.Types()})
		if got := lines(report); got != "" {
			t.Error(got)
		}
		if got := e.Parent.String(); got != want {
			t.Errorf("the parent of an infrastructure of %s is %s; want %s", environment, got, want)
		}
	}
}

func TestScope(t *testing.T) {
	t.Parallel()
	org := ref.Scope{Account: "acme", Org: "o"}
	tests := []struct {
		name  string
		yaml  string
		scope ref.Scope
		want  ref.Scope
		err   bool
	}{
		{"the document says nothing", "service: {name: a, identifier: a}", project, project, false},
		{"the document says more", "service: {name: a, identifier: a, projectIdentifier: p}", org, ref.Scope{Account: "acme", Org: "o", Project: "p"}, false},
		{"both say the same", "service: {name: a, identifier: a, orgIdentifier: o}", org, org, false},
		{"they differ", "service: {name: a, identifier: a, orgIdentifier: x}", org, org, true},
		{"a project of no organization", "service: {name: a, identifier: a, projectIdentifier: p}", ref.Scope{Account: "acme"}, ref.Scope{Account: "acme", Project: "p"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, report := one(t, tt.yaml, entity.Options{Scope: tt.scope, Types: builtin.Types()})
			if e.Scope != tt.want || report.Failed() != tt.err {
				t.Errorf("got %v, failed %v (%s); want %v, failed %v", e.Scope, report.Failed(), lines(report), tt.want, tt.err)
			}
		})
	}
}

// What was read is in the typed tree.
func TestPipelineIsTyped(t *testing.T) {
	t.Parallel()
	decoded, _ := decode("", read(t, "testdata/ok/pipeline-everything.yaml"), project)
	p := decoded[0].Pipeline
	if p == nil || len(p.Stages.Items) != 2 || len(p.Stages.Items[1].Parallel.Items) != 2 || len(p.Variables) != 4 {
		t.Fatalf("the pipeline was read as %+v", p)
	}
	deploy := p.Stages.Items[1].Parallel.Items[0].Stage
	check := deploy.Steps.Items[2].Step
	retry := check.FailureStrategies[0].Action
	got := map[string]any{
		"timeout":        p.Timeout.Value.Hours(),
		"input":          p.Variables[0].Value.Expr,
		"selectors":      deploy.DelegateSelectors.Expr,
		"service":        deploy.Deployment.Service.Ref.Value,
		"infrastructure": deploy.Deployment.Environment.Infrastructures[0].Identifier.Value,
		"inputs":         deploy.Deployment.Service.Inputs.At("serviceDefinition", "type").Value,
		"in a group":     deploy.Steps.Items[0].Group.Steps.Items[0].Parallel.Items[1].Group.Steps.Items[0].Step.Type.Value,
		"condition":      check.When.Condition.Expr,
		"retries":        retry.RetryCount.Value,
		"intervals":      len(retry.RetryIntervals),
		"fallback":       retry.Then.Type.Value,
		"last resort":    retry.Then.Then.Type.Value,
		"rollback":       deploy.RollbackSteps.Items[0].Step.Type.Value,
		"place":          fmt.Sprintf("%d:%d %s", check.Type.At.Line, check.Type.At.Column, check.Type.At.Path),
	}
	want := map[string]any{
		"timeout":        52.0,
		"input":          "<+input>.default(nginx:1.27).allowedValues(nginx:1.27,nginx:1.28)",
		"selectors":      "<+input>",
		"service":        "web",
		"infrastructure": "local",
		"inputs":         "Kubernetes",
		"in a group":     "Wait",
		"condition":      "true",
		"retries":        2,
		"intervals":      2,
		"fallback":       "ManualIntervention",
		"last resort":    "MarkAsFailure",
		"rollback":       "K8sRollingRollback",
		"place":          "95:29 stages[1].parallel[0].stage.spec.execution.steps[2].step.type",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A secret's value is in no finding, whatever is wrong with its document.
func TestFindingsNeverShowASecret(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"hunter2", "[hunter2]", "{a: hunter2}", "'<+input>.hunter2'", "'<+secrets.getValue(\"hunter2\")>'", "&hunter2 x"} {
		e, report := one(t, "secret: {name: s, identifier: s, type: SecretText, zzz: 1, spec: {valueType: Inlin, value: "+value+"}}", entity.Options{Scope: project, Types: builtin.Types()})
		if text := lines(report) + fmt.Sprintf("%+v", e); strings.Contains(text, "hunter2") || len(e.References) > 0 {
			t.Errorf("value %s is shown: %s", value, text)
		}
	}
}
