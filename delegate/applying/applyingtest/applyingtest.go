// Package applyingtest connects tests to the cluster of the test run.
//
// What starts that cluster is internal/testcluster; nothing of it is for programs.
package applyingtest

import (
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/internal/testcluster"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Connect gives a test a namespace of its own, as testcluster.Namespace does, and a
// connection to its cluster.
func Connect(tb testing.TB) (c *applying.Cluster, kubeconfig, namespace string) {
	tb.Helper()
	kubeconfig, namespace = testcluster.Namespace(tb)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		tb.Fatal(err)
	}
	c, err = applying.Connect(task.Cluster{URL: config.Host, Token: config.BearerToken, CAPEM: string(config.CAData)})
	if err != nil {
		tb.Fatal(err)
	}
	return c, kubeconfig, namespace
}
