package testcluster

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
)

// servingTimeout is how long the controllers may take to bring and take away pods.
const servingTimeout = 20 * time.Second

// WantServing waits until the pods that a service reaches run these images, in order, and none besides. The
// pods of a workload that was deleted go a little later than it.
func WantServing(tb testing.TB, client kubernetes.Interface, namespace, service, want string) {
	tb.Helper()
	w, err := client.CoreV1().Pods(namespace).Watch(tb.Context(), metav1.ListOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	defer w.Stop()
	over := time.After(servingTimeout)
	for {
		got, err := serving(tb.Context(), client, namespace, service)
		if err != nil {
			tb.Fatal(err)
		}
		if got == want {
			return
		}
		select {
		case <-w.ResultChan():
		case <-over:
			tb.Errorf("the service %s reaches %q; want %q", service, got, want)
			return
		}
	}
}

// serving are the images of the pods that a service reaches.
func serving(ctx context.Context, client kubernetes.Interface, namespace, service string) (string, error) {
	o, err := client.CoreV1().Services(namespace).Get(ctx, service, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.Set(o.Spec.Selector).String()})
	if err != nil {
		return "", err
	}
	var out []string
	for _, pod := range list.Items {
		ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		if ready && pod.DeletionTimestamp == nil {
			out = append(out, pod.Spec.Containers[0].Image)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " "), nil
}
