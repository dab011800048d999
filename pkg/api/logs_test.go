package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/store"
)

// Whatever is stored of a log, the rest of it can be read.
func TestALogIsReadWhateverIsStored(t *testing.T) {
	t.Parallel()
	got := linesOf(store.LogChunk{Data: []byte(`{"t":1,"m":"a"}` + "\nboom\n[1]\n\n" + `{"t":2,"m":"b"}` + "\n{\"t\":")})
	unread := LogLine{Level: "ERROR", Text: "(a line that can't be read)"}
	want := []LogLine{{Time: 1, Text: "a"}, unread, unread, unread, {Time: 2, Text: "b"}, unread}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
