package catalog

import (
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// fits says what is wrong with an input set for its pipeline: values that have
// no place, aren't allowed, or make a document that can't be saved (pipeline
// spec §2.4). Inputs without a value are fine: a set may be a part.
func fits(pipeline *yamldoc.Node, values *yamldoc.Node, scope ref.Scope, file string) []fault.Detail {
	const mark = "\x00set" // tells the set's values from the pipeline's own
	merged := input.Merge(pipeline, nil, input.Source{Doc: values.From(mark)})
	wrong := merged.Wrong
	if len(wrong) == 0 {
		report := yamldoc.NewReport(string(ref.Pipeline))
		Decode(root(ref.Pipeline, merged.Doc), report, scope)
		for _, d := range report.Details() {
			if d.File == mark && d.Severity == "error" {
				wrong = append(wrong, d)
			}
		}
	}
	for i := range wrong {
		if wrong[i].File == mark {
			wrong[i].File = file
		}
	}
	return wrong
}

func root(kind ref.Kind, doc *yamldoc.Node) *yamldoc.Node {
	return &yamldoc.Node{
		Kind: yamldoc.Mapping, Line: doc.Line, Column: doc.Column,
		Entries: []yamldoc.Entry{{Key: string(kind), Line: doc.Line, Column: doc.Column, Value: doc}},
	}
}

// checkInputSet refuses a set that doesn't fit its pipeline, and one whose
// identifier an overlay of the pipeline has, or the other way round: a run
// names either. A pipeline that isn't there yet is a warning like any
// reference (pipeline spec §2.4).
func (c *Catalog) checkInputSet(ctx context.Context, e *entity.Entity, file string) error {
	key := keyOf(e)
	switch e.Kind {
	case ref.InputSet:
		key.Kind = ref.OverlayInputSet
	case ref.OverlayInputSet:
		key.Kind = ref.InputSet
	default:
		return nil
	}
	switch _, err := c.Store.Entity(ctx, key); {
	case err == nil:
		return fault.New(fault.Conflict, "there is the %s already; a run couldn't tell it from the %s", describe(key), e.Kind)
	case !fault.Is(err, fault.NotFound):
		return err
	}
	if e.Kind == ref.OverlayInputSet {
		return nil
	}
	pipeline, err := c.pipeline(ctx, e.Parent)
	if err != nil || pipeline == nil {
		return err
	}
	if wrong := fits(pipeline, e.InputSet.Values, e.Scope, file); len(wrong) > 0 {
		return fault.New(fault.Invalid, "the input set doesn't fit %s", describe(store.EntityKey{Scope: e.Scope, Kind: ref.Pipeline, ID: e.Parent.ID})).With(wrong...)
	}
	return nil
}

// pipeline reads the document of a pipeline below its root key; nil if there
// is no such pipeline.
func (c *Catalog) pipeline(ctx context.Context, r ref.Ref) (*yamldoc.Node, error) {
	e, err := c.Store.Entity(ctx, store.EntityKey{Scope: r.Scope, Kind: ref.Pipeline, ID: r.ID})
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return below(e)
}

// below is a saved document below its root key.
func below(e store.Entity) (*yamldoc.Node, error) {
	docs, report := yamldoc.Parse(string(e.Key.Kind)+" "+e.Key.ID, e.YAML)
	if err := report.Err(); err != nil {
		return nil, err
	}
	if len(docs) != 1 || docs[0].Get(string(e.Key.Kind)) == nil {
		return nil, fmt.Errorf("%s has no document", describe(e.Key))
	}
	return docs[0].Get(string(e.Key.Kind)), nil
}
