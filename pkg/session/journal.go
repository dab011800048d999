package session

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The journal of an attempt is a folder: start.json, which has no secrets,
// state.json, and the log in segments, each named by the offset of its first
// byte. Of a long log the first segment and the newest are kept.
const (
	segmentSize = 1 << 20
	segmentsMax = 25 // MaxLog in all
)

// MaxLog is how much of a log is kept, in bytes.
const MaxLog = segmentSize * segmentsMax

// frameHead is what stands before the bytes of a frame: the stream, the time and
// how many they are.
const frameHead = 1 + 8 + 4

// maxFrame bounds the bytes of one frame.
const maxFrame = 32 << 10

// begun is what is kept of a start.
type begun struct {
	Step    string `json:"step"`
	Attempt int    `json:"attempt"`
	Digest  string `json:"digest"`
	Fence   int64  `json:"fence"`
}

// journal is the folder of one attempt.
type journal struct {
	dir      string
	segments []segment
	file     *os.File // of the last segment
	size     int64    // of the whole log
}

type segment struct{ from, to int64 }

func newJournal(dir string, b begun) (*journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a journal: %w", err)
	}
	j := &journal{dir: dir}
	return j, j.write("start.json", b)
}

// write replaces a file whole.
func (j *journal) write(name string, v any) error {
	doc, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	file := filepath.Join(j.dir, name)
	if err := os.WriteFile(file+".new", doc, 0o600); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// append adds a frame to the log.
func (j *journal) append(f Frame) error {
	head := make([]byte, frameHead, frameHead+len(f.Bytes))
	head[0] = byte(f.Stream) //nolint:gosec // 1 or 2
	binary.BigEndian.PutUint64(head[1:], uint64(f.Time.UnixNano()))
	binary.BigEndian.PutUint32(head[9:], uint32(len(f.Bytes))) //nolint:gosec // maxFrame at most
	if n := len(j.segments); n == 0 || j.segments[n-1].to-j.segments[n-1].from >= segmentSize {
		if err := j.next(); err != nil {
			return err
		}
	}
	n, err := j.file.Write(append(head, f.Bytes...))
	if err != nil {
		return fmt.Errorf("write the log: %w", err)
	}
	j.size += int64(n)
	j.segments[len(j.segments)-1].to = j.size
	return nil
}

// next begins a segment, and drops the second oldest where there are too many.
func (j *journal) next() error {
	if j.file != nil {
		_ = j.file.Close() // every byte was written
	}
	f, err := os.OpenFile(j.segment(j.size), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("begin a part of the log: %w", err)
	}
	j.file, j.segments = f, append(j.segments, segment{j.size, j.size})
	if len(j.segments) <= segmentsMax {
		return nil
	}
	if err := os.Remove(j.segment(j.segments[1].from)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("drop a part of the log: %w", err)
	}
	j.segments = append(j.segments[:1], j.segments[2:]...)
	return nil
}

func (j *journal) segment(from int64) string {
	return filepath.Join(j.dir, "log."+strconv.FormatInt(from, 10))
}

// maxAnswer bounds the log that one answer has.
const maxAnswer = 1 << 20

// read gives the log from an offset on, which is where a frame begins.
func (j *journal) read(offset int64) (Log, error) {
	out := Log{Frames: []Frame{}, Next: offset}
	for _, s := range j.segments {
		if s.to <= out.Next {
			continue
		}
		if s.from > out.Next {
			if len(out.Frames) > 0 {
				return out, nil
			}
			out.Dropped += s.from - out.Next
			out.Next = s.from
		}
		doc, err := j.bytes(s, out.Next)
		if err != nil {
			return out, err
		}
		for len(doc) > 0 {
			f, rest, err := cut(doc)
			if err != nil {
				return out, err
			}
			out.Frames = append(out.Frames, f)
			out.Next += int64(len(doc) - len(rest))
			doc = rest
		}
		return out, nil
	}
	return out, nil
}

// bytes reads whole frames of a segment, at most maxAnswer and the last one's.
func (j *journal) bytes(s segment, from int64) ([]byte, error) {
	f, err := os.Open(j.segment(s.from))
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	defer f.Close()
	doc := make([]byte, min(s.to-from, maxAnswer+maxFrame+frameHead))
	if _, err := f.ReadAt(doc, from-s.from); err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	end := 0
	for end < len(doc) && end < maxAnswer {
		_, rest, err := cut(doc[end:])
		if err != nil {
			return nil, err
		}
		end = len(doc) - len(rest)
	}
	return doc[:end], nil
}

// cut takes a frame off.
func cut(doc []byte) (Frame, []byte, error) {
	if len(doc) < frameHead {
		return Frame{}, nil, errors.New("the log is asked for from the middle of a frame")
	}
	n := int(binary.BigEndian.Uint32(doc[9:]))
	if doc[0] != 1 && doc[0] != 2 || n > maxFrame || len(doc) < frameHead+n {
		return Frame{}, nil, errors.New("the log is asked for from the middle of a frame")
	}
	at := time.Unix(0, int64(binary.BigEndian.Uint64(doc[1:]))) //nolint:gosec // append wrote it
	return Frame{Stream: int(doc[0]), Time: at.UTC(), Bytes: doc[frameHead : frameHead+n]}, doc[frameHead+n:], nil
}

// attemptDir is the folder of an attempt.
func attemptDir(step string, attempt int) string { return step + "-" + strconv.Itoa(attempt) }

// plain says whether a name may be part of a path.
func plain(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}
