package argo

import (
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Kept stands in the text of a saved document for a value that is kept apart from
// it. Saved again it means the value that is kept.
const Kept = "<kept>"

// Values are what of a document isn't kept in its text, since nobody is to read it.
type Values struct {
	// Known are the values that Kept stands for, by name; nil: nobody knows them.
	Known map[string]string
	// Found are those of the text.
	Found []Found
}

// Found is a value of a text.
type Found struct {
	Name string // within its document
	At   yamldoc.Value
	Text string
	// Gone says that it isn't kept at all: what a tool has written of the others.
	Gone bool
}

// nameOf names the value at a place. A Secret has two notations of it.
func nameOf(v yamldoc.Value) string {
	for _, notation := range []string{"stringData.", "data."} {
		if name, ok := strings.CutPrefix(v.Path, notation); ok {
			return name
		}
	}
	return v.Path
}

// all notes what stands below a value, but for what public says. A key that nobody
// knows is noted, too: it may be one with a slip.
func (s *Values) all(v yamldoc.Value, text func(*yamldoc.Node) string, public func(key string) bool) {
	switch {
	case v.Is(yamldoc.Scalar):
		if v.Node.Value != "" {
			s.Found = append(s.Found, Found{Name: nameOf(v), At: v, Text: text(v.Node)})
		}
	case v.Is(yamldoc.Mapping):
		for _, e := range v.Node.Entries {
			if !public(e.Key) {
				s.all(document.At(v, e.Key, e.Value), text, func(string) bool { return false })
			}
		}
	case v.Is(yamldoc.Sequence):
		for i, item := range v.Node.Items {
			s.all(yamldoc.Sub(item, v.Path+"["+strconv.Itoa(i)+"]"), text, func(string) bool { return false })
		}
	}
}

// value is the text at a place: what is kept for it, if it says so.
func (d decoder) value(v yamldoc.Value) string {
	text := d.String(v).Value
	if text == Kept && d.values != nil {
		return d.values.Known[nameOf(v)]
	}
	return text
}

// hidden reads a text that may be kept apart.
func (d decoder) hidden(to *string) document.Rule {
	return func(v yamldoc.Value) { *to = d.value(v) }
}

// kind is what a repository is.
func (d decoder) kind(to *access.Kind) document.Rule {
	return func(v yamldoc.Value) {
		*to = access.Kind(d.Enum(v, string(access.Git), string(access.Helm), string(access.OCI)).Value)
	}
}
