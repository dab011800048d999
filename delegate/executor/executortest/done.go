package executortest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/task"
)

// patience is more than any task of a test takes.
const patience = 5 * time.Minute

// Does does a task, which must come to some result.
func (e *Env) Does(tb testing.TB, kind executor.Kind, a task.Assignment) task.Result {
	tb.Helper()
	ctx, stop := context.WithTimeout(tb.Context(), patience)
	defer stop()
	r, err := kind.Do(ctx, a, e.Env)
	if err != nil {
		tb.Fatalf("%s: %v\n%s", a.Node, err, e.Logged())
	}
	return r
}

// Succeeds does a task that must go well.
func (e *Env) Succeeds(tb testing.TB, kind executor.Kind, a task.Assignment) task.Result {
	tb.Helper()
	r := e.Does(tb, kind, a)
	if r.Status != task.Succeeded {
		tb.Fatalf("%s is %s: %s\n%s", a.Node, r.Status, r.Message, e.Logged())
	}
	return r
}

// Refused does a task that must fail with a message.
func (e *Env) Refused(tb testing.TB, message string, kind executor.Kind, a task.Assignment) task.Result {
	tb.Helper()
	r := e.Does(tb, kind, a)
	if r.Status != task.Failed || !strings.Contains(r.Message, message) {
		tb.Fatalf("%s is %s: %s; want a failure with %q\n%s", a.Node, r.Status, r.Message, message, e.Logged())
	}
	return r
}

// Compares does a task of a preview: it tells of what would change, as fmt prints
// the output "changed", by a difference that has some lines, and changes nothing
// itself. It gives the difference.
func (e *Env) Compares(tb testing.TB, kind executor.Kind, a task.Assignment, changed string, lines []string) string {
	tb.Helper()
	r := e.Succeeds(tb, kind, a)
	diff := fmt.Sprint(Output(tb, r, "diff"))
	if got := fmt.Sprint(Output(tb, r, "changed")); got != changed {
		tb.Errorf("there would change %s; want %s:\n%s", got, changed, diff)
	}
	for _, line := range lines {
		if !strings.Contains(diff, line+"\n") {
			tb.Errorf("the difference lacks %s:\n%s", line, diff)
		}
	}
	if len(e.Kept()) > 0 || len(r.Changes) > 0 {
		tb.Errorf("the preview keeps %v and tells the ledger %v", e.Kept(), r.Changes)
	}
	return diff
}

// Logged is all that was logged, by its units.
func (e *Env) Logged() string {
	var b strings.Builder
	for _, unit := range e.Units() {
		b.WriteString("-- " + unit + "\n" + e.Text(unit, executor.Info) + e.Text(unit, executor.Error))
	}
	return b.String()
}

// Output is one of a result's outputs; nil: it hasn't this one.
func Output(tb testing.TB, r task.Result, name string) any {
	tb.Helper()
	var doc struct {
		Output map[string]any `json:"output"`
	}
	if err := json.Unmarshal(r.Outputs, &doc); err != nil {
		tb.Fatal(err)
	}
	return doc.Output[name]
}
