package kubernetes

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// workloadName decodes the name of one object: [namespace/]Kind/name.
func workloadName(d *document.Decoder, v yamldoc.Value) yamldoc.Field[string] {
	f := d.String(v)
	if n := strings.Count(f.Value, "/"); f.Set && f.Expr == "" && (n < 1 || n > 2) {
		d.Errorf(v, "WRONG_VALUE", "found %q; want [namespace/]Kind/name", f.Value)
	}
	return f
}
