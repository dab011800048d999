package api

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/logstream"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
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

// A log has chunks of any size. One answer has as many as fit, the next goes on
// with the first that didn't, and only the last says that it is the last.
func TestAPartOfALogIsBounded(t *testing.T) {
	t.Parallel()
	kept := logsOf(t)
	s := &steering{Store: kept.Store}
	for name, c := range map[string]struct {
		size   int // of a chunk
		chunks int
		parts  []int64 // where each part ends
	}{
		"bytes at the bound":    {logBytes / 8, 8, []int64{8}},
		"a chunk more":          {logBytes / 8, 9, []int64{8, 9}},
		"chunks at the bound":   {100, logChunks, []int64{logChunks}},
		"a small chunk more":    {100, logChunks + 1, []int64{logChunks, logChunks + 1}},
		"one over it by itself": {logBytes + 1, 2, []int64{1, 2}},
		"nothing":               {100, 0, []int64{0}},
	} {
		n := &execution.TreeNode{ID: plan.NodeID(name), Attempt: 1, Status: plan.Success}
		before, after := `{"m":"`, "\"}\n"
		line := before + strings.Repeat("x", c.size-len(before)-len(after)) + after
		for i := range c.chunks {
			if err := kept.AppendLog(t.Context(), logstream.MaxKept, store.LogChunk{Stream: engine.LogStream("x1", n.ID, 1), Number: int64(i), Data: []byte(line)}); err != nil {
				t.Fatal(err)
			}
		}
		var parts []int64
		lines := 0
		for from, ended := int64(0), false; !ended; {
			log, err := s.logOf(t.Context(), "x1", n, ofLog{from: from})
			if err != nil || len(parts) > len(c.parts) {
				t.Fatalf("%s: %v, after the parts %v", name, err, parts)
			}
			from, ended, lines = log.Next, log.Ended, lines+len(log.Lines)
			parts = append(parts, log.Next)
		}
		if diff := cmp.Diff(c.parts, parts); diff != "" || lines != c.chunks {
			t.Errorf("%s: %d lines; the parts end at (-want +got):\n%s", name, lines, diff)
		}
	}
}

// logsOf is an empty store.
func logsOf(t *testing.T) *sqlite.Store {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	kept, err := sqlite.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// The end of a log has as many lines as are wanted, or as there are, and their
// numbers if that is all there is; what is written later begins where it ends, and
// what is before it is read up to there.
func TestTheEndOfALog(t *testing.T) {
	t.Parallel()
	kept := logsOf(t)
	s := &steering{Store: kept.Store}
	for name, c := range map[string]struct {
		chunks []int // how many lines each has
		size   int   // of a line
		tail   int
		status plan.Status
		want   Log // its lines are counted
		lines  int
	}{
		"of a chunk":              {[]int{5}, 20, 3, plan.Success, Log{First: 3, Next: 1, Ended: true}, 3},
		"over two chunks":         {[]int{5, 2}, 20, 3, plan.Success, Log{First: 5, Next: 2, Ended: true}, 3},
		"more than there are":     {[]int{5, 2}, 20, 100, plan.Success, Log{First: 1, Next: 2, Ended: true}, 7},
		"all":                     {[]int{5, 2}, 20, 7, plan.Success, Log{First: 1, Next: 2, Ended: true}, 7},
		"while it is written":     {[]int{5, 2}, 20, 1, plan.Running, Log{Next: 2}, 1},
		"none":                    {nil, 20, 10, plan.Running, Log{First: 1}, 0},
		"after many chunks":       {slices.Repeat([]int{2}, 3*logRead+1), 20, 3, plan.Success, Log{Next: 3*logRead + 1, Ended: true}, 3},
		"as much as has room":     {slices.Repeat([]int{1}, 16), logBytes / 8, 20, plan.Success, Log{Next: 16, Ended: true}, 8},
		"one line with no room":   {[]int{1, 1}, logBytes + 1, 2, plan.Success, Log{Next: 2, Ended: true}, 1},
		"chunks without any line": {[]int{3, 0, 0}, 20, 2, plan.Success, Log{First: 2, Next: 3, Ended: true}, 2},
	} {
		n := &execution.TreeNode{ID: plan.NodeID(name), Attempt: 1, Status: c.status}
		before, after := `{"m":"`, "\"}\n"
		line := before + strings.Repeat("x", c.size-len(before)-len(after)) + after
		for i, lines := range c.chunks {
			if err := kept.AppendLog(t.Context(), logstream.MaxKept, store.LogChunk{Stream: engine.LogStream("x1", n.ID, 1), Number: int64(i), Data: []byte(strings.Repeat(line, lines))}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.logOf(t.Context(), "x1", n, ofLog{tail: c.tail})
		if err != nil || len(got.Lines) != c.lines {
			t.Errorf("%s: %d lines, want %d; %v", name, len(got.Lines), c.lines, err)
		}
		got.Node, got.Attempt, got.Attempts, got.Lines = "", 0, 0, nil
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	n := &execution.TreeNode{ID: "over two chunks", Attempt: 1, Status: plan.Success}
	for to, want := range map[int64]Log{1: {Next: 1}, 2: {Next: 2, Ended: true}} {
		got, err := s.logOf(t.Context(), "x1", n, ofLog{to: to})
		if lines := map[int64]int{1: 5, 2: 7}[to]; err != nil || len(got.Lines) != lines || got.Next != want.Next || got.Ended != want.Ended {
			t.Errorf("up to %d: %d lines, next %d, ended %t, %v; want %d lines and %+v", to, len(got.Lines), got.Next, got.Ended, err, lines, want)
		}
	}
}
