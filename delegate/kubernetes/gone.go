package kubernetes

import (
	"context"
	"errors"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// errWaitLimit ends a wait that --timeout bounds.
var errWaitLimit = errors.New("--timeout is over")

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
		err := a.client.Gone(ctx, o)
		if errors.Is(err, errWaitLimit) {
			return fault.New(fault.Conflict, "%w", err).Causing(fault.Unknown)
		}
		if err != nil {
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
