package template

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// override puts a link's overrides into the body, as far as the template
// allows them. One that is empty takes the setting away, so that the default
// of the system holds, not that of the template.
func (r *resolver) override(body *yamldoc.Node, over yamldoc.Value, doc *yamldoc.Node, kind Kind) *yamldoc.Node {
	if over.Null() {
		return body
	}
	allowed := allowedKeys(doc, kind)
	for e := range r.report.Mapping(over) {
		if !slices.Contains(allowed, e.Key) {
			r.report.Warnf(e.AtKey(), notOverridable, "the template doesn't allow to override %q, so this changes nothing; it allows %s", e.Key, some(allowed))
			continue
		}
		body = trim(body, e.Key)
		if e.Null() || e.Is(yamldoc.Scalar) && e.Node.Value == "" {
			continue
		}
		at := e.KeyPos(r.report)
		body = cloned(body)
		body.Entries = append(body.Entries, yamldoc.Entry{Key: e.Key, Line: at.Line, Column: at.Column, Value: e.Node})
	}
	return body
}

func allowedKeys(doc *yamldoc.Node, kind Kind) []string {
	list := doc.Get("allowedOverrides")
	if list == nil {
		return nil
	}
	var keys []string
	for _, item := range list.Items {
		if key := Overridable(kind)[textOf(item)]; key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

func some(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}
