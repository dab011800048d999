package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/provision"
)

// provision says what the task does by its provisioner.
func (e *environment) provision(ctx context.Context, status provision.Status, data any) (provision.Done, error) {
	doc, err := json.Marshal(data)
	if err != nil {
		return provision.Done{}, fmt.Errorf("encode what is %s: %w", status, err)
	}
	var kept provision.Done
	err = e.insist(ctx, "provision", provision.Keep{Fence: e.task.Fence, Status: status, Data: doc}, &kept)
	return kept, err
}

// alone asks to be the only task that works by the provisioner. It gives the
// execution that does; empty: this one.
func (e *environment) alone(ctx context.Context) (string, error) {
	var read provision.Known
	err := e.insist(ctx, "provisions", provision.Ask{Fence: e.task.Fence, Alone: true}, &read)
	return read.Holder, err
}

// provisions are what was done by the task's provisioner.
func (e *environment) provisions(ctx context.Context) (provision.Known, error) {
	var read provision.Known
	err := e.insist(ctx, "provisions", provision.Ask{Fence: e.task.Fence}, &read)
	return read, err
}
