package resolve

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// documents are what people have saved: entities and files, by names as they are
// written in an execution.
type documents struct {
	ctx      context.Context //nolint:containedctx // as a Scope, for one call
	entities store.Entities
	types    *entity.Types
	files    store.Files
	scope    ref.Scope // of the execution
}

// file reads a reference to a file as written in what the execution runs.
func (d documents) file(path string) (ref.File, error) {
	f, err := ref.ParseFile(path, d.scope)
	if err != nil {
		return ref.File{}, fault.New(fault.Invalid, "%w", err)
	}
	return f, nil
}
