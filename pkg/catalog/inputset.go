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
// no place, aren't allowed, or make a document that can't be saved
// (semantics/pipeline §2.4). Inputs without a value are fine: a set may be a
// part.
func fits(pipeline, values *yamldoc.Node, o entity.Options, file string) []fault.Detail {
	const mark = "\x00set" // tells the set's values from the pipeline's own
	merged := input.Merge(pipeline, nil, input.Source{Doc: values.From(mark), Set: true})
	wrong := merged.Wrong
	if len(wrong) == 0 {
		report := yamldoc.NewReport(string(ref.Pipeline))
		entity.Decode(rooted(ref.Pipeline, merged.Doc), report, o)
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

func rooted(kind ref.Kind, doc *yamldoc.Node) *yamldoc.Node {
	return &yamldoc.Node{
		Kind: yamldoc.Mapping, Line: doc.Line, Column: doc.Column,
		Entries: []yamldoc.Entry{{Key: string(kind), Line: doc.Line, Column: doc.Column, Value: doc}},
	}
}

// pipelineOf is the pipeline of an input set.
func pipelineOf(key store.EntityKey) store.EntityKey {
	return store.EntityKey{Scope: key.Scope, Kind: ref.Pipeline, ID: key.Env}
}

// documentOf reads a document that was saved, as a whole and below its root key.
func documentOf(key store.EntityKey, text []byte) (whole, below *yamldoc.Node, err error) {
	docs, report := yamldoc.Parse("", text)
	if err := report.Err(); err != nil {
		return nil, nil, err
	}
	if len(docs) != 1 || docs[0].Get(string(key.Kind)) == nil {
		return nil, nil, fmt.Errorf("%s has no document", key.Describe())
	}
	return docs[0], docs[0].Get(string(key.Kind)), nil
}

// valuesOf are those of an input set that was saved, below its root key.
func valuesOf(set *yamldoc.Node) *yamldoc.Node {
	return entity.DecodePart(ref.InputSet, set, yamldoc.NewReport(""), entity.Options{}).InputSet.Values
}

// SetReport says whether an input set or an overlay fits its pipeline as that
// is now.
type SetReport struct {
	Key     store.EntityKey
	Name    string
	Version int64
	Wrong   []fault.Detail // places in the set; empty: it fits
}

// InputSets reports on the input sets and overlays of a pipeline, by kind and
// identifier.
func (c *Catalog) InputSets(ctx context.Context, scope ref.Scope, pipeline string) ([]SetReport, error) {
	doc, err := Find(c.Store.Entity).below(ctx, store.EntityKey{Scope: scope, Kind: ref.Pipeline, ID: pipeline})
	if err != nil {
		return nil, err
	}
	return c.reports(ctx, scope, pipeline, doc, checksOf(doc), func(store.EntityKey) bool { return true })
}

// reports reports on those input sets and overlays of a pipeline that are
// wanted: each is read against the whole pipeline.
func (c *Catalog) reports(ctx context.Context, scope ref.Scope, pipeline string, doc *yamldoc.Node, left *checks, wanted func(store.EntityKey) bool) ([]SetReport, error) {
	var found []store.Entity
	for _, kind := range []ref.Kind{ref.InputSet, ref.OverlayInputSet} {
		if err := c.each(ctx, scope, kind, pipeline, func(e store.Entity) { found = append(found, e) }); err != nil {
			return nil, err
		}
	}
	there := map[string]bool{}
	for _, e := range found {
		there[e.Key.ID] = there[e.Key.ID] || e.Key.Kind == ref.InputSet
	}
	reports := make([]SetReport, 0, len(found))
	for _, e := range found {
		if !wanted(e.Key) {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return nil, err // nobody waits for it any more
		}
		_, set, err := documentOf(e.Key, e.YAML)
		if err != nil {
			return nil, err
		}
		r := SetReport{Key: e.Key, Name: e.Name, Version: e.Version}
		switch {
		case e.Key.Kind == ref.OverlayInputSet:
			for _, n := range missingSets(set, func(id string) bool { return there[id] }) {
				r.Wrong = append(r.Wrong, noSet(n))
			}
		case left.another():
			r.Wrong = fits(doc, valuesOf(set), c.options(Draft{Scope: scope}), "")
		default:
			r.Wrong = []fault.Detail{{Severity: "warning", Code: notChecked, Message: left.message()}}
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// missingSets are the references of an overlay to sets that don't exist.
func missingSets(overlay *yamldoc.Node, there func(string) bool) []*yamldoc.Node {
	var out []*yamldoc.Node
	if list := overlay.Get("inputSetReferences"); list != nil {
		for _, n := range list.Items {
			if !there(n.Value) {
				out = append(out, n)
			}
		}
	}
	return out
}

func noSet(n *yamldoc.Node) fault.Detail {
	return fault.Detail{
		Path: "inputSetReferences", Line: n.Line, Column: n.Column, Severity: "error", Code: "UNKNOWN_REFERENCE",
		Message: fmt.Sprintf("the pipeline has no input set %q", n.Value),
	}
}

// outdated warns of input sets that don't fit the pipeline that is to be saved
// (semantics/pipeline §2.4).
func (c *Catalog) outdated(ctx context.Context, key store.EntityKey, d Draft) ([]fault.Detail, error) {
	doc, err := Find(c.Store.Entity).resolved(ctx, key, d.YAML)
	if err != nil {
		return nil, err
	}
	left := checksOf(doc)
	v, several := c.Store.Entities.(*view)
	reports, err := c.reports(ctx, key.Scope, key.ID, doc, left, func(key store.EntityKey) bool {
		return !several || !v.has(key) // those that are saved, too, are checked themselves
	})
	if err != nil {
		return nil, err
	}
	var out []fault.Detail
	for _, r := range reports {
		if len(r.Wrong) == 1 && r.Wrong[0].Code == notChecked {
			continue
		}
		for _, w := range r.Wrong {
			out = append(out, fault.Detail{
				File: d.File, Path: w.Path, Line: doc.Line, Column: doc.Column, Severity: "warning", Code: "INPUT_SET_OUTDATED",
				Message: fmt.Sprintf("%s %s, line %d: %s", r.Key.Kind, r.Key.ID, w.Line, w.Message),
			})
		}
	}
	if n := left.skipped(); n > 0 {
		out = append(out, fault.Detail{
			File: d.File, Line: doc.Line, Column: doc.Column, Severity: "warning", Code: notChecked,
			Message: fmt.Sprintf("%d input sets weren't checked: %s", n, left.message()),
		})
	}
	return out, nil
}
