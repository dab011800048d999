package reconcile

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/gitops"
)

// TestWhatIsGoneBackTo: by an entry, or by steps over what differs.
func TestWhatIsGoneBackTo(t *testing.T) {
	t.Parallel()
	var history []gitops.HistoryEntry
	for i, revision := range []string{"a", "b", "a", "c", "c"} {
		history = append(history, gitops.HistoryEntry{ID: int64(i + 1), Revision: revision})
	}
	for _, tt := range []struct {
		id    int64
		steps int
		want  int64 // 0: an error
		says  string
	}{
		{2, 1, 2, ""},
		{9, 1, 0, "the history has no entry 9"},
		{0, 1, 3, ""}, // c was live twice
		{0, 2, 2, ""},
		{0, 3, 0, "the history has 3 entries that differ, with what is live; a rollback by 3 needs one more than that"},
	} {
		got, err := entryOf(history, tt.id, tt.steps)
		if got.ID != tt.want || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("entry %d, %d steps: %d, %v; want %d, %s", tt.id, tt.steps, got.ID, err, tt.want, tt.says)
		}
	}
}
