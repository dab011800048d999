package e2e_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// noted are the tasks that delegates had noted as begun when they were killed.
// One that is killed in the moment in which its script starts has to say that
// the script may have run.
type noted struct {
	mu    sync.Mutex
	begun map[task.ID]bool
}

// read reads the journals of a folder while no delegate runs.
func (n *noted) read(t *testing.T, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, file := range files {
		doc, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		begun := map[task.ID]bool{}
		for text := range bytes.Lines(doc) {
			var l struct{ Begun, Ended *protocol.Held }
			if json.Unmarshal(text, &l) != nil {
				break // it was killed as it wrote that
			}
			if l.Begun != nil {
				begun[l.Begun.ID] = true
			}
			if l.Ended != nil {
				delete(begun, l.Ended.ID)
			}
		}
		for id := range begun {
			n.begun[id] = true
		}
	}
}

// of counts the attempts of a step among them.
func (n *noted) of(execution string, step *e2e.Node) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	count := 0
	for attempt := 1; attempt <= step.Attempt; attempt++ {
		if n.begun[engine.TaskID(execution, plan.NodeID(step.ID), attempt, 0)] {
			count++
		}
	}
	return count
}
