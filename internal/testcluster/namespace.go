package testcluster

import (
	"context"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KubeconfigEnv names the environment variable that leads tests to the cluster of the whole test run.
const KubeconfigEnv = "SLIPWAY_TEST_KUBECONFIG"

// EndsEnv names the environment variable that is set where that cluster ends with the test run.
const EndsEnv = "SLIPWAY_TEST_CLUSTER_ENDS"

// Namespace gives a test a namespace of its own in the cluster of the test run, in which pods can be created
// at once. When the test ends the namespace goes, unless the cluster ends soon: its controllers take as long to
// clear a namespace as most tests take to fill it. Without such a cluster the test is skipped: "make test" and
// "testcluster run" always have one.
func Namespace(tb testing.TB) (kubeconfig, namespace string) {
	tb.Helper()
	kubeconfig = os.Getenv(KubeconfigEnv)
	if kubeconfig == "" {
		tb.Skipf("%s isn't set: this test needs a cluster; run it by \"make test\" or \"bin/testcluster run -- go test ...\"", KubeconfigEnv)
	}
	c := &Cluster{Kubeconfig: kubeconfig}
	client, err := c.client()
	if err != nil {
		tb.Fatalf("connect to the cluster of %s: %v", KubeconfigEnv, err)
	}
	created, err := client.CoreV1().Namespaces().Create(tb.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		tb.Fatalf("create a namespace: %v", err)
	}
	tb.Cleanup(func() {
		if os.Getenv(EndsEnv) != "" {
			return
		}
		// tb.Context() is over by now. Nobody waits for the contents to go.
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := client.CoreV1().Namespaces().Delete(ctx, created.Name, metav1.DeleteOptions{}); err != nil {
			tb.Errorf("delete namespace %s: %v", created.Name, err)
		}
	})
	ctx, cancel := context.WithTimeout(tb.Context(), 30*time.Second)
	defer cancel()
	if err := c.until(ctx, func(ctx context.Context) error { return defaultAccount(ctx, client, created.Name) }); err != nil {
		tb.Fatalf("wait for the service account of namespace %s: %v", created.Name, err)
	}
	return kubeconfig, created.Name
}
