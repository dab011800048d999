package kubernetes

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/applying"
)

// keepBefore keeps with a release the workloads as they are, until one has
// succeeded: what deployed them before can't be asked to go back. A release
// that is gone on with has kept them already.
func (a *applier) keepBefore(ctx context.Context, all []*release, current *release, objects []*unstructured.Unstructured) error {
	if current.version != "" || lastGood(all, current, modeRolling) != nil {
		return nil
	}
	for _, r := range all { // what failed since isn't to go back to
		if r.Mode == modeRolling {
			current.Before = r.Before
			return nil
		}
	}
	for _, w := range awaited(objects) {
		live, err := a.present(ctx, w)
		if err != nil {
			return err
		}
		if live != nil {
			current.Before = append(current.Before, applying.Plain(live))
		}
	}
	return nil
}

// announcePruning says what will be deleted once the release stands.
func (p *pruner) announcePruning(ctx context.Context, all []*release, current *release, objects []*unstructured.Unstructured) error {
	previous := lastGood(all, current, modeRolling)
	if !p.p.Pruning || p.p.SkipDryRun || previous == nil || !previous.Pruning {
		return nil
	}
	for _, o := range missing(previous, objects) {
		if o.GetKind() == "Namespace" || annotated(o, annotationSkipPruning) {
			continue
		}
		live, err := p.applier.present(ctx, o)
		if err != nil {
			return err
		}
		if live != nil {
			say(p.env.Log(unitInitialize), "%s isn't in the manifests any more and will be pruned", display(o))
		}
	}
	return nil
}
