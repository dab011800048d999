package health

import "github.com/slipway-cd/slipway/pkg/gitops"

// value is a part of an object. What isn't there, or isn't of the kind that is
// asked for, is empty.
type value struct{ v any }

func (v value) at(path ...string) value {
	for _, name := range path {
		m, _ := v.v.(map[string]any)
		v = value{m[name]}
	}
	return v
}

func (v value) there(path ...string) bool { return v.at(path...).v != nil }

func (v value) text(path ...string) string {
	s, _ := v.at(path...).v.(string)
	return s
}

func (v value) yes(path ...string) bool {
	b, _ := v.at(path...).v.(bool)
	return b
}

// number is 0 if there is none.
func (v value) number(path ...string) int64 { return v.or(0, path...) }

func (v value) or(none int64, path ...string) int64 {
	switch n := v.at(path...).v.(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	case int:
		return int64(n)
	}
	return none
}

func (v value) list(path ...string) []value {
	all, _ := v.at(path...).v.([]any)
	out := make([]value, len(all))
	for i, one := range all {
		out[i] = value{one}
	}
	return out
}

// condition finds one of status.conditions by its type.
func (v value) condition(kind string) (value, bool) {
	for _, c := range v.list("status", "conditions") {
		if c.text("type") == kind {
			return c, true
		}
	}
	return value{}, false
}

// behind says whether a controller hasn't seen the object as it is now.
func (v value) behind() bool {
	return v.number("status", "observedGeneration") < v.number("metadata", "generation")
}

func healthy() gitops.HealthStatus { return gitops.HealthStatus{Status: gitops.Healthy} }

func progressing(message string) gitops.HealthStatus {
	return gitops.HealthStatus{Status: gitops.Progressing, Message: message}
}

func degraded(message string) gitops.HealthStatus {
	return gitops.HealthStatus{Status: gitops.Degraded, Message: message}
}

func suspended(message string) gitops.HealthStatus {
	return gitops.HealthStatus{Status: gitops.Suspended, Message: message}
}
