package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// outlineStart is the start of every outlined execution.
func outlineStart() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// outline reads an execution as the test data writes it: its status, then a
// node a line, indented below its container, with the seconds in which it ran:
//
//	Running
//	stage build Success 0-4
//	  step compile Failed 0-2 attempt=2 : exit code 3
//	  hidden 17 Success=12
func outline(t *testing.T, text string) api.ExecutionTree {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	tree := api.ExecutionTree{Root: &execution.TreeNode{ID: "pipeline", Kind: plan.KindPipeline}}
	tree.ID, tree.Pipeline, tree.Sequence, tree.StartedAt, tree.Status = "x1", "shop", 7, outlineStart(), plan.Status(lines[0])
	above := []*execution.TreeNode{tree.Root}
	for _, line := range lines[1:] {
		depth := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		if words := strings.Fields(line); words[0] == "hidden" {
			above[depth].Hidden = outlineHidden(t, words[1:])
			continue
		}
		n := outlineNode(t, above[depth], line)
		above[depth].Children = append(above[depth].Children, n)
		above = append(above[:depth+1], n)
		if n.EndedAt.After(tree.EndedAt) && tree.Status.Terminal() {
			tree.EndedAt = n.EndedAt
		}
	}
	return tree
}

func outlineNode(t *testing.T, above *execution.TreeNode, line string) *execution.TreeNode {
	t.Helper()
	head, message, _ := strings.Cut(line, " : ")
	words := strings.Fields(head)
	n := &execution.TreeNode{Message: message, Status: plan.NotStarted, Attempt: 1}
	if words[0] == "rollback" {
		n.Rollback, words = true, words[1:]
	}
	n.Kind, n.Identifier = plan.Kind(words[0]), words[1]
	n.ID = plan.NodeID(string(above.ID) + "." + n.Identifier)
	for _, w := range words[2:] {
		from, to, isSpan := strings.Cut(w, "-")
		number, isAttempt := strings.CutPrefix(w, "attempt=")
		typ, isType := strings.CutPrefix(w, "type=")
		child, isChild := strings.CutPrefix(w, "child=")
		switch {
		case isType:
			n.Type = typ
		case isChild:
			n.Child = child
		case isAttempt:
			n.Attempt = atoi(t, number)
		case isSpan:
			n.StartedAt = outlineStart().Add(time.Duration(atoi(t, from)) * time.Second)
			if to != "" {
				n.EndedAt = outlineStart().Add(time.Duration(atoi(t, to)) * time.Second)
			}
		default:
			n.Status = plan.Status(w)
		}
	}
	return n
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(fmt.Errorf("outline: %w", err))
	}
	return n
}

func outlineHidden(t *testing.T, words []string) *execution.Hidden {
	t.Helper()
	h := &execution.Hidden{Nodes: atoi(t, words[0]), Statuses: map[plan.Status]int{}}
	for _, w := range words[1:] {
		status, n, _ := strings.Cut(w, "=")
		h.Statuses[plan.Status(status)] = atoi(t, n)
	}
	return h
}
