package testcluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// nodeNames are the cluster's nodes, one in each zone.
var nodeNames = []string{"node-a", "node-b", "node-c"}

// storageClass is the class of kwok's volume stages.
const storageClass = "kwok-volume"

// createFixtures makes what a cluster has before its first user: nodes and a default storage class.
func createFixtures(ctx context.Context, client kubernetes.Interface) error {
	for _, name := range nodeNames {
		if _, err := client.CoreV1().Nodes().Create(ctx, fakeNode(name), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create node %s: %w", name, err)
		}
	}
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name:        storageClass,
			Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		Provisioner: "kwok.x-k8s.io/volume",
	}
	if _, err := client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create storage class %s: %w", class.Name, err)
	}
	return nil
}

// fakeNode is a node that kwok keeps alive. Its capacity is far beyond what tests ask for, so that a pod which
// isn't scheduled was asked not to be.
func fakeNode(name string) *corev1.Node {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("256"),
		corev1.ResourceMemory:           resource.MustParse("1Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("10Ti"),
		corev1.ResourcePods:             resource.MustParse("10000"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			Labels: map[string]string{
				corev1.LabelHostname:            name,
				corev1.LabelOSStable:            "linux",
				corev1.LabelArchStable:          "amd64",
				corev1.LabelTopologyZone:        "zone-" + name[len(name)-1:],
				"node-role.kubernetes.io/agent": "",
			},
		},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
}

// podsCanRun says why a pod that is created now would be refused or wait: a node isn't ready (then it also has
// a taint), or the default service account doesn't exist yet.
func podsCanRun(ctx context.Context, client kubernetes.Interface) error {
	for _, name := range nodeNames {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(node.Spec.Taints) > 0 {
			return fmt.Errorf("node %s still has the taint %s", name, node.Spec.Taints[0].Key)
		}
	}
	return defaultAccount(ctx, client, metav1.NamespaceDefault)
}

// defaultAccount says why the namespace's default service account can't be used yet.
func defaultAccount(ctx context.Context, client kubernetes.Interface, namespace string) error {
	_, err := client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
	return err
}
