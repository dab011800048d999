package kubernetes

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/executor"
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
	live, err := a.client.Apply(ctx, a.recorded(o), a.way(o, dryRun), log)
	switch {
	case err != nil && dryRun && errors.Is(err, applying.ErrNoKind):
		return nil, nil // of a kind that the manifests define themselves
	case err != nil && dryRun && a.brings[applying.MissingNamespace(err)]:
		return nil, nil // so only the real thing can tell
	case err == nil && !dryRun:
		a.lookout.past.note(live)
	}
	return live, err
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

// delete deletes an object and its dependents, unless a flag spares them; one
// that isn't there is fine, and so is one whose very kind has gone.
func (a *applier) delete(ctx context.Context, o *unstructured.Unstructured) (bool, error) {
	return a.client.Delete(ctx, o, applying.Deletion{
		Propagation: metav1.DeletionPropagation(a.flags.Cascade), GracePeriod: a.flags.GracePeriod, DryRun: a.flags.DryRun,
	})
}
