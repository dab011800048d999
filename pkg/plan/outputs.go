package plan

import "encoding/json"

// SecretKey marks a reference to a kept secret among a step's outputs, which
// expressions turn into the secret's handle. Only what seals a delegate's
// outputs writes it: in a response or an event it could name any secret.
const SecretKey = "$secret"

// NamesSecret says whether outputs hold a reference to a secret, however its
// key is written.
func NamesSecret(outputs json.RawMessage) (bool, error) {
	if len(outputs) == 0 {
		return false, nil
	}
	var v any
	if err := json.Unmarshal(outputs, &v); err != nil {
		return false, err
	}
	return hasKey(v, SecretKey), nil
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

// Sealed is a value of outputs with a mask in the place of each reference to a
// secret.
func Sealed(value any, mask string) any {
	switch value := value.(type) {
	case map[string]any:
		if _, secret := value[SecretKey]; secret {
			return mask
		}
		out := make(map[string]any, len(value))
		for key, inner := range value {
			out[key] = Sealed(inner, mask)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, inner := range value {
			out[i] = Sealed(inner, mask)
		}
		return out
	}
	return value
}
