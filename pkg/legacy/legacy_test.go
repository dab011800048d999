package legacy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/legacy"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// pipeline has a stage for each spec.
func pipeline(specs ...string) string {
	var stages []string
	for i, spec := range specs {
		id := string(rune('a' + i))
		stages = append(stages, "{stage: {identifier: "+id+", name: "+id+", type: Deployment, failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: StageRollback}}}], "+
			"spec: {"+spec+", execution: {steps: [{step: {identifier: s, name: s, type: Wait, spec: {}}}]}}}}")
	}
	return "pipeline: {identifier: p, name: p, orgIdentifier: o, projectIdentifier: q, stages: [" + strings.Join(stages, ", ") + "]}"
}

const (
	service = "serviceConfig: {serviceRef: web, serviceDefinition: {type: Kubernetes, spec: {variables: []}}}"
	infra   = "infrastructure: {environmentRef: dev, infrastructureDefinition: {type: KubernetesDirect, spec: {connectorRef: c, namespace: n, releaseName: r}}}"
)

func names(docs []legacy.Document) []string {
	var out []string
	for _, d := range docs {
		out = append(out, string(d.Kind)+" "+d.ID)
	}
	return out
}

// What comes out is taken, and is each document once.
func TestWhatComesOutIsRight(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		doc  string
		want []string
	}{
		"one stage":                   {pipeline(service + ", " + infra), []string{"service web", "environment dev", "infrastructureDefinition a_infra", "pipeline p"}},
		"two stages with one service": {pipeline(service+", "+infra, service+", "+infra), []string{"service web", "environment dev", "infrastructureDefinition a_infra", "infrastructureDefinition b_infra", "pipeline p"}},
		"a service of another stage":  {pipeline(service+", "+infra, "serviceConfig: {useFromStage: {stage: a}}, "+infra), []string{"service web", "environment dev", "infrastructureDefinition a_infra", "infrastructureDefinition b_infra", "pipeline p"}},
		"a service of the account":    {pipeline(strings.Replace(service, "web", "account.web", 1) + ", " + infra), []string{"service account.web", "environment dev", "infrastructureDefinition a_infra", "pipeline p"}},
		"inputs":                      {pipeline(strings.Replace(service, "variables: []", "variables: [{name: a, type: String, value: <+input>}]", 1) + ", " + strings.Replace(infra, "namespace: n", "namespace: <+input>", 1)), []string{"service web", "environment dev", "infrastructureDefinition a_infra", "pipeline p"}},
		"overrides that say nothing":  {pipeline(strings.Replace(service, "serviceRef", "stageOverrides: {manifests: []}, serviceRef", 1) + ", " + infra), []string{"service web", "environment dev", "infrastructureDefinition a_infra", "pipeline p"}},
		"a provisioner":               {pipeline(service + ", " + strings.Replace(infra, "type: Kub", "provisioner: {steps: [{step: {identifier: m, name: m, type: CreateStack, spec: {}}}]}, type: Kub", 1)), []string{"service web", "environment dev", "infrastructureDefinition a_infra", "pipeline p"}},
		"nothing of the old form":     {pipeline("deploymentType: Kubernetes, service: {serviceRef: web}"), nil},
		"a stage in a parallel block": {strings.Replace(strings.Replace(pipeline(service+", "+infra), "stages: [{", "stages: [{parallel: [{", 1), "}}}}]}", "}}}}]}]}", 1), []string{"service web", "environment dev", "infrastructureDefinition a_infra", "pipeline p"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := yamldoc.NewReport("p.yaml")
			docs, err := legacy.Convert([]byte(tt.doc), report)
			if err != nil || report.Failed() {
				t.Fatal(err, report.Err())
			}
			if diff := cmp.Diff(tt.want, names(docs)); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
			for _, d := range docs {
				nodes, report := yamldoc.Parse(d.ID, d.YAML)
				scope := ref.Scope{Account: "acme"}
				if entity.Decode(nodes[0], report, entity.Options{Scope: scope, Types: builtin.Types()}); report.Failed() {
					t.Errorf("%v\n%s", report.Err(), d.YAML)
				}
			}
		})
	}
}

// What has no place in the new form is said, and nothing is given.
func TestWhatCantBeConvertedIsSaid(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ doc, want string }{
		"a service without an identifier": {pipeline(strings.Replace(service, "web", "<+input>", 1) + ", " + infra), "found <+input>; a document needs an identifier"},
		"no definition":                   {pipeline("serviceConfig: {serviceRef: web}, " + infra), "serviceDefinition is missing"},
		"no infrastructure":               {pipeline(service + ", infrastructure: {environmentRef: dev}"), "infrastructureDefinition is missing"},
		"overrides of the stage":          {pipeline(strings.Replace(service, "serviceRef", "stageOverrides: {variables: [{name: a}]}, serviceRef", 1) + ", " + infra), "stageOverrides have no place"},
		"overrides by name":               {pipeline(strings.Replace(service, "variables", "manifestOverrideSets: [{a: b}], variables", 1) + ", " + infra), "manifestOverrideSets have no place"},
		"overrides of another stage's":    {pipeline(service+", "+infra, "serviceConfig: {useFromStage: {stage: a, overrides: {variables: [{name: a}]}}}, "+infra), "overrides of a service of another stage"},

		"an unknown deployment type": {pipeline("service: {serviceRef: web}, " + infra), "the deployment type isn't known"},
		"two services of one name":   {pipeline(service+", "+infra, strings.Replace(service, "[]", "[{name: a, type: String, value: b}]", 1)+", "+infra), "the stages a and b say different things of the service web"},
		"a path":                     {pipeline(strings.Replace(service, "web", "../web", 1) + ", " + infra), "identifier \"/web\" can't have \"/\""},
		"an alias":                   {"x: &x dev\n" + strings.Replace(pipeline(service+", "+infra), "environmentRef: dev", "environmentRef: *x", 1), "found the alias *x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := yamldoc.NewReport("p.yaml")
			docs, err := legacy.Convert([]byte(tt.doc), report)
			if err != nil || len(docs) > 0 {
				t.Errorf("gives %v, %v", names(docs), err)
			}
			if got := report.Err(); got == nil || !strings.Contains(got.Error(), tt.want) || !strings.Contains(got.Error(), "p.yaml:") {
				t.Errorf("found %v; want %s", got, tt.want)
			}
		})
	}
}

// The steps that make an infrastructure stay in the pipeline.
func TestAProvisionerStaysInItsStage(t *testing.T) {
	t.Parallel()
	doc := pipeline(service + ", " + strings.Replace(infra, "type: Kub", "provisioner: {steps: [{step: {identifier: m}}]}, type: Kub", 1))
	docs, err := legacy.Convert([]byte(doc), yamldoc.NewReport("p.yaml"))
	if err != nil || len(docs) != 4 {
		t.Fatalf("gives %v, %v", names(docs), err)
	}
	converted, _ := yamldoc.Parse("p", docs[3].YAML)
	spec := converted[0].At("pipeline", "stages").Items[0].At("stage", "spec")
	if steps := spec.At("environment", "provisioner", "steps"); steps == nil || len(steps.Items) != 1 || strings.Contains(string(docs[2].YAML), "provisioner") {
		t.Errorf("gives\n%s\n%s", docs[2].YAML, docs[3].YAML)
	}
}
