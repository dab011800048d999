package wire

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// reads are the executions that a store is asked for.
type reads struct {
	store.Executions
	of []string
}

func (r *reads) Execution(_ context.Context, id string) (store.Execution, error) {
	r.of = append(r.of, id)
	if id == "none" {
		return store.Execution{}, errors.New("there is none")
	}
	return store.Execution{ID: id, Scope: ref.Scope{Account: "a", Org: "o", Project: "p" + id[:2]}}, nil
}

// The runs of an execution, and of all executions of a project, are one's; each
// execution is read once.
func TestARunIsItsProjects(t *testing.T) {
	t.Parallel()
	kept := &reads{}
	p := newProjects(kept)
	a := p.of("x1aa-0011")
	for run, same := range map[string]bool{"x1aa-2233": true, "x1aa-0011-2": true, "x1bb-0011": true, "x2aa-0011": false, "none-0011": false} {
		if got := p.of(run); (got == a) != same {
			t.Errorf("%s is %q's, and the first run %q's", run, got, a)
		}
	}
	if len(kept.of) != 4 {
		t.Errorf("%v were read; want each once", kept.of)
	}
	for i := range mostKnown + 1 {
		p.of(fmt.Sprint("x", i, "-0"))
	}
	if len(p.known) > mostKnown {
		t.Errorf("%d are remembered", len(p.known))
	}
}
