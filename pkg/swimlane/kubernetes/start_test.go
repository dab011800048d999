package kubernetes

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func mapping(t *testing.T, text string) yamldoc.Value {
	t.Helper()
	docs, r := yamldoc.Parse("", []byte(text))
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return yamldoc.Sub(docs[0], "")
}

// TestStart: what the stage deploys to is the next step's too, so it stays as
// it is.
func TestStart(t *testing.T) {
	t.Parallel()
	target := func() *Target {
		return &Target{Namespace: "shop", ReleaseName: "r", Selectors: []string{"cluster"}}
	}
	in := step.In{Selectors: []string{"fast"}, Deployment: &step.Deployment{Target: target()}}
	action, err := start(in, Spec{Op: OpRolling})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"fast", "cluster"}, action.Task.Selectors); diff != "" {
		t.Errorf("selectors (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(target(), in.Deployment.Target); diff != "" {
		t.Errorf("the stage's target (-want +got):\n%s", diff)
	}
	for _, d := range []*step.Deployment{nil, {Type: "NativeHelm"}} {
		if _, err := start(step.In{Deployment: d}, Spec{}); err == nil {
			t.Errorf("%+v was taken for a Kubernetes infrastructure", d)
		}
	}
}
