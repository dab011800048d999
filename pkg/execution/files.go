package execution

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filestore"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// ReadFiles gives a delegate files of the file store that the task which it
// holds names: in its execution's scope and in the scopes around it.
func (s *Tasks) ReadFiles(ctx context.Context, d store.Delegate, id task.ID, r protocol.ReadFiles) (protocol.FilesRead, error) {
	t, err := s.held(ctx, d, id, r.Fence)
	if err != nil {
		return protocol.FilesRead{}, err
	}
	of, err := ref.ParseFile(r.Path, t.Scope)
	if err != nil {
		return protocol.FilesRead{}, fault.New(fault.Invalid, "%w", err)
	}
	if err := mayRead(s.Types.Tasks(), t, of); err != nil {
		return protocol.FilesRead{}, err
	}
	files, err := s.Engine.Reader.Files(ctx, t.Execution, t.Node)
	if err != nil {
		return protocol.FilesRead{}, err
	}
	return filestore.Part(ctx, files, of, r.After)
}

// mayRead refuses what a task doesn't name: neither itself nor a folder that it
// is in.
func mayRead(kinds swimlane.Kinds, t store.Task, of ref.File) error {
	fetched, err := kinds.Fetched(t.Kind, t.Payload)
	if err != nil {
		return fmt.Errorf("look at task %s: %w", t.ID, err)
	}
	for _, text := range fetched.Stored {
		folder, whole := withoutSecrets(t, text)
		f, err := ref.ParseFile(folder, t.Scope)
		if err != nil || f.Scope != of.Scope {
			continue
		}
		begin := f.Folder()
		if !whole && !strings.HasSuffix(folder, "/") {
			begin = f.Path
		}
		if whole && of.Path == f.Path || strings.HasPrefix(of.Path, begin) {
			return nil
		}
	}
	return fault.New(fault.Forbidden, "task %s doesn't name %s of the file store", t.ID, of)
}

// withoutSecrets is a path up to the first secret in it, which the delegate
// that asks knows.
func withoutSecrets(t store.Task, path string) (part string, whole bool) {
	at := len(path)
	for _, i := range slices.Concat(placesOf(path, t.Secrets), placesOf(path, t.LateSecrets), placesOf(path, t.LateTexts)) {
		at = min(at, i)
	}
	return path[:at], at == len(path)
}

// placesOf are the places in a text of those placeholders that are in it.
func placesOf[T any](text string, placeholders map[string]T) []int {
	var out []int
	for p := range placeholders {
		if i := strings.Index(text, p); i >= 0 {
			out = append(out, i)
		}
	}
	return out
}
