package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// errWaitLimit ends a wait that --timeout bounds.
var errWaitLimit = errors.New("--timeout is over")

// gone waits until a deleted object isn't there any more, finalizers and grace
// periods included. One that was made anew meanwhile counts as gone.
func (c *client) gone(ctx context.Context, o *unstructured.Unstructured) error {
	err := c.watchOne(ctx, o, func(live *unstructured.Unstructured) (bool, error) {
		return live == nil || live.GetDeletionTimestamp() == nil, nil
	})
	switch {
	case errors.Is(err, errNoKind):
		return nil
	case errors.Is(err, errWaitLimit):
		return fault.New(fault.Conflict, "%s is still there: %w", display(o), err).Causing(fault.Unknown)
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%s is still there: %w", display(o), err)
	}
	return about(o, err)
}

// allGone waits for deleted objects, unless a flag says not to.
func (a *applier) allGone(ctx context.Context, deleted []*unstructured.Unstructured) error {
	if a.flags.NoWait || a.flags.DryRun {
		return nil
	}
	if limit := a.flags.WaitLimit; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errWaitLimit)
		defer cancel()
	}
	for _, o := range deleted {
		if err := a.client.gone(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// deleteAll deletes objects, says which of them were there, and gives these.
func (a *applier) deleteAll(ctx context.Context, objects []*unstructured.Unstructured, log io.Writer) ([]*unstructured.Unstructured, error) {
	var deleted []*unstructured.Unstructured
	for _, o := range objects {
		was, err := a.delete(ctx, o)
		if err != nil {
			return nil, err
		}
		if was {
			say(log, "%s deleted", display(o))
			deleted = append(deleted, o)
		}
	}
	return deleted, nil
}
