package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// ownStore decodes the store of a step's own files; more are types that they can
// be in besides the usual ones.
func ownStore(d *document.Decoder, v yamldoc.Value, more ...string) *filesource.Store {
	form := filesource.Form{Stores: append(filesource.Usual(), more...)}
	return filesource.Decode(d, v, form, document.Keys{"metadata": document.Nothing}) // the console's
}
