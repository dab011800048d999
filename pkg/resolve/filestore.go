package resolve

import (
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// fileStore is a store in the file store (semantics/entities §2.4). A delegate
// fetches the files; those that are secrets come as placeholders.
func (s *Scope) fileStore(spec *yamldoc.Node) (*task.FileStore, error) {
	out := &task.FileStore{Paths: words(spec.Get("files"))}
	if file := text(spec.Get("file")); file != "" {
		out.Paths = append(out.Paths, file)
	}
	for _, path := range out.Paths {
		if _, err := s.file(path); err != nil {
			return nil, err
		}
	}
	for _, id := range words(spec.Get("secretFiles")) {
		v, err := s.secret(id, s.Execution.Scope)
		if err != nil {
			return nil, err
		}
		out.Secrets = append(out.Secrets, task.SecretFile{ID: id, Text: v.Text()})
	}
	if len(out.Paths)+len(out.Secrets) == 0 {
		return nil, fault.New(fault.Invalid, "the store of the type Harness names no files")
	}
	return out, nil
}

// file reads a reference to a file as written in what the execution runs.
func (s *Scope) file(path string) (ref.File, error) {
	f, err := ref.ParseFile(path, s.Execution.Scope)
	if err != nil {
		return ref.File{}, fault.New(fault.Invalid, "%w", err)
	}
	return f, nil
}
