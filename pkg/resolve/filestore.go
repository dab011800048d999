package resolve

import (
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// file reads a reference to a file as written in what the execution runs.
func (s *Scope) file(path string) (ref.File, error) {
	f, err := ref.ParseFile(path, s.Execution.Scope)
	if err != nil {
		return ref.File{}, fault.New(fault.Invalid, "%w", err)
	}
	return f, nil
}
