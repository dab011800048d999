package wire

import (
	"context"
	"strings"
	"sync"

	"github.com/slipway-cd/slipway/pkg/store"
)

// projects knows whose executions run, by the names of their machine runs.
type projects struct {
	store store.Executions

	mu    sync.Mutex
	known map[string]string // by execution
}

// mostKnown bounds the executions whose project is remembered.
const mostKnown = 10_000

func newProjects(s store.Executions) *projects {
	return &projects{store: s, known: map[string]string{}}
}

// of is the project whose execution a machine run belongs to: a run's name
// begins with the execution's id. One that can't be read is a project of its own.
func (p *projects) of(run string) string {
	id, _, _ := strings.Cut(run, "-")
	p.mu.Lock()
	who, known := p.known[id]
	p.mu.Unlock()
	if known {
		return who
	}
	e, err := p.store.Execution(context.Background(), id)
	if err != nil {
		return id
	}
	who = e.Scope.String()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= mostKnown {
		clear(p.known)
	}
	p.known[id] = who
	return who
}
