package executor

import (
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/task"
)

// Section is the section of a step's log in which its task is. What can't be
// logged the agent reports; the work goes on.
type Section struct {
	Env  Env
	Unit string // its name
}

// In goes on in another section.
func (s *Section) In(unit string) { s.Unit = unit }

// Say writes a line.
func (s *Section) Say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.Env.Log(s.Unit), format+"\n", args...) // see Section
}

// Warn writes a line that somebody should read.
func (s *Section) Warn(format string, args ...any) { s.Say("Warning: "+format, args...) }

// Ended is the end of a task: its error is written, and what was refused is a
// result.
func (s *Section) Ended(ctx context.Context, r task.Result, err error) (task.Result, error) {
	if err == nil {
		return r, nil
	}
	_, _ = fmt.Fprintln(s.Env.LogError(s.Unit), err) // see Section
	if refused := Refusal(ctx, r, err); refused != nil {
		return *refused, nil
	}
	return r, err
}

// Told is the end of a task whose result says what it came to, also where it has
// failed: the ledger goes by it. Of one that was stopped nothing is told.
func (s *Section) Told(ctx context.Context, err error, tell func(context.Context, *task.Result) error) (task.Result, error) {
	r := task.Result{Status: task.Succeeded}
	if err != nil && context.Cause(ctx) != nil {
		return r, err
	}
	if more := tell(ctx, &r); err == nil {
		err = more
	}
	return s.Ended(ctx, r, err)
}
