package kubernetes

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// errWaitLimit ends a wait that --timeout bounds.
var errWaitLimit = errors.New("--timeout is over")

// gone waits until a deleted object isn't there any more, finalizers and grace
// periods included. One that was made anew meanwhile counts as gone.
func (s *session) gone(ctx context.Context, o *unstructured.Unstructured) error {
	res, err := s.client.resource(o)
	if err != nil {
		return err
	}
	for {
		live, err := res.Get(ctx, o.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return stillThere(ctx, o, classify(err))
		}
		if live.GetDeletionTimestamp() == nil {
			return nil
		}
		w, err := res.Watch(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector("metadata.name", o.GetName()).String(), ResourceVersion: live.GetResourceVersion(),
		})
		if apierrors.IsGone(err) || apierrors.IsResourceExpired(err) {
			continue
		}
		if err != nil {
			return stillThere(ctx, o, classify(err))
		}
		err = untilDeleted(ctx, w)
		w.Stop()
		if err != nil {
			return stillThere(ctx, o, err)
		}
	}
}

// untilDeleted reads a watch until the object is deleted or the watch ends.
func untilDeleted(ctx context.Context, w watch.Interface) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e, ok := <-w.ResultChan():
			if !ok || e.Type == watch.Deleted || e.Type == watch.Error {
				return nil
			}
		}
	}
}

func stillThere(ctx context.Context, o *unstructured.Unstructured, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errWaitLimit):
		return fault.New(fault.Conflict, "%s is still there: %w", display(o), errWaitLimit).Causing(fault.Unknown)
	case ctx.Err() != nil:
		return fmt.Errorf("%s is still there: %w", display(o), context.Cause(ctx))
	}
	return err
}

// allGone waits for deleted objects, unless a flag says not to.
func (s *session) allGone(ctx context.Context, deleted []*unstructured.Unstructured) error {
	if s.flags.NoWait || s.flags.DryRun {
		return nil
	}
	if limit := s.flags.WaitLimit; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errWaitLimit)
		defer cancel()
	}
	for _, o := range deleted {
		if err := s.gone(ctx, o); err != nil {
			return err
		}
	}
	return nil
}
