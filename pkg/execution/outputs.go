package execution

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// setSecret puts a reference to a kept secret where an output was. A path is
// as in task.Result.SecretOutputs, e.g. "output.outputVariables.token".
func setSecret(outputs map[string]any, path, name string) (map[string]any, error) {
	if outputs == nil {
		outputs = map[string]any{}
	}
	at := outputs
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		next, ok := at[key].(map[string]any)
		if !ok {
			if _, taken := at[key]; taken {
				return nil, fault.New(fault.Invalid, "secret output %q goes through %q, which isn't an object", path, key)
			}
			next = map[string]any{}
			at[key] = next
		}
		at = next
	}
	at[keys[len(keys)-1]] = map[string]any{plan.SecretKey: name}
	return outputs, nil
}
