package entity

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// scriptIn decodes the spec of a script's source by the source's type: a script
// that stands there under one key, or a file of the file store under another.
func (d *decoder) scriptIn(source yamldoc.Value, inline string, script func(yamldoc.Value), stored string, file func(yamldoc.Value)) func(yamldoc.Value) {
	typ := document.Peek(source, "type")
	return func(v yamldoc.Value) {
		switch typ {
		case filesource.Inline:
			d.Fields(v, document.Keys{inline: script})
			d.Need(v, inline)
		case filesource.Harness:
			d.Fields(v, document.Keys{stored: file})
			d.Need(v, stored)
		}
	}
}
