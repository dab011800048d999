package applying

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
)

// Judge looks at an object as it is in the cluster, nil if it isn't there, and
// says whether that is what was waited for. There is nothing to wait for in an
// object that isn't there: what it says of nil ends the wait.
type Judge func(live *unstructured.Unstructured) (done bool, err error)

// lookAgain is after how much time an object is read anew although its watch
// says nothing: one that the server has lost sight of would say nothing for
// ever.
const lookAgain = time.Minute

// Watch shows an object to judge, as it is now and after each change. If
// the time is up before judge is done, the error is the cause of that.
func (c *Cluster) Watch(ctx context.Context, o *unstructured.Unstructured, judge Judge) error {
	res, err := c.Resource(o)
	if err != nil {
		return err
	}
	seconds := int64(lookAgain / time.Second)
	for {
		live, err := res.Get(ctx, o.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err := judge(nil)
			return err
		}
		if err != nil {
			return broken(ctx, err)
		}
		if done, err := judge(live); done || err != nil {
			return err
		}
		watching, why := Watching(ctx)
		w, err := res.Watch(watching, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector("metadata.name", o.GetName()).String(), ResourceVersion: live.GetResourceVersion(),
			TimeoutSeconds: &seconds,
		})
		if apierrors.IsGone(err) || apierrors.IsResourceExpired(err) {
			continue
		}
		if err != nil {
			return broken(ctx, err)
		}
		done, err := follow(ctx, w, judge)
		w.Stop()
		if done || err != nil {
			return err
		}
		if err := why(); err != nil {
			return err
		}
	}
}

// follow reads a watch until judge is done or the watch ends, as the server
// ends watches now and then.
func follow(ctx context.Context, w watch.Interface, judge Judge) (bool, error) {
	for {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case e, ok := <-w.ResultChan():
			if !ok || e.Type == watch.Error {
				return false, nil
			}
			live, isObject := e.Object.(*unstructured.Unstructured)
			if !isObject {
				continue
			}
			if e.Type == watch.Deleted {
				_, err := judge(nil)
				return true, err
			}
			if done, err := judge(live); done || err != nil {
				return done, err
			}
		}
	}
}

// broken prefers the reason why the time is up to the request that it broke.
func broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return Classify(err)
}

// Gone waits until a deleted object isn't there any more, finalizers and grace
// periods included. One that was made anew meanwhile counts as gone.
func (c *Cluster) Gone(ctx context.Context, o *unstructured.Unstructured) error {
	err := c.Watch(ctx, o, func(live *unstructured.Unstructured) (bool, error) {
		return live == nil || live.GetDeletionTimestamp() == nil, nil
	})
	switch {
	case errors.Is(err, ErrNoKind):
		return nil
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%s is still there: %w", display(o), err)
	}
	return About(o, err)
}
