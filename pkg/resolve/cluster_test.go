package resolve_test

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// deployingTo is a stage that deploys to an infrastructure.
func deployingTo(t *testing.T, infrastructure string) *resolve.Scope {
	t.Helper()
	p, err := planning.Build(planning.Source{
		Pipeline: pipelineOf(t, "{identifier: p, stages: [{stage: {identifier: deploy, type: Deployment, spec: {execution: {steps: [{step: {identifier: roll, type: K8sRollingDeploy}}]}}}}]}"),
		Deployments: map[string]*plan.Deployment{"deploy": {
			Type: "Kubernetes", ServiceRef: "shop", EnvironmentRef: "dev", Service: parse(t, "{identifier: shop}"), Environment: parse(t, environmentYAML),
			Infrastructure: parse(t, infrastructure),
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	docs := registries().docs
	docs["aws"] = `type: Aws, spec: {credential: {type: InheritFromDelegate, region: us-east-1}, delegateSelectors: [aws]}`
	docs["rancher"] = `type: Rancher, spec: {credential: {type: ManualConfig, spec: {rancherUrl: "https://rancher.example.com", auth: {type: BearerToken, spec: {passwordRef: rancher}}}}}`
	return resolve.New(resolve.Config{
		Types: builtin.Types(), Context: t.Context(), Plan: p, Node: p.Node(rollNode), Entities: connectors{docs: docs},
		State:     func(plan.NodeID) plan.State { return plan.State{} },
		Execution: store.Execution{ID: "x1", Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}},
	})
}

func TestClustersOfClouds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		infrastructure string
		want           task.CloudCluster
		key            string
	}{
		{
			"{identifier: i, type: KubernetesAws, spec: {connectorRef: aws, cluster: eu-central-1/web, namespace: n, releaseName: r}}",
			task.CloudCluster{EKS: &task.EKS{AWS: task.AWS{Auth: task.AWSInherit, Region: "eu-central-1"}, Name: "web"}},
			"shop-dev-aws-eu-central-1/web-n",
		},
		{
			"{identifier: i, type: KubernetesGcp, spec: {connectorRef: gcp, cluster: europe-west3-a/web, namespace: n, releaseName: r}}",
			task.CloudCluster{GKE: &task.GKE{Google: task.Google{Key: "secret:acme:gcp"}, Location: "europe-west3-a", Name: "web"}},
			"shop-dev-gcp-europe-west3-a/web-n",
		},
		{
			"{identifier: i, type: KubernetesAzure, spec: {connectorRef: azure, subscriptionId: s, resourceGroup: g, cluster: web, namespace: n, releaseName: r, useClusterAdminCredentials: true}}",
			task.CloudCluster{AKS: &task.AKS{
				Azure:        task.Azure{Tenant: "t", Client: "a", Secret: "secret:acme/default/web:azure"},
				Subscription: "s", ResourceGroup: "g", Name: "web", Admin: true,
			}},
			"shop-dev-azure-s-g-web-n",
		},
		{
			"{identifier: i, type: KubernetesRancher, spec: {connectorRef: rancher, cluster: web, namespace: n, releaseName: r}}",
			task.CloudCluster{Rancher: &task.Rancher{
				Server: task.Server{URL: "https://rancher.example.com", Auth: task.AuthBearer, Token: "secret:acme/default/web:rancher"}, Name: "web",
			}},
			"shop-dev-rancher-web-n",
		},
	}
	for _, tt := range tests {
		s := deployingTo(t, tt.infrastructure)
		d, err := s.Deployment()
		if err != nil {
			t.Fatal(err)
		}
		doc, err := json.Marshal(kubernetesOf(t, d).Cluster.Cloud)
		if err != nil {
			t.Fatal(err)
		}
		text := string(doc)
		for placeholder, name := range s.Secrets() {
			text = strings.ReplaceAll(text, placeholder, name)
		}
		var got task.CloudCluster
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		sum := sha1.Sum([]byte(tt.key))
		if key, err := s.Text("<+INFRA_KEY>"); err != nil || key != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: the key is %s, %v; want that of %s", tt.infrastructure, key, err, tt.key)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.infrastructure, diff)
		}
	}
}
