package look

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/internal/testcluster"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

// TestTreeLooksForWhatIsSaidToBeMissing: what a sync has just created can be chosen
// although nobody has seen it yet.
func TestTreeLooksForWhatIsSaidToBeMissing(t *testing.T) {
	t.Parallel()
	kubeconfig, namespace := testcluster.Namespace(t)
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := applying.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": namespace, "name": "web"}}}
	if _, err := c.Create(t.Context(), o, "slipway-test"); err != nil {
		t.Fatal(err)
	}
	said := func(name string) gitops.ResourceStatus {
		return gitops.ResourceStatus{
			Key: object.Key{Kind: "ConfigMap", Namespace: namespace, Name: name}, Version: "v1", Status: gitops.OutOfSync, Health: &gitops.HealthStatus{Status: gitops.Missing},
		}
	}
	tree, err := Tree(t.Context(), c, []gitops.ResourceStatus{said("none"), said("web")}, func(*unstructured.Unstructured) *gitops.HealthStatus { return nil })
	if err != nil || len(tree.Nodes) != 2 {
		t.Fatalf("%+v, %v", tree, err)
	}
	if none := tree.Nodes[0]; none.UID != "" || none.Health == nil || none.Health.Status != gitops.Missing {
		t.Errorf("what isn't there is %+v", none)
	}
	if web := tree.Nodes[1]; web.UID == "" || web.Health != nil {
		t.Errorf("what is there is %+v", web)
	}
}
