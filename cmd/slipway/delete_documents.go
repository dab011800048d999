package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// deleteDocuments deletes what documents describe. If one of them doesn't say
// which entity it is, nothing is deleted.
func (a *app) deleteDocuments(ctx context.Context, f deleteFlags) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	read, err := a.reader.readDocuments(ctx, f.files, f.documentFlags)
	if err != nil {
		return err
	}
	defer a.shows.tellSkipped(read.skipped, f.verbose)
	keys, wrong := a.allDescribed(read.docs, scope)
	if wrong = append(read.wrong, wrong...); len(wrong) > 0 {
		return a.shows.nothingDone(wrong, "deleted")
	}
	return a.deleteAll(ctx, client, keys, f)
}

// allDescribed are the entities that documents describe, each once, in the
// reverse of the order in which they are saved.
func (a *app) allDescribed(docs []document, scope ref.Scope) ([]apiclient.EntityKey, []fault.Detail) {
	var keys []apiclient.EntityKey
	var wrong []fault.Detail
	for _, d := range docs {
		report := yamldoc.NewReport(d.file)
		key, ok := described(d.node, report, d.scope(a.caller, scope))
		switch {
		case !ok:
			for _, f := range report.Details() {
				wrong = append(wrong, d.place(f))
			}
		case !slices.Contains(keys, key):
			keys = append(keys, key)
		}
	}
	slices.SortStableFunc(keys, func(x, y apiclient.EntityKey) int {
		return -cmp.Compare(slices.Index(ref.Kinds(), x.Kind), slices.Index(ref.Kinds(), y.Kind))
	})
	return keys, wrong
}

// deleteAll deletes entities. One that others of them refer to, as templates
// do to each other, is deleted after those.
func (a *app) deleteAll(ctx context.Context, client *apiclient.Client, keys []apiclient.EntityKey, f deleteFlags) error {
	refused := map[apiclient.EntityKey]error{}
	for left := keys; len(left) > 0; {
		var again []apiclient.EntityKey
		for _, key := range left {
			err := a.deleteOne(ctx, client, key, f)
			if ctx.Err() != nil {
				return interrupted
			}
			delete(refused, key)
			if err != nil {
				refused[key] = err
			}
			if fault.Is(err, fault.Referenced) {
				again = append(again, key)
			}
		}
		if len(again) == len(left) {
			break
		}
		left = again
	}
	for _, key := range keys {
		if err := refused[key]; err != nil {
			complain(a.err, err)
		}
	}
	if len(refused) > 0 {
		return failed
	}
	return nil
}
