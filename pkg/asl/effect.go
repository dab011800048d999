package asl

import (
	"crypto/rand"
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
	params, f := t.parameters("")
	if f != nil {
		return f
	}
	arn, _ := params["StateMachineArn"].(string)
	name, ok := params["Name"].(string)
	if !ok {
		name = rand.Text() // as AWS makes one up
	}
	m := e.Machines[last(arn)]
	if m == nil {
		return &Failure{Name: "StepFunctions.StateMachineDoesNotExistException", Cause: fmt.Sprintf("State Machine Does Not Exist: '%s'", arn)}
	}
	if taken, err := e.taken(name); err != nil || taken {
		return &Failure{Name: "StepFunctions.ExecutionAlreadyExistsException", Cause: fmt.Sprintf("Execution Already Exists: '%s'", name)}
	}
	input, f := nestedInput(params["Input"])
	if f != nil {
		return f
	}
	r := e.newRun(name, m, input, t.token())
	t.child = r
	r.touched = t.run.changed().add(r)
	r.root.enter(m.states.StartAt, input)
	return nil
}

// nestedInput is what a nested run begins with: a text is taken for JSON as it
// is, and nothing for an empty object.
func nestedInput(v any) (any, *Failure) {
	switch v := v.(type) {
	case nil:
		return map[string]any{}, nil
	case string:
		data, err := decode([]byte(v))
		if err != nil {
			return nil, &Failure{Name: "StepFunctions.InvalidExecutionInputException", Cause: "Invalid State Machine Execution Input: '" + err.Error() + "'"}
		}
		return data, nil
	}
	return v, nil
}

// last is the name at the end of an ARN.
func last(arn string) string { return arn[strings.LastIndex(arn, ":")+1:] }
