package testcluster_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/internal/testcluster"
)

// helm runs Helm, built from its pinned source, with the delegate's chart, and
// gives what it prints. What else it says, and the go command that may have to
// download it first, is part of the error alone.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	root, err := testcluster.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "CHART", filepath.Join(root, "delegate", "chart"))
	}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"tool", "helm"}, args...)...)
	cmd.Dir = filepath.Join(root, "tools", "helm")
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("helm %s: %w\n%s", args[0], err, said.String())
	}
	return string(out), nil
}

// The chart installs into a namespace that admits restricted pods only, and
// its pods get ready.
func TestTheDelegatesChartInstalls(t *testing.T) {
	t.Parallel()
	c := setup(t)
	kubeconfig, namespace := testcluster.Namespace(t)
	restricted := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	if _, err := c.CoreV1().Namespaces().Patch(t.Context(), namespace, types.MergePatchType, restricted, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := helm(t, "install", "near", "CHART", "--kubeconfig", kubeconfig, "--namespace", namespace, "--wait", "--timeout", "60s",
		"--set", "server=https://slipway.example.com", "--set", "tags={one,two}", "--set", "deploy.namespaces={"+namespace+"}", "--set", "replicas=2")
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.AppsV1().Deployments(namespace).Get(t.Context(), "near", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Status.ReadyReplicas != 2 {
		t.Errorf("%d of 2 delegates are ready", d.Status.ReadyReplicas)
	}
	want := []string{"--name=near", "--capacity=10", "--drain=300s", "--log-format=json", "--render-memory=512", "--git-ssh-host-keys=strict", "--tags=one,two"}
	if diff := cmp.Diff(want, d.Spec.Template.Spec.Containers[0].Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	binding, err := c.RbacV1().RoleBindings(namespace).Get(t.Context(), "near", metav1.GetOptions{})
	if err != nil || binding.RoleRef.Name != "admin" || binding.Subjects[0].Namespace != namespace {
		t.Errorf("what it may do is %+v, %v", binding, err)
	}
}

func TestTheDelegatesChartNeedsAServer(t *testing.T) {
	t.Parallel()
	if out, err := helm(t, "template", "near", "CHART"); err == nil || !strings.Contains(err.Error(), "where is the control plane") {
		t.Errorf("without a server: %v\n%s", err, out)
	}
}

// The manifest for those who don't use Helm is what the chart makes.
func TestTheDelegatesManifestIsTheCharts(t *testing.T) {
	t.Parallel()
	root, err := testcluster.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	want, err := helm(t, "template", "slipway-delegate", "CHART", "--namespace", "slipway", "--set", "server=https://slipway.example.com")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, "delegate", "manifest.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, manifest, _ := strings.Cut(string(got), "\n---\n")
	if diff := cmp.Diff(strings.TrimPrefix(want, "---\n"), manifest); diff != "" {
		t.Errorf("delegate/manifest.yaml isn't what the chart makes; run make generate (-want +got):\n%s", diff)
	}
}
