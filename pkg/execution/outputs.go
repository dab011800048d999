package execution

import (
	"encoding/json"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// secretKey marks a reference to a kept secret among outputs; pkg/resolve
// turns it into a handle.
const secretKey = "$secret"

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
	at[keys[len(keys)-1]] = map[string]any{secretKey: name}
	return outputs, nil
}

// namesSecret says whether outputs hold a reference to a secret, however its
// key is written.
func namesSecret(outputs json.RawMessage) (bool, error) {
	if len(outputs) == 0 {
		return false, nil
	}
	var v any
	if err := json.Unmarshal(outputs, &v); err != nil {
		return false, err
	}
	return hasKey(v, secretKey), nil
}

func hasKey(v any, key string) bool {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			if k == key || hasKey(inner, key) {
				return true
			}
		}
	case []any:
		for _, inner := range v {
			if hasKey(inner, key) {
				return true
			}
		}
	}
	return false
}
