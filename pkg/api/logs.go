package api

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
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
	First    int       `json:"first,omitempty" doc:"With tail: the number of the first line, from 1, if all lines before it were looked at; none: it isn't known, for there are more before these"`
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
	// endRead is how many chunks at a log's end are read at once: mostly one has the lines.
	endRead = 4
)

// ofLog says which part of a log is wanted.
type ofLog struct {
	attempt, tail int
	from, to      int64
}

func (s *steering) readLog(ctx context.Context, in *struct {
	OfNode
	Attempt int   `query:"attempt" minimum:"0" doc:"1 is the first; none means the latest"`
	From    int64 `query:"from" minimum:"0" doc:"next of the part before; none for the beginning"`
	To      int64 `query:"to" minimum:"0" doc:"End before this: next of another part; none for the end"`
	Tail    int   `query:"tail" minimum:"0" maximum:"1000" doc:"So many lines at the end instead, of 2 MiB at most; what is written later begins at next"`
	Wait    int   `query:"wait" minimum:"0" maximum:"60" doc:"Wait so many seconds for lines, unless the log has ended"`
}) (*struct{ Body Log }, error) {
	if in.Tail > 0 && (in.From > 0 || in.To > 0) {
		return nil, invalid("tail and from or to are both given; a part of a log begins somewhere, or it is the end")
	}
	changed, stop := s.Feed.Follow(in.ID)
	defer stop()
	deadline := time.NewTimer(time.Duration(in.Wait) * time.Second)
	defer deadline.Stop()
	for waiting := in.Wait > 0; ; {
		log, err := s.logNow(ctx, in.OfNode, ofLog{in.Attempt, in.Tail, in.From, in.To})
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
func (s *steering) logNow(ctx context.Context, of OfNode, wanted ofLog) (Log, error) {
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
	return s.logOf(ctx, of.ID, n, wanted)
}

func (s *steering) logOf(ctx context.Context, id string, n *execution.TreeNode, wanted ofLog) (Log, error) {
	attempt := wanted.attempt
	if attempt == 0 {
		attempt = max(n.Attempt, 1)
	}
	out := Log{Node: string(n.ID), Attempt: attempt, Attempts: n.Attempt, Lines: []LogLine{}, Next: wanted.from}
	read := func(ctx context.Context, stream string, out *Log) (bool, error) {
		return s.logPart(ctx, stream, wanted.to, out)
	}
	if wanted.tail > 0 {
		out.Next = 0
		read = func(ctx context.Context, stream string, out *Log) (bool, error) {
			return true, s.logTail(ctx, stream, wanted.tail, out)
		}
	}
	all, err := read(ctx, engine.LogStream(id, n.ID, attempt), &out)
	out.Ended = all && (n.Status.Terminal() || n.Attempt > attempt)
	return out, err
}

// logPart reads what an answer has room for, from its next on and before a number, if
// one is given. all: nothing is left of what there is.
func (s *steering) logPart(ctx context.Context, stream string, to int64, out *Log) (all bool, err error) {
	read, size := 0, 0
	for more := true; more; {
		chunks, err := s.Store.ReadLog(ctx, stream, out.Next, logRead)
		if err != nil {
			return false, err
		}
		for _, c := range chunks {
			if read, size = read+1, size+len(c.Data); size > logBytes && read > 1 || read > logChunks || to > 0 && c.Number >= to {
				return false, nil
			}
			out.Lines = append(out.Lines, linesOf(c)...)
			out.Next = c.Number + 1
		}
		more = len(chunks) == logRead
	}
	return true, nil
}

// logTail reads a log's last lines, from its end backwards, and no chunk before those
// that have them: what number they have is known only if that is all there is.
func (s *steering) logTail(ctx context.Context, stream string, tail int, out *Log) error {
	var last []store.LogChunk // the last one first
	kept, size, before := 0, 0, int64(math.MaxInt64)
	for more := true; more; {
		chunks, err := s.Store.LogEnd(ctx, stream, before, endRead)
		if err != nil {
			return err
		}
		if before == math.MaxInt64 && len(chunks) > 0 {
			out.Next = chunks[0].Number + 1
		}
		for _, c := range chunks {
			if size += len(c.Data); kept >= tail || size > logBytes && len(last) > 0 {
				before = -1
				break
			}
			last, kept, before = append(last, c), kept+linesIn(c), c.Number
		}
		if more = before >= 0 && len(chunks) == endRead; more && kept >= tail {
			more, before = false, -1
		}
	}
	for _, c := range slices.Backward(last) {
		out.Lines = append(out.Lines, linesOf(c)...)
	}
	out.Lines = out.Lines[max(0, len(out.Lines)-tail):]
	if before >= 0 {
		out.First = kept - len(out.Lines) + 1
	}
	return nil
}

// linesIn is how many lines linesOf makes of a chunk.
func linesIn(c store.LogChunk) int {
	n := bytes.Count(c.Data, []byte("\n"))
	if len(c.Data) > 0 && c.Data[len(c.Data)-1] != '\n' {
		n++
	}
	return n
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
