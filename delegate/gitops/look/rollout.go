package look

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// Rollout is how a Rollout of Argo's is. h is its health; nil: it can't be told.
func Rollout(o *unstructured.Unstructured, h *gitops.HealthStatus) (protocol.Rollout, error) {
	out := protocol.Rollout{Health: gitops.HealthStatus{Status: gitops.HealthUnknown}}
	if h != nil {
		out.Health = *h
	}
	number := func(path ...string) int64 {
		n, _, _ := unstructured.NestedInt64(o.Object, path...)
		return n
	}
	out.Step = number("status", "currentStepIndex")
	if _, canary, _ := unstructured.NestedMap(o.Object, "spec", "strategy", "canary"); canary {
		out.Strategy, out.Weight = "canary", number("status", "canary", "weights", "canary", "weight")
		steps, _, _ := unstructured.NestedSlice(o.Object, "spec", "strategy", "canary", "steps")
		_, told, _ := unstructured.NestedMap(o.Object, "status", "canary", "weights")
		for i := 0; !told && i < len(steps) && int64(i) <= out.Step; i++ { // no router tells it
			if step, ok := steps[i].(map[string]any); ok {
				if w, ok := step["setWeight"].(int64); ok {
					out.Weight = w
				}
			}
		}
	} else if _, both, _ := unstructured.NestedMap(o.Object, "spec", "strategy", "blueGreen"); both {
		out.Strategy = "blueGreen"
	}
	doc, err := json.Marshal(out)
	if err != nil {
		return out, fmt.Errorf("encode how Rollout %s is: %w", o.GetName(), err)
	}
	sum := sha256.Sum256(doc)
	out.Sum = hex.EncodeToString(sum[:8])
	return out, nil
}
