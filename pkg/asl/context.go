package asl

import (
	"encoding/json"
	"strconv"
)

// clock is how times are written in the context object.
const clock = "2006-01-02T15:04:05.000Z"

// context is the context object ($$), which is made when a path asks for it.
func (t *thread) context(token string) lookup {
	var made any
	return func() any {
		if made == nil {
			made = t.makeContext(token)
		}
		return made
	}
}

func (t *thread) makeContext(token string) any {
	r := t.run
	retries := 0
	for _, n := range t.retries {
		retries += n
	}
	ctx := map[string]any{
		"Execution": map[string]any{
			"Id": r.name, "Name": r.name, "Input": r.input, "StartTime": r.started.UTC().Format(clock), "RedriveCount": json.Number("0"),
		},
		"StateMachine": map[string]any{"Id": r.machine.Name, "Name": r.machine.Name},
		"State":        map[string]any{"Name": t.state, "EnteredTime": t.entered.UTC().Format(clock), "RetryCount": json.Number(strconv.Itoa(retries))},
	}
	if token != "" {
		ctx["Task"] = map[string]any{"Token": token}
	}
	for at := t; at != nil; at = at.parent {
		if at.isItem {
			ctx["Map"] = map[string]any{"Item": map[string]any{"Index": json.Number(strconv.Itoa(at.index)), "Value": at.item}}
			break
		}
	}
	return ctx
}
