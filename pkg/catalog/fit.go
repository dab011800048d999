package catalog

import (
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/templatestore"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Find reads an entity that others are checked against: one that is saved, or
// one that is about to be saved with them. fault.NotFound if there is none.
type Find func(ctx context.Context, key store.EntityKey) (store.Entity, error)

// misfit says what is wrong with an entity for the pipeline that it belongs to:
// errors as one fault, and warnings. A pipeline that isn't there yet is a warning
// like any reference (semantics/pipeline §2.4).
func (f Find) misfit(ctx context.Context, e *entity.Entity, d Draft, o entity.Options) ([]fault.Detail, error) {
	switch e.Kind {
	case ref.InputSet:
		o.Scope = e.Scope
		return nil, f.checkInputSet(ctx, e, d.File, o)
	case ref.OverlayInputSet:
		return nil, f.unlike(ctx, e, d.File)
	case ref.Trigger:
		return f.checkTrigger(ctx, e, d)
	default: // others belong to no pipeline
		return nil, nil
	}
}

// unlike refuses an input set whose identifier an overlay of its pipeline has,
// or the other way round: a run names either.
func (f Find) unlike(ctx context.Context, e *entity.Entity, file string) error {
	key := KeyOf(e)
	key.Kind = ref.InputSet
	if e.Kind == ref.InputSet {
		key.Kind = ref.OverlayInputSet
	}
	_, err := f(ctx, key)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil
	case err != nil:
		return err
	}
	clash := fault.New(fault.Conflict, "there is the %s already; a run couldn't tell it from the %s", key.Describe(), e.Kind)
	at := e.Identifier.At
	return clash.With(fault.Detail{
		File: file, Path: at.Path, Line: at.Line, Column: at.Column, Severity: "error", Code: string(fault.Conflict), Message: clash.Message,
	})
}

// checkInputSet refuses a set that doesn't fit its pipeline.
func (f Find) checkInputSet(ctx context.Context, e *entity.Entity, file string, o entity.Options) error {
	if err := f.unlike(ctx, e, file); err != nil {
		return err
	}
	of := pipelineOf(KeyOf(e))
	pipeline, err := f.below(ctx, of)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if wrong := fits(pipeline, e.InputSet.Values, o, file); len(wrong) > 0 {
		return fault.New(fault.Invalid, "the input set doesn't fit the %s", of.Describe()).With(wrong...)
	}
	return nil
}

// checkTrigger refuses a trigger whose values its pipeline doesn't allow. It
// warns of what an event would leave out, because the pipeline has no input for
// it, and of what would refuse every start: input sets that don't exist,
// inputs without a value.
func (f Find) checkTrigger(ctx context.Context, e *entity.Entity, d Draft) ([]fault.Detail, error) {
	of := pipelineOf(KeyOf(e))
	pipeline, err := f.below(ctx, of)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sources, whole, warnings, err := f.triggerSets(ctx, e, d.File)
	if err != nil {
		return nil, err
	}
	at := triggerInputs(d)
	merged := input.Merge(pipeline, nil, append(sources, input.Source{Doc: e.Trigger.Inputs, Lenient: true})...)
	if whole && !e.Trigger.Stages.Set {
		for _, m := range merged.Missing {
			warnings = append(warnings, warning(at, m.Code, "%s: %s; every start would be refused", m.Path, m.Message))
		}
	}
	own := input.Merge(pipeline, nil, input.Source{Doc: e.Trigger.Inputs, Lenient: true})
	for _, w := range own.Warnings {
		warnings = append(warnings, warning(at, w.Code, "in line %d of the text: %s: %s, and is left out", w.Line, w.Path, w.Message))
	}
	var wrong []fault.Detail
	for _, w := range own.Wrong {
		one := warning(at, w.Code, "in line %d of the text: %s: %s", w.Line, w.Path, w.Message)
		one.Severity = "error"
		wrong = append(wrong, one)
	}
	if len(wrong) > 0 {
		return nil, fault.New(fault.Invalid, "the trigger doesn't fit the %s", of.Describe()).With(wrong...)
	}
	return warnings, nil
}

func warning(at fault.Detail, code, format string, args ...any) fault.Detail {
	at.Severity, at.Code, at.Message = "warning", code, fmt.Sprintf(format, args...)
	return at
}

// triggerInputs is where a trigger's inputs stand: at the text that holds them,
// else at its pipeline's name.
func triggerInputs(d Draft) fault.Detail {
	at := fault.Detail{File: d.File}
	docs, _ := yamldoc.Parse("", d.YAML) // it has been read
	if len(docs) != 1 {
		return at
	}
	for _, key := range []string{"pipelineIdentifier", "inputYaml"} {
		if n := docs[0].At(string(ref.Trigger), key); n != nil {
			at.Path, at.Line, at.Column = key, n.Line, n.Column
		}
	}
	return at
}

// triggerSets are the input sets that a trigger names, and whether they are
// all known before an event comes.
func (f Find) triggerSets(ctx context.Context, e *entity.Entity, file string) ([]input.Source, bool, []fault.Detail, error) {
	whole := !e.Trigger.InputSetList.Set
	var sources []input.Source
	var warnings []fault.Detail
	for _, name := range e.Trigger.InputSets {
		if name.Expr != "" {
			whole = false
			continue
		}
		some, err := f.values(ctx, e.Parent.Scope, e.Parent.ID, name.Value)
		if fault.Is(err, fault.NotFound) {
			whole = false
			at := fault.Detail{File: file, Path: name.At.Path, Line: name.At.Line, Column: name.At.Column}
			warnings = append(warnings, warning(at, "UNKNOWN_REFERENCE", "%v; every start would be refused", err))
			continue
		}
		if err != nil {
			return nil, false, nil, err
		}
		sources = append(sources, some...)
	}
	return sources, whole, warnings, nil
}

// values are those of an input set, or of an overlay's sets.
func (f Find) values(ctx context.Context, scope ref.Scope, pipeline, id string) ([]input.Source, error) {
	e, err := f.inputSet(ctx, scope, pipeline, id)
	if err != nil {
		return nil, err
	}
	_, doc, err := documentOf(e.Key, e.YAML)
	if err != nil {
		return nil, err
	}
	if e.Key.Kind == ref.InputSet {
		return []input.Source{{Doc: valuesOf(doc), Lenient: true, Set: true}}, nil
	}
	var out []input.Source
	for _, name := range entity.DecodePart(ref.OverlayInputSet, doc, yamldoc.NewReport(""), entity.Options{}).OverlayInputSet.Sets {
		one, err := f(ctx, store.EntityKey{Scope: scope, Kind: ref.InputSet, Env: pipeline, ID: name.Value})
		if err != nil {
			return nil, err
		}
		_, set, err := documentOf(one.Key, one.YAML)
		if err != nil {
			return nil, err
		}
		out = append(out, input.Source{Doc: valuesOf(set), Lenient: true, Set: true})
	}
	return out, nil
}

// inputSet finds the input set or the overlay of an identifier.
func (f Find) inputSet(ctx context.Context, scope ref.Scope, pipeline, id string) (store.Entity, error) {
	key := store.EntityKey{Scope: scope, Kind: ref.InputSet, Env: pipeline, ID: id}
	e, err := f(ctx, key)
	if !fault.Is(err, fault.NotFound) {
		return e, err
	}
	key.Kind = ref.OverlayInputSet
	e, err = f(ctx, key)
	if fault.Is(err, fault.NotFound) {
		return e, fault.New(fault.NotFound, "pipeline %s has no input set and no overlay %q", pipeline, id)
	}
	return e, err
}

// below reads a pipeline below its root key.
func (f Find) below(ctx context.Context, key store.EntityKey) (*yamldoc.Node, error) {
	e, err := f(ctx, key)
	if err != nil {
		return nil, err
	}
	return f.resolved(ctx, key, e.YAML)
}

// resolved is a pipeline's document below its root key, with the inputs of its
// templates. Links that can't be followed stay; they are reported where the
// pipeline is saved.
func (f Find) resolved(ctx context.Context, key store.EntityKey, text []byte) (*yamldoc.Node, error) {
	whole, _, err := documentOf(key, text)
	if err != nil {
		return nil, err
	}
	r, err := template.Resolve(ctx, whole, key.Scope, yamldoc.NewReport(""), templatestore.Lookup(f))
	return r.Doc.Get(string(key.Kind)), err
}
