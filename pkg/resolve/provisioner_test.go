package resolve_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
)

const provisionedYAML = `
identifier: web
name: Web
stages:
  - stage:
      identifier: deploy
      name: Deploy
      type: Deployment
      spec:
        deploymentType: Kubernetes
        environment:
          environmentRef: dev
          infrastructureDefinitions: [{identifier: local}]
          provisioner:
            steps:
              - step: {identifier: net, name: net, type: CreateStack, spec: {}}
              - stepGroup:
                  identifier: g
                  name: G
                  steps:
                    - step: {identifier: base, name: base, type: CreateStack, timeout: 7m, spec: {}}
              - step: {identifier: ask, name: ask, type: ShellScript, spec: {}}
        execution:
          steps:
            - step: {identifier: roll, name: roll, type: K8sRollingDeploy, spec: {}}
  - stage:
      identifier: plain
      name: Plain
      type: Deployment
      spec:
        deploymentType: Kubernetes
        execution:
          steps:
            - step: {identifier: roll, name: roll, type: K8sRollingDeploy, spec: {}}
            - step: {identifier: named, name: named, type: ShellScript, spec: {}}
`

// provisionedAt is the scope of a node; infra is more of the infrastructure's spec.
func provisionedAt(t *testing.T, node plan.NodeID, infra string) *resolve.Scope {
	t.Helper()
	to := func() *plan.Deployment {
		return &plan.Deployment{
			Type: "Kubernetes", ServiceRef: "shop", EnvironmentRef: "dev", Service: parse(t, serviceYAML), Environment: parse(t, environmentYAML),
			Infrastructure: parse(t, "identifier: local\nname: Local\ntype: KubernetesDirect\nspec: {connectorRef: cluster, namespace: <+provisioner.Namespace>, releaseName: r"+infra+"}"),
		}
	}
	p, err := planning.Build(planning.Source{Pipeline: pipelineOf(t, provisionedYAML), Deployments: map[string]*plan.Deployment{"deploy": to(), "plain": to()}})
	if err != nil {
		t.Fatal(err)
	}
	const section = "pipeline.stages.deploy.spec.environment.provisioner.steps."
	states := map[plan.NodeID]plan.State{
		section + "net": {
			Status: plan.Success, EndedAt: time.Unix(20, 0), Outputs: []byte(`{"output":{"Namespace":"of-net","a-b":"dashed","list":[{"ip":"10.0.0.1"}],"Password":{"$secret":"output/1"}}}`),
		},
		section + "g.steps.base": {Status: plan.Success, EndedAt: time.Unix(10, 0), Outputs: []byte(`{"output":{"Namespace":"of-base","Zone":"z"}}`)},
	}
	return resolve.New(resolve.Config{
		Types: builtin.Types(), Context: t.Context(), Plan: p, Node: p.Node(node), Entities: entities{}, Now: time.Unix(1000, 0),
		State:     func(id plan.NodeID) plan.State { return states[id] },
		Execution: store.Execution{ID: "x1", Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}},
	})
}

// semantics/pipeline §7.16: what the steps of a provisioner section put out.
func TestOutputsOfProvisioners(t *testing.T) {
	t.Parallel()
	const (
		stage = "pipeline.stages.deploy"
		roll  = stage + ".spec.execution.steps.roll"
		ask   = stage + ".spec.environment.provisioner.steps.ask"
		plain = "pipeline.stages.plain.spec.execution.steps.roll"
	)
	for name, tt := range map[string]struct {
		at          plan.NodeID
		infra, text string
		want        string // or
		fails       string
	}{
		"the last one's count":              {at: roll, text: "<+provisioner.Namespace> <+provisioner.Zone>", want: "of-net z"},
		"that of a named step":              {at: roll, infra: ", provisioner: base", text: "<+provisioner.Namespace>", want: "of-base"},
		"a name with a dash":                {at: roll, text: `<+provisioner.get("a-b")>`, want: "dashed"},
		"what is in an output":              {at: roll, text: "<+provisioner.list[0].ip>", want: "10.0.0.1"},
		"the infrastructure has them":       {at: roll, text: "<+infra.namespace> <+INFRA_KEY_SHORT_ID>", want: "of-net 5c66f2"},
		"a step by its name":                {at: roll, text: "<+provisioner.steps.net.output.Namespace>", want: "of-net"},
		"by the full name":                  {at: plain, text: "<+pipeline.stages.deploy.spec.environment.provisioner.steps.net.output.Namespace>", want: "of-net"},
		"by the older name":                 {at: plain, text: "<+pipeline.stages.deploy.spec.infrastructure.infrastructureDefinition.provisioner.steps.g.steps.base.timeout>", want: "7m"},
		"by the older name, in its stage":   {at: roll, text: "<+infrastructure.infrastructureDefinition.provisioner.steps.net.output.Namespace>", want: "of-net"},
		"a step of the section knows them":  {at: ask, text: "<+execution.steps.net.output.Namespace> <+steps.g.steps.base.timeout> <+net.output.Namespace>", want: "of-net 7m of-net"},
		"an output that isn't there":        {at: roll, text: "<+provisioner.Nope>", fails: `has no output "Nope"; it has Namespace, Password, Zone, a-b, list`},
		"a step that isn't there":           {at: roll, infra: ", provisioner: nope", text: "<+infra.namespace>", fails: `names the provisioner "nope", which is no step of the section of stage deploy; it has net, base, ask`},
		"one that has put nothing out":      {at: roll, infra: ", provisioner: ask", text: "<+provisioner.Zone>", fails: `has no output "Zone"; it has none yet`},
		"a stage without":                   {at: plain, text: "<+provisioner.Zone>", fails: "there is no provisioner in this stage"},
		"a step of the path that isn't one": {at: plain, text: "<+pipeline.stages.deploy.spec.environment.provisioner.steps.nope.output.X>", fails: "the stage has no environment.provisioner.steps.nope"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := provisionedAt(t, tt.at, tt.infra).Text(tt.text)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) || fault.CodeOf(err) == fault.Internal {
					t.Errorf("gives %q, %v; want %q", got, err, tt.fails)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("gives %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// A secret that a step has put out stays one.
func TestASecretOutputOfAProvisioner(t *testing.T) {
	t.Parallel()
	s := provisionedAt(t, "pipeline.stages.deploy.spec.execution.steps.roll", "")
	got, err := s.Text("<+provisioner.Password>")
	if named := s.Named(); err != nil || len(named) != 1 || named[0].Name != "output/1" || strings.Contains(got, "output/1") {
		t.Errorf("gives %q, %v, and names %v", got, err, named)
	}
}
