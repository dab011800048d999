package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/printable"
)

// follower shows an execution until it ends.
type follower struct {
	env      func(string) string
	out, err io.Writer
	stop     func()
	shows    *output
}

// follow shows an execution until it ends: in place on a terminal, else line
// by line. The exit code is the execution's success. If the output is JSON or
// YAML, it is the execution at its end, and the progress goes where errors go.
func (w *follower) follow(ctx context.Context, client *apiclient.Client, id string) error {
	var last api.ExecutionTree
	var err error
	table, progress := true, w.shows.people()
	if w.shows.output == "json" || w.shows.output == "yaml" {
		table, progress = false, w.err
	}
	if width, height, ok := terminal(w.out); ok && table {
		last, err = w.animate(ctx, client, id, width, height)
	} else {
		told := &narrator{}
		err = client.Watch(ctx, id, func(t api.ExecutionTree) {
			last = t
			for _, line := range told.lines(t) {
				fmt.Fprintln(progress, printable.Line(line))
			}
			w.prompt(t, told)
		})
	}
	if ctx.Err() != nil {
		w.stop()
		fmt.Fprintf(w.err, "\nStopped looking; the execution goes on.\n  slipway executions watch %s   follows it again\n  slipway abort %s              ends it\n", id, id)
		return interrupted
	}
	if err != nil {
		return err
	}
	err = w.shows.print(last, func() error {
		fmt.Fprintf(w.shows.people(), "%s %s in %s\n", last.ID, last.Status, took(last.Execution, last.EndedAt))
		w.shows.epilogue(last)
		return nil
	})
	if err != nil {
		return err
	}
	if !last.Status.Good() {
		return failed
	}
	return nil
}

// terminal gives the size of a terminal; false if w isn't one.
func terminal(w io.Writer) (width, height int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, 0, false
	}
	width, height, err := term.GetSize(int(f.Fd()))
	return width, height, err == nil
}

// frameEvery is how often times on the screen are brought up to date.
const frameEvery = 500 * time.Millisecond

// animate redraws the tree in place.
func (w *follower) animate(ctx context.Context, client *apiclient.Client, id string, width, height int) (api.ExecutionTree, error) {
	trees := make(chan api.ExecutionTree)
	ended := make(chan error, 1)
	go func() {
		ended <- client.Watch(ctx, id, func(t api.ExecutionTree) {
			t.Root = clone(t.Root)
			select {
			case trees <- t:
			case <-ctx.Done():
			}
		})
	}()
	tick := time.NewTicker(frameEvery)
	defer tick.Stop()
	s := screen{out: w.out}
	var last api.ExecutionTree
	for {
		select {
		case last = <-trees:
		case <-tick.C:
		case err := <-ended:
			return last, err
		}
		if last.Root == nil {
			continue
		}
		v := view{now: time.Now(), width: width, height: height - 2, color: w.env("NO_COLOR") == ""}
		s.draw(v.lines(last), hints(last))
	}
}

// clone copies a tree, which the watch goes on changing.
func clone(n *execution.TreeNode) *execution.TreeNode {
	c := *n
	c.Children = make([]*execution.TreeNode, len(n.Children))
	for i, child := range n.Children {
		c.Children[i] = clone(child)
	}
	return &c
}

// screen overwrites what it drew last.
type screen struct {
	out  io.Writer
	rows int
}

func (s *screen) draw(lines, more []string) {
	var b strings.Builder
	if s.rows > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.rows)
	}
	lines = append(lines, more...)
	for _, l := range lines {
		b.WriteString("\x1b[2K" + l + "\n")
	}
	b.WriteString("\x1b[J")
	s.rows = len(lines)
	fmt.Fprint(s.out, b.String())
}

// hints say how to answer what an execution waits for.
func hints(t api.ExecutionTree) []string {
	var out []string
	walk(t.Root, func(n *execution.TreeNode) {
		if h := hint(t.ID, n); h != "" {
			out = append(out, printable.Line(h))
		}
	})
	if h := unseenHint(t); h != "" {
		out = append(out, h)
	}
	return out
}

// unseenHint says how to see the nodes that wait for people and aren't shown.
func unseenHint(t api.ExecutionTree) string {
	if forPeople(t.Status) && unseen(t, forPeople) > 0 {
		return fmt.Sprintf("see what waits and isn't shown with: slipway executions get %s --status %s", t.ID, t.Status)
	}
	return ""
}

func hint(id string, n *execution.TreeNode) string {
	switch {
	case n.Child != "" && forPeople(n.Status):
		return "see what it waits for with: slipway describe execution " + n.Child
	case n.Status == plan.ApprovalWaiting && n.Approval != nil:
		return fmt.Sprintf("answer with: slipway approve %s %s", id, n.Identifier)
	case n.Status == plan.InputWaiting && len(n.Asks) > 0:
		return fmt.Sprintf("see what is asked with: slipway inputs answer %s %s", id, n.Identifier)
	case n.Status == plan.InputWaiting && n.Kind == plan.KindStage:
		return fmt.Sprintf("run it with: slipway inputs answer %s %s", id, n.Identifier)
	case n.Status == plan.InterventionWaiting:
		return fmt.Sprintf("answer with: slipway intervene %s %s --action Retry", id, n.Identifier)
	default:
		return ""
	}
}

// prompt says once for each wait how to answer it.
func (w *follower) prompt(t api.ExecutionTree, told *narrator) {
	walk(t.Root, func(n *execution.TreeNode) {
		key := n.ID + "?"
		switch h := hint(t.ID, n); {
		case h == "":
			delete(told.told, key)
		case told.told[key] == "":
			told.told[key] = h
			fmt.Fprintln(w.err, h)
		}
	})
	const key = "?"
	if h := unseenHint(t); h == "" {
		delete(told.told, key)
	} else if told.told[key] != h {
		told.told[key] = h
		fmt.Fprintln(w.err, h)
	}
}

// epilogue says why an execution failed and where to look.
func (o *output) epilogue(t api.ExecutionTree) {
	if !t.Status.Bad() {
		return
	}
	found := false
	walk(t.Root, func(n *execution.TreeNode) {
		if !n.Status.Bad() || len(n.Children) > 0 {
			return
		}
		found = true
		fmt.Fprintf(o.err, "%s %s: %s\n", n.Identifier, n.Status, strings.TrimSpace(n.Message))
		if n.LogStream != "" {
			fmt.Fprintf(o.err, "  slipway logs %s %s\n", t.ID, n.Identifier)
		}
	})
	if !found && t.Message != "" {
		fmt.Fprintln(o.err, t.Message)
	}
	if n := unseen(t, plan.Status.Bad); n > 0 {
		fmt.Fprintf(o.err, "%s more failed; see them with: slipway executions get %s --status Failed,Errored,Expired,Aborted,AbortedByFreeze,ApprovalRejected\n", thousands(n), t.ID)
	}
}
