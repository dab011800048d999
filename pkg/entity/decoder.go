package entity

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// decoder decodes one document.
type decoder struct {
	*document.Decoder
	options    Options
	kind       ref.Kind
	references []Reference
	stored     []FileReference
	barriers   []yamldoc.Value // the barrierRefs of the steps, as far as they are known
}
