package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// manager owns the fields that Slipway applies.
const manager = "slipway"

// atOnce bounds the requests of one wave.
const atOnce = 16

// applier makes a cluster's objects what manifests say, and takes them away.
type applier struct {
	client  *client
	env     executor.Env
	p       lane.Spec
	lookout *lookout
	flags   lane.Flags
	// beside is a workload that serves nobody yet, as Kind/name: it is made
	// anew if it can't be changed.
	beside string
	// brings are the namespaces that the manifests make themselves.
	brings map[string]bool
	// older are the names that versioned objects, as Kind/name, had in the
	// previous release.
	older map[string]string
}

// apply applies objects in the order of their kinds, those of one kind side
// by side.
func (a *applier) apply(ctx context.Context, objects []*unstructured.Unstructured, log io.Writer) error {
	for start := 0; start < len(objects); {
		end := start
		for end < len(objects) && order(objects[end].GetKind()) == order(objects[start].GetKind()) {
			end++
		}
		g, waveCtx := errgroup.WithContext(ctx)
		g.SetLimit(atOnce)
		for _, o := range objects[start:end] {
			g.Go(func() error {
				_, err := a.applyOne(waveCtx, o, false, log)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		for _, o := range objects[start:end] {
			say(log, "%s applied", display(o))
		}
		if err := a.define(ctx, objects[start:end]); err != nil {
			return err
		}
		start = end
	}
	return nil
}

// applyOne is a server-side apply and gives the object as the server has it
// then, or would have it. That is nil if only the real thing can tell.
func (a *applier) applyOne(ctx context.Context, o *unstructured.Unstructured, dryRun bool, log io.Writer) (*unstructured.Unstructured, error) {
	res, err := a.client.resource(o)
	if err != nil {
		if dryRun && errors.Is(err, errNoKind) {
			return nil, nil // of a kind that the manifests define themselves
		}
		return nil, err
	}
	live, err := a.patch(ctx, res, o, dryRun)
	for err != nil { // the server tells of some at a time
		known := a.mend(o, err, log)
		if known == nil {
			break
		}
		o = known
		live, err = a.patch(ctx, res, o, dryRun)
	}
	if err != nil && (a.flags.Recreate || a.beside == display(o)) && immutable(err) {
		if dryRun {
			return nil, nil
		}
		if err = a.recreate(ctx, res, o); err == nil {
			say(log, "%s can't be changed and is made anew", display(o))
			live, err = a.patch(ctx, res, o, dryRun)
		}
	}
	if err == nil && !dryRun {
		var ours bool
		if ours, err = takeOver(ctx, res, live, a.patchOptions(false).FieldManager); ours {
			live, err = a.patch(ctx, res, o, dryRun)
		}
	}
	if err == nil {
		if !dryRun {
			a.lookout.past.note(live)
		}
		return live, nil
	}
	if dryRun && a.brings[missingNamespace(err)] {
		return nil, nil // so only the real thing can tell
	}
	return nil, about(o, classify(err))
}

// about says which object an error is about; its code stays.
func about(o *unstructured.Unstructured, err error) error {
	var coded *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &coded):
		return fault.New(coded.Code, "%s: %w", display(o), err).Causing(coded.Failures...)
	}
	return fmt.Errorf("%s: %w", display(o), err)
}

func (a *applier) patch(ctx context.Context, res dynamic.ResourceInterface, o *unstructured.Unstructured, dryRun bool) (*unstructured.Unstructured, error) {
	body, err := a.body(o)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%w", err)
	}
	return res.Patch(ctx, o.GetName(), types.ApplyPatchType, body, a.patchOptions(dryRun))
}

// dryRun has the server check all objects before anything is changed, and
// tells what will change.
func (a *applier) dryRun(ctx context.Context, objects []*unstructured.Unstructured) error {
	if a.p.SkipDryRun {
		return nil
	}
	log := a.env.Log(unitInitialize)
	found, err := a.rehearse(ctx, objects, log)
	if err != nil {
		return err
	}
	say(log, "Dry run: the cluster accepts the manifests")
	tell(found, false, log)
	return nil
}

// delete deletes an object and its dependents; one that isn't there is fine,
// and so is one whose very kind has gone.
func (a *applier) delete(ctx context.Context, o *unstructured.Unstructured) (bool, error) {
	res, err := a.client.resource(o)
	if errors.Is(err, errNoKind) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = res.Delete(ctx, o.GetName(), a.deleteOptions())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, about(o, classify(err))
}

// get reads an object as it is in the cluster; nil if it isn't there.
func (c *client) get(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	res, err := c.resource(o)
	if err != nil {
		return nil, err
	}
	live, err := res.Get(ctx, o.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, about(o, classify(err))
}
