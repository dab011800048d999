package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// TestACrowdStandsInNobodysWay: tasks that no delegate can take yet are the
// oldest, and there are more of them than one look at the open tasks sees.
func TestACrowdStandsInNobodysWay(t *testing.T) {
	t.Parallel()
	c := serve(t)
	// A machine has 40 members of a parallel block under way, so there are several
	// blocks beside each other.
	const blocks, members = 7, 30
	const many = blocks * members
	var crowd strings.Builder
	crowd.WriteString("pipeline:\n  {name: crowd, identifier: crowd, stages: [{stage: {name: s, identifier: s, type: Custom, spec: {execution: {steps: [{parallel: [")
	for b := range blocks {
		fmt.Fprintf(&crowd, "{stepGroup: {name: g%d, identifier: g%[1]d, steps: [{parallel: [", b)
		for i := range members {
			fmt.Fprintf(&crowd, "{step: {name: s%d, identifier: s%[1]d, type: ShellScript, timeout: 10m, spec: {shell: Bash, onDelegate: true, "+
				"delegateSelectors: [nowhere], source: {type: Inline, spec: {script: x}}}}}, ", i)
		}
		crowd.WriteString("]}]}}, ")
	}
	crowd.WriteString("]}]}}}}]}\n")
	c.run(crowd.String())
	// Once a delegate for all of them can give all of them back, all are open.
	c.post(c.dlg, "register", protocol.Register{ID: "d2", Name: "nowhere", Kinds: []task.Kind{task.KindShell}, Capacity: many}, nil)
	var held []task.Assignment
	for len(held) < many {
		held = append(held, c.claim("d2"))
	}
	for _, a := range held {
		c.post(c.dlg, taskPath("d2", a, "release"), protocol.Held{ID: a.ID, Fence: a.Fence}, nil)
	}
	c.register("d1")
	e := c.run(strings.Replace(pipeline, "echo hello", "echo through", 1))
	if a := c.claim("d1"); a.Execution != e.ID {
		t.Errorf("got task %s of execution %s; want one of %s", a.ID, a.Execution, e.ID)
	}
}
