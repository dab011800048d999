package target_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/target"
)

// farm has an environment whose clusters two agents look after.
const farm = `gitopsAgent: {identifier: eu1, name: eu1}
---
gitopsAgent: {identifier: us1, name: us1}
---
gitopsCluster: {identifier: east, name: east, agentIdentifier: eu1, cluster: {server: https://east.example.com, name: East, config: {clusterConnectionType: IN_CLUSTER}}}
---
service: {identifier: a, name: a, gitOpsEnabled: true, serviceDefinition: {type: Kubernetes, spec: {}}}
---
service: {identifier: h, name: h, serviceDefinition: {type: NativeHelm, spec: {}}}
---
environment: {identifier: e, name: e, type: Production, gitOpsClusters: [{identifier: incluster, agentIdentifier: eu1}, {identifier: incluster, agentIdentifier: us1}, {identifier: east, agentIdentifier: eu1}]}
---
environment: {identifier: gone, name: gone, type: Production, gitOpsClusters: [{identifier: west, agentIdentifier: eu1}]}
---
environment: {identifier: none, name: none, type: Production}
`

// semantics/gitops §17: which clusters a stage with gitOpsEnabled deploys to.
func TestClusters(t *testing.T) {
	t.Parallel()
	s := saved(t, farm)
	const own, east = "incluster eu1 in-cluster https://kubernetes.default.svc", "east eu1 East https://east.example.com"
	for name, tt := range map[string]struct{ service, environment, want string }{
		"one":                       {"a", "environmentRef: e, gitOpsClusters: [{identifier: east}]", east},
		"one of two agents":         {"a", "environmentRef: e, gitOpsClusters: [{identifier: incluster, agentIdentifier: eu1}]", own},
		"one that two agents have":  {"a", "environmentRef: e, gitOpsClusters: [{identifier: incluster}]", "error: environment e has incluster of agent eu1, incluster of agent us1; say by agentIdentifier which one is meant"},
		"all":                       {"a", "environmentRef: e, deployToAll: true", own + ", " + strings.ReplaceAll(own, "eu1", "us1") + ", " + east},
		"one that isn't linked":     {"a", "environmentRef: e, gitOpsClusters: [{identifier: west}]", "error: cluster west isn't linked to environment e; it has incluster of agent eu1, incluster of agent us1, east of agent eu1"},
		"one without a document":    {"a", "environmentRef: gone, deployToAll: true", "error: agent eu1 has no cluster west; want the identifier of one of its documents gitopsCluster, or incluster"},
		"none":                      {"a", "environmentRef: none, deployToAll: true", "error: no GitOps cluster is linked to environment none; link some by its gitOpsClusters"},
		"a service of another type": {"h", "environmentRef: e, deployToAll: true", "error: the stage deploys Kubernetes, but service h is of type NativeHelm"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := target.Reader{Types: builtin.Types(), Entities: s, Scope: project()}
			d, err := r.Plan(t.Context(), deploying(t, "{deploymentType: Kubernetes, gitOpsEnabled: true, service: {serviceRef: "+tt.service+"}, environment: {"+tt.environment+"}}"), nil)
			if err != nil {
				if got := "error: " + err.Error(); got != tt.want {
					t.Errorf("it says %q; want %q", got, tt.want)
				}
				return
			}
			var all []string
			for _, c := range d.Infrastructure.Get("spec").Get("clusters").Items {
				all = append(all, strings.Join([]string{c.Get("identifier").Value, c.Get("agentIdentifier").Value, c.Get("name").Value, c.Get("server").Value}, " "))
			}
			if got := strings.Join(all, ", "); got != tt.want || d.Type != "GitOps" {
				t.Errorf("found %s of %s; want %s", d.Type, got, tt.want)
			}
		})
	}
}
