package api

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/logstream"
	"github.com/slipway-cd/slipway/pkg/store"
)

// LogLine is one line of a step's log.
type LogLine struct {
	Time  int64  `json:"t" doc:"Milliseconds since 1970"`
	Unit  string `json:"u,omitempty" doc:"The part of the step that wrote it, e.g. Prepare"`
	Level string `json:"l,omitempty" doc:"INFO or ERROR"`
	Text  string `json:"m"`
}

// Log is a part of the log of one attempt of a step.
type Log struct {
	Node     string    `json:"node" doc:"The node's id"`
	Attempt  int       `json:"attempt" doc:"The attempt that the lines are of"`
	Attempts int       `json:"attempts" doc:"How many attempts there are by now"`
	Lines    []LogLine `json:"lines" nullable:"false"`
	Next     int64     `json:"next" doc:"Where the next part begins"`
	Ended    bool      `json:"ended" doc:"Nothing will follow"`
}

const (
	// logChunks is how many chunks one answer holds at most.
	logChunks = 200
	// logBytes is how large they are together, so that a function gives them
	// back as a text within a JSON document. Of a chunk that is over it the
	// answer has no more than that one.
	logBytes = 2 << 20
	// logRead is how many chunks are read at once: they have 256 KiB each at most.
	logRead = 16
)

func (s *steering) readLog(ctx context.Context, in *struct {
	OfNode
	Attempt int   `query:"attempt" minimum:"0" doc:"1 is the first; none means the latest"`
	From    int64 `query:"from" minimum:"0" doc:"next of the part before; none for the beginning"`
	Wait    int   `query:"wait" minimum:"0" maximum:"60" doc:"Wait so many seconds for lines, unless the log has ended"`
}) (*struct{ Body Log }, error) {
	changed, stop := s.Feed.Follow(in.ID)
	defer stop()
	deadline := time.NewTimer(time.Duration(in.Wait) * time.Second)
	defer deadline.Stop()
	for waiting := in.Wait > 0; ; {
		log, err := s.logNow(ctx, in.OfNode, in.Attempt, in.From)
		if err != nil || !waiting || log.Ended || len(log.Lines) > 0 {
			return &struct{ Body Log }{log}, err
		}
		select {
		case _, waiting = <-changed:
		case <-deadline.C:
			waiting = false
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// logNow reads what there is of a log in the turn of the reader's project.
func (s *steering) logNow(ctx context.Context, of OfNode, attempt int, from int64) (Log, error) {
	leave, err := s.Work.enter(ctx)
	if err != nil {
		return Log{}, err
	}
	defer leave()
	// The node first: if it has ended, all of its log is there to be read.
	n, err := s.node(ctx, of)
	if err != nil {
		return Log{}, err
	}
	return s.logOf(ctx, of.ID, n, attempt, from)
}

func (s *steering) logOf(ctx context.Context, id string, n *execution.TreeNode, attempt int, from int64) (Log, error) {
	if attempt == 0 {
		attempt = max(n.Attempt, 1)
	}
	out := Log{Node: string(n.ID), Attempt: attempt, Attempts: n.Attempt, Lines: []LogLine{}, Next: from}
	read, size := 0, 0
	for more := true; more; {
		chunks, err := s.Store.ReadLog(ctx, engine.LogStream(id, n.ID, attempt), out.Next, logRead)
		if err != nil {
			return Log{}, err
		}
		for _, c := range chunks {
			if read, size = read+1, size+len(c.Data); size > logBytes && read > 1 || read > logChunks {
				return out, nil
			}
			out.Lines = append(out.Lines, linesOf(c)...)
			out.Next = c.Number + 1
		}
		more = len(chunks) == logRead
	}
	out.Ended = n.Status.Terminal() || n.Attempt > attempt
	return out, nil
}

// linesOf reads a chunk. A line that isn't one, as a delegate could store before
// they were checked, is told of in its place: the rest is still worth reading.
func linesOf(c store.LogChunk) []LogLine {
	var lines []LogLine
	for text := range bytes.Lines(c.Data) {
		var l LogLine
		if err := json.Unmarshal(text, &l); err != nil {
			l = LogLine{Level: string(logstream.Error), Text: "(a line that can't be read)"}
		}
		lines = append(lines, l)
	}
	return lines
}
