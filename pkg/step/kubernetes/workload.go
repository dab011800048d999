package kubernetes

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Workload decodes the name of one object: [namespace/]Kind/name.
func Workload(r *yamldoc.Report, v yamldoc.Value) yamldoc.Field[string] {
	f := r.String(v)
	if n := strings.Count(f.Value, "/"); f.Set && f.Expr == "" && (n < 1 || n > 2) {
		r.Errorf(v, "WRONG_VALUE", "found %q; want [namespace/]Kind/name", f.Value)
	}
	return f
}
