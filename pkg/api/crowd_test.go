package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/task"
)

// TestACrowdStandsInNobodysWay: tasks that no delegate can take yet are the
// oldest, and there are more of them than one look at the open tasks sees.
func TestACrowdStandsInNobodysWay(t *testing.T) {
	t.Parallel()
	c := serve(t)
	crowd := "pipeline:\n  {name: crowd, identifier: crowd, stages: [{stage: {name: s, identifier: s, type: Custom, spec: {execution: {steps: [{parallel: ["
	const many = 210
	for i := range many {
		crowd += fmt.Sprintf("{step: {name: s%d, identifier: s%[1]d, type: ShellScript, timeout: 10m, spec: {shell: Bash, onDelegate: true, "+
			"delegateSelectors: [nowhere], source: {type: Inline, spec: {script: x}}}}}, ", i)
	}
	c.run(crowd + "]}]}}}}]}\n")
	// Once a delegate for all of them can give all of them back, all are open.
	c.post(c.dlg, "register", task.Register{ID: "d2", Name: "nowhere", Kinds: []task.Kind{task.KindShell}, Capacity: many}, nil)
	var held []task.Assignment
	for len(held) < many {
		held = append(held, c.claim("d2"))
	}
	for _, a := range held {
		c.post(c.dlg, taskPath("d2", a, "release"), task.Held{ID: a.ID, Fence: a.Fence}, nil)
	}
	c.register("d1")
	e := c.run(strings.Replace(pipeline, "echo hello", "echo through", 1))
	if a := c.claim("d1"); a.Execution != e.ID {
		t.Errorf("got task %s of execution %s; want one of %s", a.ID, a.Execution, e.ID)
	}
}
