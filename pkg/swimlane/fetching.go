package swimlane

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slipway-cd/slipway/pkg/task"
)

// Kind is a kind of task that the steps of a lane, or of a provisioner, start.
type Kind struct {
	Name task.Kind
	// Fetched is what a delegate brings for a task of the kind, by the spec of its
	// task.Work; FetchesNothing if all texts of the tasks come with them.
	Fetched func(spec json.RawMessage) (Fetched, error)
}

// Fetched is what whoever does a task brings for it that the task only names.
type Fetched struct {
	// Files: it brings some whose expressions the control plane resolves for it,
	// such as values and patches beside manifests or above them.
	Files bool
	// Stored are the files and folders of the file store among them, as they are
	// named. A path may hold placeholders.
	Stored []string
}

// FetchesNothing is the Fetched of a kind whose tasks bring nothing.
func FetchesNothing(json.RawMessage) (Fetched, error) { return Fetched{}, nil }

// Fetching makes a Kind's Fetched of what a decoded spec says.
func Fetching[S any](of func(*S) Fetched) func(json.RawMessage) (Fetched, error) {
	return func(doc json.RawMessage) (Fetched, error) {
		var spec S
		if err := json.Unmarshal(doc, &spec); err != nil {
			return Fetched{}, fmt.Errorf("decode the spec of the work: %w", err)
		}
		return of(&spec), nil
	}
}

// Kinds are those that there are.
type Kinds []Kind

// Fetched is what whoever does a task brings for it. The tasks of a kind that
// neither the list nor task.General has can't be judged.
func (all Kinds) Fetched(kind task.Kind, payload json.RawMessage) (Fetched, error) {
	for _, k := range all {
		if k.Name != kind {
			continue
		}
		var w task.Work
		if err := json.Unmarshal(payload, &w); err != nil {
			return Fetched{}, fmt.Errorf("decode the payload: %w", err)
		}
		return k.Fetched(w.Spec)
	}
	if slices.Contains(task.General(), kind) {
		return Fetched{}, nil
	}
	return Fetched{}, fmt.Errorf("no deployment type says what tasks of the kind %q fetch", kind)
}

// Kinds are the kinds of task of the lanes' steps.
func (l Lanes) Kinds() Kinds {
	var all Kinds
	for _, lane := range l {
		all = append(all, lane.Kinds...)
	}
	return all
}
