package testcluster

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// Define gives a cluster a kind of namespaced objects that it doesn't have by
// itself, without a schema and without anybody who acts on them, and waits
// until it is served. The kind stays: tests that run side by side share it.
func Define(tb testing.TB, config *rest.Config, kind schema.GroupVersionKind) {
	tb.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		tb.Fatal(err)
	}
	singular := strings.ToLower(kind.Kind)
	doc := fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.%[2]s, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: %[2]s
  scope: Namespaced
  names: {kind: %[3]s, plural: %[1]ss, singular: %[1]s}
  versions:
    - name: %[4]s
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, singular, kind.Group, kind.Kind, kind.Version)
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
		tb.Fatal(err)
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	_, err = client.Resource(definitions).Create(tb.Context(), o, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		tb.Fatalf("define %s: %v", kind, err)
	}
	ctx, cancel := context.WithTimeout(tb.Context(), 30*time.Second)
	defer cancel()
	err = new(Cluster).until(ctx, func(ctx context.Context) error {
		_, err := client.Resource(kind.GroupVersion().WithResource(singular+"s")).List(ctx, metav1.ListOptions{Limit: 1})
		return err
	})
	if err != nil {
		tb.Fatalf("%s isn't served: %v", kind, err)
	}
}
