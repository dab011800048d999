package swimlane_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Whoever is asked for files by a task of a kind that nobody has judged must
// not answer as if it fetched none: values would be deployed as they stand.
func TestKindsThatNobodyListsAreRefused(t *testing.T) {
	t.Parallel()
	kinds := swimlane.Lanes{{Type: "Ferry", Kinds: []swimlane.Kind{
		{Name: "ferry", Fetched: swimlane.Fetching(func(s *struct{ Paths []string }) swimlane.Fetched {
			return swimlane.Fetched{Files: len(s.Paths) > 0, Stored: s.Paths}
		})},
		{Name: "look", Fetched: swimlane.FetchesNothing},
	}}}.Kinds()
	got, err := kinds.Fetched("ferry", json.RawMessage(`{"spec":{"paths":["/a"]},"place":{}}`))
	if err != nil || !got.Files || len(got.Stored) != 1 {
		t.Errorf("a lane's kind: %+v, %v", got, err)
	}
	if _, err := kinds.Fetched("ferry", json.RawMessage(`{"spec":{"paths":"/a"}}`)); err == nil {
		t.Error("a spec that can't be read is taken")
	}
	for _, kind := range append(task.General(), "look") {
		if got, err := kinds.Fetched(kind, json.RawMessage(`{"place":{}}`)); err != nil || got.Files || got.Stored != nil {
			t.Errorf("%s fetches %+v, %v; want nothing", kind, got, err)
		}
	}
	if _, err := kinds.Fetched("raft", json.RawMessage(`{}`)); err == nil || !strings.Contains(err.Error(), `"raft"`) {
		t.Errorf("a kind that nobody lists: %v", err)
	}
}
