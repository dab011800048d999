package testcluster_test

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-cd/slipway/internal/testcluster"
)

// cluster is a namespace of the test run's cluster and a client for it.
type cluster struct {
	kubernetes.Interface
	namespace string
}

func setup(t *testing.T) cluster {
	t.Helper()
	kubeconfig, namespace := testcluster.Namespace(t)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return cluster{client, namespace}
}

// eventually asks until the answer is yes. The test fails if it isn't within half a minute, with what was seen last.
func (c cluster) eventually(t *testing.T, ask func(context.Context) (done bool, seen any, err error)) {
	t.Helper()
	var last any
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		done, seen, err := ask(ctx)
		if err == nil {
			last = seen
		}
		return done, err
	})
	if err != nil {
		t.Fatalf("%v; last seen in %s: %+v", err, c.namespace, last)
	}
}

// podTemplate is a pod with one container and the label app.
func podTemplate(app, image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

func deployment(app string, replicas int32, pod corev1.PodTemplateSpec) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: app},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			Template: pod,
		},
	}
}

func (c cluster) createDeployment(t *testing.T, d *appsv1.Deployment) {
	t.Helper()
	if _, err := c.AppsV1().Deployments(c.namespace).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
