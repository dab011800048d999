package applying

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// A delegate that runs in no cluster and has no kubeconfig says what to set.
func TestADelegateWithoutAClusterSaysWhatToSet(t *testing.T) {
	nothing := filepath.Join(t.TempDir(), "none")
	t.Setenv("KUBECONFIG", nothing)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err := config(task.Cluster{Inherit: true})
	if !fault.Is(err, fault.Invalid) {
		t.Fatalf("the error is %v; want one that somebody can act on", err)
	}
	for _, part := range []string{"Set KUBECONFIG", nothing, "ManualConfig"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
}
