package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/textdiff"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// difference is how an object in the cluster would change.
type difference struct {
	object *unstructured.Unstructured
	made   bool   // it isn't there yet
	than   string // what it is compared with, if that has another name
	text   string // unified hunks; empty if nothing would change
}

// rehearse has the server say what applying objects would do, without doing
// it, and compares that with what there is. Everything that the server refuses
// is said; the error is the first of it.
func (a *applier) rehearse(ctx context.Context, objects []*unstructured.Unstructured, log io.Writer) ([]difference, error) {
	a.brings = map[string]bool{}
	for _, o := range objects {
		if o.GetKind() == "Namespace" {
			a.brings[o.GetName()] = true
		}
	}
	found := make([]difference, len(objects))
	refused := make([]error, len(objects))
	g, waveCtx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, o := range objects {
		g.Go(func() error {
			found[i], refused[i] = a.rehearseOne(waveCtx, o, log)
			if fault.Is(refused[i], fault.Unavailable) || fault.Is(refused[i], fault.Unauthenticated) {
				return refused[i] // so would be the rest
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	refused = slices.DeleteFunc(refused, func(err error) bool { return err == nil })
	if len(refused) == 0 {
		return found, nil
	}
	if len(refused) > 1 && ctx.Err() == nil {
		for _, err := range refused {
			say(a.env.LogError(unitInitialize), "%s", err)
		}
		return nil, fmt.Errorf("the cluster refuses %d of %d objects, first %w", len(refused), len(objects), refused[0])
	}
	return nil, refused[0]
}

func (a *applier) rehearseOne(ctx context.Context, o *unstructured.Unstructured, log io.Writer) (difference, error) {
	d := difference{object: o}
	after, err := a.applyOne(ctx, o, true, log)
	if err != nil {
		return d, err
	}
	before, err := a.present(ctx, o)
	if err != nil {
		return d, err
	}
	d.made = before == nil
	if older := a.older[display(o)]; d.made && older != "" {
		d.than = older
		if before, err = a.present(ctx, olderOf(o, older)); err != nil {
			return d, err
		}
		if before != nil {
			before.SetName(o.GetName())
		}
	}
	if after == nil { // nobody knows yet what the cluster would make of it
		after = o
	}
	d.text, err = applying.Difference(before, after)
	return d, err
}

// olderOf is the object that was of the same use in an earlier release.
func olderOf(o *unstructured.Unstructured, name string) *unstructured.Unstructured {
	older := o.DeepCopy()
	older.SetName(name)
	return older
}

// present reads an object if its kind is known.
func (a *applier) present(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live, err := a.client.Get(ctx, o)
	if errors.Is(err, applying.ErrNoKind) {
		return nil, nil
	}
	return live, err
}

// maxDiffLines bounds what a deployment logs of its changes.
const maxDiffLines = 2000

// tell says in the log what would change. What is new is only named, unless
// all is asked for.
func tell(found []difference, all bool, log io.Writer) {
	left, same := maxDiffLines, 0
	for _, d := range found {
		switch {
		case d.text == "" && d.than == "":
			same++
			continue
		case d.made && d.than == "":
			say(log, "%s is new", display(d.object))
		case d.made && d.text == "":
			say(log, "%s is new, the same as %s", display(d.object), d.than)
		case d.made:
			say(log, "%s is new; compared with %s:", display(d.object), d.than)
		default:
			say(log, "%s changes:", display(d.object))
		}
		if d.made && d.than == "" && !all {
			continue
		}
		lines := textdiff.Lines(d.text)
		for _, line := range lines[:min(len(lines), left)] {
			say(log, "%s", line)
		}
		if left -= len(lines); left <= 0 {
			say(log, "more changes aren't shown after %d lines", maxDiffLines)
			return
		}
	}
	if same > 0 {
		say(log, "%d of %d objects don't change", same, len(found))
	}
}

// diffText is all differences as one text, each below the name of its object.
func diffText(found []difference) string {
	var b strings.Builder
	for _, d := range found {
		if d.text == "" {
			continue
		}
		before := display(d.object)
		switch {
		case d.than != "":
			before = d.object.GetKind() + "/" + d.than
		case d.made:
			before = "/dev/null"
		}
		fmt.Fprintf(&b, "--- %s\n+++ %s\n%s", before, display(d.object), d.text)
	}
	return b.String()
}
