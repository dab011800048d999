package target_test

import (
	"fmt"
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
gitopsCluster: {identifier: east, name: east, agentIdentifier: eu1, tags: {tier: gold}, cluster: {server: https://east.example.com, name: East, config: {clusterConnectionType: IN_CLUSTER}}}
---
service: {identifier: a, name: a, gitOpsEnabled: true, serviceDefinition: {type: Kubernetes, spec: {}}}
---
service: {identifier: b, name: b, gitOpsEnabled: true, tags: {tier: gold}, serviceDefinition: {type: Kubernetes, spec: {}}}
---
service: {identifier: h, name: h, serviceDefinition: {type: NativeHelm, spec: {}}}
---
environment: {identifier: e, name: e, type: Production, gitOpsClusters: [{identifier: incluster, agentIdentifier: eu1}, {identifier: incluster, agentIdentifier: us1}, {identifier: east, agentIdentifier: eu1}]}
---
environment: {identifier: gone, name: gone, type: Production, gitOpsClusters: [{identifier: west, agentIdentifier: eu1}]}
---
environment: {identifier: d, name: d, type: PreProduction, tags: {stage: dev}, gitOpsClusters: [{identifier: incluster, agentIdentifier: us1}]}
---
environment: {identifier: none, name: none, type: Production}
---
environmentGroup: {identifier: g, name: The group, envIdentifiers: [d, e]}
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

// semantics/gitops §17: the clusters of an environment are one deployment of a
// service; several services and environments are as many deployments.
func TestExpandPulled(t *testing.T) {
	t.Parallel()
	s := saved(t, farm)
	const services, gold = "services: {values: [{serviceRef: a}, {serviceRef: b}]}", "identifier: f, type: tags, entities: [gitOpsClusters], spec: {matchType: all, tags: "
	for name, tt := range map[string]struct{ spec, want string }{
		"services":                         {services + ", environment: {environmentRef: e, deployToAll: true}", "0 a e all, 1 b e all"},
		"services beside each other":       {strings.Replace(services, "{values", "{metadata: {parallel: true}, values", 1) + ", environment: {environmentRef: e, gitOpsClusters: [{identifier: east}]}", "0 a e east, 0 b e east"},
		"environments":                     {"service: {serviceRef: a}, environments: {values: [{environmentRef: d, deployToAll: true}, {environmentRef: e, gitOpsClusters: [{identifier: incluster, agentIdentifier: eu1}, {identifier: east}]}]}", "0 a d all, 1 a e incluster+east"},
		"environments beside each other":   {"service: {serviceRef: a}, environments: {metadata: {parallel: true}, values: [{environmentRef: d, deployToAll: true}, {environmentRef: e, deployToAll: true}]}", "0 a d all, 0 a e all"},
		"both":                             {services + ", environments: {values: [{environmentRef: d, deployToAll: true}, {environmentRef: e, deployToAll: true}]}", "0 a d all, 1 b d all, 2 a e all, 3 b e all"},
		"a group":                          {"service: {serviceRef: a}, environmentGroup: {envGroupRef: g, deployToAll: true}", "0 a d all, 1 a e all"},
		"some of a group":                  {"service: {serviceRef: a}, environmentGroup: {envGroupRef: g, environments: [{environmentRef: e, gitOpsClusters: [{identifier: east}]}]}", "0 a e east"},
		"environments by their tags":       {"service: {serviceRef: a}, environmentGroup: {envGroupRef: g, deployToAll: true, filters: [{identifier: f, type: tags, entities: [environments], spec: {matchType: all, tags: {stage: dev}}}]}", "0 a d all"},
		"clusters by their tags":           {services + ", environments: {filters: [{" + gold + "{tier: gold}}}], values: [{environmentRef: d}, {environmentRef: e}]}", "0 a e east, 1 b e east"},
		"clusters by the tags of services": {services + ", environment: {environmentRef: e, filters: [{" + strings.Replace(gold, "all", "any", 1) + "<+service.tags>}}]}", "! want tags"},
		"no cluster":                       {services + ", environments: {filters: [{" + gold + "{tier: tin}}}], values: [{environmentRef: e}]}", "! no GitOps cluster matched"},
		"an unknown environment":           {services + ", environment: {environmentRef: x, deployToAll: true}", `! there is no environment "x"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			its, err := expand(t.Context(), t, s, "gitOpsEnabled: true, "+tt.spec)
			var got []string
			for _, it := range its.List {
				clusters := "all"
				if !it.Choice.GitOps.All {
					var ids []string
					for _, c := range it.Choice.GitOps.Clusters {
						ids = append(ids, c.Identifier)
					}
					clusters = strings.Join(ids, "+")
				}
				got = append(got, fmt.Sprintf("%d %s %s %s", it.Wave, it.Choice.Service.Ref, it.Choice.Environment.Ref, clusters))
			}
			want, fails := strings.CutPrefix(tt.want, "! ")
			if text := strings.Join(got, ", "); fails != (err != nil) || fails && !strings.Contains(err.Error(), want) || !fails && text != want {
				t.Errorf("found %s, and the error %v; want %s", text, err, tt.want)
			}
		})
	}
}
