package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// marker is the variable that makes a program answer as a child. Its value is
// the memory limit.
const marker = "SLIPWAY_SANDBOX"

// Verb is one kind of work, as a child does it. What it gives becomes JSON.
type Verb func(ctx context.Context, c Call) (any, error)

// Verbs are what children can do, by name.
type Verbs map[string]Verb

// Call is a piece of work in the child.
type Call struct {
	Request json.RawMessage
	Log     io.Writer // the task's log
	// Ask has the parent answer a question, such as what is in the cluster.
	Ask func(name string, question, answer any) error
}

// Decode reads the request of a call.
func Decode[T any](c Call) (T, error) {
	var out T
	if err := json.Unmarshal(c.Request, &out); err != nil {
		return out, fmt.Errorf("decode the request: %w", err)
	}
	return out, nil
}

// Answer is the first call of every main, and of every TestMain, whose program
// runs a Sandbox. In a child it does the work and ends the process; else it
// does nothing.
func Answer(verbs Verbs) {
	if inChild() {
		os.Exit(serve(verbs))
	}
}

// The exit codes of a child that can't say more.
const (
	exitOrphan = 3 // the parent has gone
	exitBroken = 4
	exitMemory = 5 // where nothing but the child itself looks at its memory
)

// maxStack bounds recursion: it is part of the memory, and a part that no
// template comes near.
const maxStack = 128 << 20

// serve does one piece of work and gives the exit code.
func serve(verbs Verbs) int {
	memory, err := strconv.ParseInt(os.Getenv(marker), 10, 64)
	if err == nil {
		err = limit(memory)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "limit the memory:", err)
		return exitBroken
	}
	debug.SetMemoryLimit(memory * 3 / 4) // collect harder before it is reached
	debug.SetMaxStack(maxStack)
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), 2))
	l := &line{out: json.NewEncoder(os.Stdout), left: maxLog}
	l.out.SetEscapeHTML(false)
	os.Stdout = os.Stderr // whatever prints mustn't get between the frames
	in := listen(os.Stdin)
	if l.send(frame{Kind: ready}) != nil {
		return exitOrphan
	}
	w := <-in
	out := frame{Kind: done}
	doc, err := perform(verbs, w, l, in)
	switch {
	case err != nil:
		out.Error = carried(err)
	case len(doc) > MaxAnswer:
		out.Error = carried(fault.New(fault.TooLarge, "%s: %w", w.Text, errTooMuch).Causing(fault.ResourceLimitsFailure))
	default:
		out.Doc = doc
	}
	if l.send(out) != nil {
		return exitOrphan
	}
	<-in // the parent ends this process once it has read all
	return 0
}

// perform does the work. A panic is its error.
func perform(verbs Verbs, w frame, l *line, in <-chan frame) (doc json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s broke: %v", w.Text, p)
		}
	}()
	verb, ok := verbs[w.Name]
	if !ok {
		return nil, fmt.Errorf("this program doesn't know how to do %q", w.Name)
	}
	ask := func(name string, question, to any) error {
		doc, err := encode(question)
		if err != nil {
			return err
		}
		if err := l.send(frame{Kind: ask, Name: name, Doc: doc}); err != nil {
			return err
		}
		got := <-in
		if got.Error != nil {
			return got.Error.restored()
		}
		return json.Unmarshal(got.Doc, to)
	}
	made, err := verb(context.Background(), Call{Request: w.Doc, Log: l, Ask: ask})
	if err != nil {
		return nil, err
	}
	return encode(made)
}

// listen reads the parent's frames. Without a parent there is nothing to do: a
// killed one closes the pipe.
func listen(r io.Reader) <-chan frame {
	out := make(chan frame)
	go func() {
		d := json.NewDecoder(r)
		for {
			var f frame
			if err := d.Decode(&f); err != nil {
				os.Exit(exitOrphan)
			}
			out <- f
		}
	}()
	return out
}

// line is the child's way to speak, and its log.
type line struct {
	mu   sync.Mutex
	out  *json.Encoder
	left int // bytes of the log
}

func (l *line) send(f frame) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Encode(f)
}

// Write sends a part of the log.
func (l *line) Write(p []byte) (int, error) {
	l.mu.Lock()
	text := string(p[:min(len(p), l.left)])
	l.left -= len(text)
	l.mu.Unlock()
	if text == "" {
		return len(p), nil
	}
	return len(p), l.send(frame{Kind: log, Text: text})
}

// errUnready is a program that doesn't answer as a child.
var errUnready = errors.New("this program's main doesn't call sandbox.Answer before all else")
