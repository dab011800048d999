package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/printable"
)

// decider takes what people decide to the executions that wait for it.
type decider struct {
	in     io.Reader
	err    io.Writer
	caller *caller
	shows  *output
}

// waiting finds the step of an execution that waits for people: the named
// one, or the only one.
func (d *decider) waiting(ctx context.Context, client *apiclient.Client, args []string, status plan.Status) (*execution.TreeNode, error) {
	tree, err := client.ExecutionPart(ctx, args[0], apiclient.Part{Status: []plan.Status{status}})
	if err != nil {
		return nil, err
	}
	var found []*execution.TreeNode
	walk(tree.Root, func(n *execution.TreeNode) {
		named := len(args) < 2 || n.Identifier == args[1] || string(n.ID) == args[1]
		if named && n.Status == status && n.Child == "" {
			found = append(found, n)
		}
	})
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if tree, err = client.Execution(ctx, args[0]); err != nil {
			return nil, err
		}
		return nil, fault.New(fault.Conflict, "in execution %s, which is %s, no step%s is %s%s", tree.ID, tree.Status, named(args), status, decided(tree.Root, args))
	}
	var ids []string
	for _, n := range found {
		ids = append(ids, string(n.ID))
	}
	return nil, fault.New(fault.Invalid, "%d steps of execution %s are %s; name one of them:\n  %s", len(found), tree.ID, status, strings.Join(ids, "\n  "))
}

// decided says who has decided about the named step, or last about any of
// them; empty if nobody has.
func decided(root *execution.TreeNode, args []string) string {
	var last *execution.TreeNode
	walk(root, func(n *execution.TreeNode) {
		named := len(args) < 2 || n.Identifier == args[1] || string(n.ID) == args[1]
		if named && n.Decided != nil && (last == nil || n.Decided.At.After(last.Decided.At)) {
			last = n
		}
	})
	if last == nil {
		return ""
	}
	return fmt.Sprintf(": %s has decided %s of %s at %s", last.Decided.By, last.Decided.What, last.Identifier, last.Decided.At.UTC().Format(time.RFC3339))
}

func named(args []string) string {
	if len(args) < 2 {
		return ""
	}
	return fmt.Sprintf(" %q", args[1])
}

// walk visits a node and those below it, in the order of the pipeline.
func walk(n *execution.TreeNode, visit func(*execution.TreeNode)) {
	visit(n)
	for _, c := range n.Children {
		walk(c, visit)
	}
}

// facts shows what an answer is bound to beside the question.
func (d *decider) facts(a *plan.Approval) {
	for _, name := range slices.Sorted(maps.Keys(a.Facts)) {
		fmt.Fprintf(d.err, "  %s: %s\n", printable.Line(name), printable.Line(a.Facts[name])) // one must not make lines of its own
	}
	for _, what := range a.Changed {
		fmt.Fprintf(d.err, "  asked anew, because %s\n", what)
	}
	if a.Digest != "" {
		fmt.Fprintf(d.err, "  digest %s\n", short(a.Digest))
	}
}

// answerApproval answers an approval, bound to what is shown here.
func (d *decider) answerApproval(ctx context.Context, client *apiclient.Client, args []string, answer api.ApprovalAnswer) error {
	n, err := d.waiting(ctx, client, args, plan.ApprovalWaiting)
	if err != nil {
		return err
	}
	if n.Approval != nil {
		fmt.Fprintln(d.err, strings.TrimSpace(n.Approval.Message))
		answer.Digest = n.Approval.Digest
		d.facts(n.Approval)
	}
	if err := client.Answer(ctx, args[0], string(n.ID), answer); err != nil {
		return err
	}
	done := map[string]string{"APPROVE": "approved", "REJECT": "rejected"}[answer.Action]
	fmt.Fprintf(d.shows.people(), "%s of %s %s\n", n.Identifier, args[0], done)
	return nil
}
