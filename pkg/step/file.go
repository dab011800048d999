package step

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// CheckFile reports a path that can't be one of the file store's
// (semantics/entities §10.1). An expression is looked at once it is resolved.
func CheckFile(d *document.Decoder, v yamldoc.Value, path string) {
	if path == "" || strings.Contains(path, "<+") {
		return
	}
	// Any scope will do: only the spelling is checked.
	if _, err := ref.ParseFile(path, ref.Scope{Account: "a", Org: "o", Project: "p"}); err != nil {
		d.Errorf(v, "BAD_REFERENCE", "%s", err)
	}
}
