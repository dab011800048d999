package e2e_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/delegate/agent"
	gitops "github.com/slipway-cd/slipway/delegate/gitops/agent"
	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testcluster"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/wire"
)

const pulledEntities = `gitopsAgent: {identifier: AGENT, name: eu1}
---
variable: {identifier: namespace, name: namespace, type: String, spec: {valueType: FIXED, fixedValue: NAMESPACE}}
---
secret: {identifier: host, name: host, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: TOKEN}}
---
connector: {identifier: releases, name: releases, type: Github, spec: {url: HOST/team/app.git, type: Repo, authentication: {type: Http, spec: {type: UsernameToken, spec: {username: ann, tokenRef: host}}}, apiAccess: {type: Token, spec: {tokenRef: host}}}}
---
environment: {identifier: dev, name: dev, type: PreProduction, gitOpsClusters: [{identifier: incluster, agentIdentifier: AGENT}]}
---
service: {identifier: web, name: web, gitOpsEnabled: true, serviceDefinition: {type: Kubernetes, spec: {variables: [{name: data.size, type: String, value: small}],
  manifests: [{manifest: {identifier: release, type: ReleaseRepo, spec: {store: {type: Github, spec: {connectorRef: releases, gitFetchType: Branch, branch: main, paths: [web/<+env.name>/<+cluster.identifier>.yaml]}}}}}]}}}
---
gitopsApplication:
  agentIdentifier: AGENT
  app:
    apiVersion: argoproj.io/v1alpha1
    kind: Application
    metadata: {name: web-dev, labels: {harness.io/serviceRef: web, harness.io/envRef: dev}}
    spec:
      project: default
      source: {repoURL: HOST/team/app.git, path: web/dev}
      destination: {server: https://kubernetes.default.svc, namespace: NAMESPACE}
`

// rollouts is a Rollout of Argo's that is paused, with its kind. Nothing controls it.
const rollouts = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rollouts.argoproj.io}
spec:
  group: argoproj.io
  scope: Namespaced
  names: {kind: Rollout, plural: rollouts, singular: rollout, listKind: RolloutList}
  versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec: {paused: true, strategy: {canary: {}}}
`

// pulledFor starts a server with a GitOps agent, and a Git host with what the examples
// of stages with gitOpsEnabled release, and maybe revert.
func pulledFor(t *testing.T, example string) *e2e.Server {
	t.Helper()
	reverted := strings.Contains(example, "type: RevertPR\n")
	_, namespace := testcluster.Namespace(t)
	const id = "eu1"
	files := map[string]string{
		"web/dev/incluster.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  color: blue # the first\n",
	}
	if strings.Contains(example, "type: GitOpsRollout\n") {
		files["web/dev/rollout.yaml"] = rollouts
	}
	host := testservers.Pulls(t, files)
	cfg := wire.ServeConfig{EmbeddedDelegate: true}
	cfg.GitOps = func(ctx context.Context, client agent.Client, cache string) error {
		return gitops.Run(ctx, gitops.Config{
			Client: client, Cache: cache, Namespace: namespace, Agent: protocol.Agent{Org: "default", Project: "default_project", ID: id}, Cluster: task.Cluster{Inherit: true}, Log: slog.New(slog.DiscardHandler),
		})
	}
	s := e2e.Start(t, cfg)
	s.Apply(t, strings.NewReplacer("HOST", host.URL, "TOKEN", host.Token, "NAMESPACE", namespace, "AGENT", id).Replace(pulledEntities))
	t.Cleanup(func() {
		want := "color: green # the first\n  size: small"
		if reverted {
			want = "color: blue # the first"
		}
		if !t.Failed() && !strings.Contains(host.File("main", "web/dev/incluster.yaml"), want) {
			t.Errorf("the release is\n%s\nwant %s", host.File("main", "web/dev/incluster.yaml"), want)
		}
	})
	return s
}

const pulledFleet = `gitopsAgent: {identifier: eu1, name: eu1}
---
gitopsCluster: {identifier: east, name: east, agentIdentifier: eu1, tags: {tier: gold}, cluster: {server: https://east.example.com, name: East, config: {clusterConnectionType: IN_CLUSTER}}}
---
secret: {identifier: host, name: host, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: TOKEN}}
---
connector: {identifier: releases, name: releases, type: Github, spec: {url: HOST/team/app.git, type: Repo, authentication: {type: Http, spec: {type: UsernameToken, spec: {username: ann, tokenRef: host}}}, apiAccess: {type: Token, spec: {tokenRef: host}}}}
---
environment: {identifier: dev, name: dev, type: PreProduction, gitOpsClusters: [{identifier: incluster, agentIdentifier: eu1}]}
---
environment: {identifier: prod, name: prod, type: Production, gitOpsClusters: [{identifier: incluster, agentIdentifier: eu1}, {identifier: east, agentIdentifier: eu1}]}
---
service: {identifier: web, name: web, gitOpsEnabled: true, serviceDefinition: {type: Kubernetes, spec: {variables: [{name: image, type: String, value: 'web:2'}], RELEASES}}}
---
service: {identifier: shop, name: shop, gitOpsEnabled: true, serviceDefinition: {type: Kubernetes, spec: {variables: [{name: image, type: String, value: 'shop:7'}], RELEASES}}}
---
pipeline:
  identifier: release
  name: Release
  stages:
    - stage:
        identifier: release
        name: Release
        type: Deployment
        spec:
          deploymentType: Kubernetes
          gitOpsEnabled: true
          services: {metadata: {parallel: true}, values: [{serviceRef: web}, {serviceRef: shop}]}
          environments:
            values:
              - {environmentRef: dev, deployToAll: true}
              - {environmentRef: prod, filters: [{identifier: gold, type: tags, entities: [gitOpsClusters], spec: {matchType: all, tags: {tier: gold}}}]}
          execution:
            steps:
              - step: {identifier: update, name: Update, type: GitOpsUpdateReleaseRepo, timeout: 10m, spec: {}}
              - step: {identifier: merge, name: Merge, type: MergePR, timeout: 10m, spec: {mergeStrategy: squash}}
        failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: MarkAsFailure}}}]
`

// semantics/gitops §17: each service in each environment is a release of its own, to
// those clusters that the stage is about.
func TestReleasesOfSeveralServicesAndEnvironments(t *testing.T) {
	t.Parallel()
	onEveryHost(t, func(t *testing.T, start func(testing.TB) *e2e.Server) {
		t.Helper()
		files := map[string]string{}
		for _, name := range []string{"web/dev/incluster", "web/prod/incluster", "web/prod/east", "shop/dev/incluster", "shop/prod/incluster", "shop/prod/east"} {
			files[name+".yaml"] = "image: old:1\n"
		}
		host, s := testservers.Pulls(t, files), start(t)
		const releases = "manifests: [{manifest: {identifier: release, type: ReleaseRepo, spec: {store: {type: Github, spec: {connectorRef: releases, gitFetchType: Branch, branch: main, paths: [<+service.name>/<+env.name>/<+cluster.identifier>.yaml]}}}}}]"
		s.Apply(t, strings.NewReplacer("HOST", host.URL, "TOKEN", host.Token, "RELEASES", releases).Replace(pulledFleet))
		if e := finish(t, s, s.Begin(t, "release", nil)); e.Status != "Success" {
			t.Fatalf("the release ended %s: %s", e.Status, e.Message)
		}
		want := map[string]string{
			"web/dev/incluster": "web:2", "web/prod/east": "web:2", "web/prod/incluster": "old:1",
			"shop/dev/incluster": "shop:7", "shop/prod/east": "shop:7", "shop/prod/incluster": "old:1",
		}
		for name, image := range want {
			if got := host.File("main", name+".yaml"); got != "image: "+image && got != "image: "+image+"\n" {
				t.Errorf("%s is %q; want the image %s", name, got, image)
			}
		}
		if n := host.Count(); n != 4 {
			t.Errorf("%d pull requests were made; want one for each service in each environment", n)
		}
	})
}
