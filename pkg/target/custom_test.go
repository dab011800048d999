package target_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/target"
)

const machines = `template: {identifier: m, name: m, versionLabel: %s, type: CustomDeployment, spec: {infrastructure: {
  fetchInstancesScript: {store: {type: Inline, spec: {content: "list %[1]s"}}}, instancesListPath: a, instanceAttributes: [{name: instancename, jsonPath: n}]}, execution: {}}}
`

// hall is a service, a template of two versions and an infrastructure, whose
// references to the template are given.
func hall(service, infrastructure string) string {
	return strings.Join([]string{
		fmt.Sprintf(machines, "v1"), fmt.Sprintf(machines, "v2"),
		"template: {identifier: s, name: s, versionLabel: v1, type: Step, spec: {type: Wait, spec: {duration: 10s}}}\n",
		"service: {identifier: a, name: a, serviceDefinition: {type: CustomDeployment, spec: {customDeploymentRef: " + service + "}}}\n",
		"environment: {identifier: e, name: e, type: Production}\n",
		"infrastructureDefinition: {identifier: x, name: x, environmentRef: e, deploymentType: CustomDeployment, type: CustomDeployment, spec: {customDeploymentRef: " + infrastructure + "}}\n",
	}, "---\n")
}

// A stage, its service and its infrastructure are made for the same version of
// one deployment template.
func TestDeploymentTemplates(t *testing.T) {
	t.Parallel()
	const v1, v2, stable = `{templateRef: m, versionLabel: v1}`, `{templateRef: m, versionLabel: v2}`, `{templateRef: m}`
	tests := map[string]struct{ stage, service, infrastructure, want string }{
		"all of one version":          {v1, v1, v1, "list v1"},
		"of another one":              {v2, v2, v2, "list v2"},
		"the stable one by its label": {stable, v1, stable, "list v1"},
		"a stage that names none":     {"", v2, v2, "list v2"},
		"that, and two versions":      {"", v1, v2, "error: service a is made for the deployment template m@v1, but infrastructure x for m@v2"},
		"the service of another":      {v1, v2, v1, "error: the stage is made for the deployment template m@v1, but service a for m@v2"},
		"the infrastructure":          {v2, v2, stable, "error: the stage is made for the deployment template m@v2, but infrastructure x for m@v1"},
		"one that isn't there":        {`{templateRef: nope}`, v1, v1, "error: the deployment template of the stage: there is no template nope"},
		"one of steps":                {v1, `{templateRef: s}`, v1, "error: the deployment template of service a: template s@v1 is of the type Step; want one of the type CustomDeployment"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := target.Reader{Types: builtin.Types(), Entities: saved(t, hall(tt.service, tt.infrastructure)), Scope: project()}
			spec := deploying(t, "{deploymentType: CustomDeployment, customDeploymentRef: "+or(tt.stage)+", service: {serviceRef: a}, environment: {environmentRef: e, infrastructureDefinitions: [{identifier: x}]}}")
			d, err := r.Plan(t.Context(), spec, nil)
			if want, fails := strings.CutPrefix(tt.want, "error: "); fails {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v; want %s", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := d.Template.At("infrastructure", "fetchInstancesScript", "store", "spec", "content").Value; got != tt.want {
				t.Errorf("the script is %q, want %q", got, tt.want)
			}
			used := []plan.Template{{Scope: project(), ID: "m", Version: tt.want[len("list "):], Revision: 1}}
			if diff := cmp.Diff(used, r.Templates); diff != "" {
				t.Errorf("the plan's templates (-want +got):\n%s", diff)
			}
		})
	}
}

// Each deployment of a stage with several has the template.
func TestSeveralCustomDeployments(t *testing.T) {
	t.Parallel()
	const ref = `{templateRef: m, versionLabel: v2}`
	its, err := expandAs(t.Context(), t, saved(t, hall(ref, ref)), "CustomDeployment, customDeploymentRef: "+ref,
		"services: {values: [{serviceRef: a}]}, environments: {values: [{environmentRef: e, infrastructureDefinitions: [{identifier: x}]}]}")
	if err != nil {
		t.Fatal(err)
	}
	if len(its.List) != 1 || its.List[0].Choice.Template.Get("versionLabel").Value != "v2" {
		t.Errorf("the deployments are %+v", its.List)
	}
}

// or is a document, or nothing.
func or(doc string) string {
	if doc == "" {
		return "~"
	}
	return doc
}
