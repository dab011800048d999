package asl

import (
	"fmt"
	"strings"
	"time"
)

// begin lets the effect of a changed thread happen. The engine is locked.
func (t *thread) begin() {
	e := t.run.engine
	if e.closed {
		return
	}
	t.lastBeat = time.Now()
	switch t.wait {
	case waitTask, waitToken:
		e.work.Add(1)
		go t.invoke(t.seq)
		t.arm()
	case waitTimer, waitRetry, waitChild:
		t.arm()
	case waitPending, waitBranches, waitEnded:
	}
}

// nest starts the nested run of a startExecution task, in the same commit as
// the task itself.
func (t *thread) nest() *Failure {
	e := t.run.engine
	v, f := t.parameters("")
	if f != nil {
		return f
	}
	params, _ := v.(map[string]any)
	arn, _ := params["StateMachineArn"].(string)
	name, _ := params["Name"].(string)
	m := e.Machines[last(arn)]
	if m == nil || name == "" {
		return &Failure{Name: "StepFunctions.StateMachineDoesNotExistException", Cause: fmt.Sprintf("machine %q, name %q", arn, name)}
	}
	if taken, err := e.taken(name); err != nil || taken {
		return &Failure{Name: "StepFunctions.ExecutionAlreadyExistsException", Cause: fmt.Sprintf("run %s (%v)", name, err)}
	}
	input := params["Input"]
	if input == nil {
		input = map[string]any{}
	}
	r := e.newRun(name, m, input, t.token())
	t.child = r
	r.touched = t.run.changed().add(r)
	r.root.enter(m.states.StartAt, input)
	return nil
}

// last is the name at the end of an ARN.
func last(arn string) string { return arn[strings.LastIndex(arn, ":")+1:] }
