package kubernetes

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/task"
)

func TestWorkloadsAsTheyArePut(t *testing.T) {
	t.Parallel()
	two := int64(2)
	for name, c := range map[string]struct {
		manifest string
		want     []task.Workload
	}{
		"marked with their release": {`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web, harness.io/release-name: rel}}, spec: {containers: [{image: "web:1"}, {image: "proxy:2"}]}}
`, []task.Workload{{Resource: "apps/Deployment/shop/web", Images: []string{"web:1", "proxy:2"}, Replicas: &two, Selector: "harness.io/release-name=rel"}}},
		"found by their own selector": {`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  selector: {matchLabels: {app: db}, matchExpressions: [{key: tier, operator: In, values: [a, b]}]}
  template: {spec: {containers: [{image: "db:1"}]}}
`, []task.Workload{{Resource: "apps/StatefulSet/shop/db", Images: []string{"db:1"}, Selector: "app=db,tier in (a,b)"}}},
		"scaled by an autoscaler": {`
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: any, namespace: shop}
spec: {scaleTargetRef: {kind: Deployment, name: web}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {spec: {containers: [{image: "web:1"}]}}}
`, []task.Workload{{Resource: "apps/Deployment/shop/web", Images: []string{"web:1"}, Selector: "app=web"}}},
		"only named": {`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
`, []task.Workload{{Resource: "apps/Deployment/shop/web"}}},
		"what runs no pods, or runs them to their end": {configYAML("cfg", "1") + "---\n" + jobYAML("once", "succeed"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, err := parse("manifest", c.manifest)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, workloads(objects)); diff != "" {
				t.Errorf("workloads (-want +got):\n%s", diff)
			}
		})
	}
}

// How many pods there are isn't said of a workload that an autoscaler scales,
// though its manifest does.
func TestWhoSetTheReplicas(t *testing.T) {
	t.Parallel()
	two := int64(2)
	for by, want := range map[string]task.Workload{
		"kubectl":                 {Resource: "apps/Deployment/shop/web", Replicas: &two, ReplicasBy: "kubectl"},
		"kube-controller-manager": {Resource: "apps/Deployment/shop/web"},
	} {
		objects, err := parse("manifest", `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, managedFields: [{manager: `+by+`, subresource: scale, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}}}}]}
spec: {replicas: 2}
`)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, found(objects[0])); diff != "" {
			t.Errorf("scaled by %s (-want +got):\n%s", by, diff)
		}
	}
}
