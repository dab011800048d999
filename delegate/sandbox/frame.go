package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// frame is one message between parent and child, a line of JSON.
type frame struct {
	Kind  kind            `json:"kind"`
	Name  string          `json:"name,omitempty"` // of a verb, or of what is asked
	Doc   json.RawMessage `json:"doc,omitempty"`
	Text  string          `json:"text,omitempty"` // of the log, or what the work is
	Error *failure        `json:"error,omitempty"`
}

// kind is what a frame is for.
type kind string

const (
	ready  kind = "ready"  // child: it can take work
	work   kind = "work"   // parent
	log    kind = "log"    // child
	ask    kind = "ask"    // child
	answer kind = "answer" // parent, to ask
	done   kind = "done"   // child
)

// failure is an error on its way through the pipe.
type failure struct {
	Code     fault.Code          `json:"code,omitempty"` // empty: none
	Message  string              `json:"message"`
	Failures []fault.FailureType `json:"failures,omitempty"`
}

// Error is the message.
func (f *failure) Error() string { return f.Message }

// carried readies an error for the pipe.
func carried(err error) *failure {
	if err == nil {
		return nil
	}
	out := &failure{Message: err.Error()}
	var coded *fault.Error
	if errors.As(err, &coded) {
		out.Code, out.Failures = coded.Code, coded.Failures
	}
	return out
}

// restored is the error that it was.
func (f *failure) restored() error {
	if f.Code == "" {
		return errors.New(f.Message)
	}
	return fault.New(f.Code, "%s", f.Message).Causing(f.Failures...)
}

// encode is json.Marshal without the escapes that are for HTML.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// errTooMuch is an answer beyond MaxAnswer.
var errTooMuch = fmt.Errorf("it makes more than %d MiB", MaxAnswer>>20)
