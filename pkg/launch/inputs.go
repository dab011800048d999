package launch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Inputs are values for a pipeline's runtime inputs. Where several say
// something, the later field wins (semantics/pipeline §2.4).
type Inputs struct {
	// Sets are identifiers of input sets and overlays of the pipeline; of
	// these too the later wins.
	Sets []string
	// Document is a part of the pipeline's document, what stands below its
	// root key; nil: none.
	Document *yamldoc.Node
	// Values are texts by path, e.g. "variables.image"; "pipeline." may stand
	// before it.
	Values map[string]string
	// Lenient drops what the pipeline has no input for from Document too, with
	// a warning. From sets it is dropped always.
	Lenient bool
}

// Given is what is kept of an execution's inputs.
type Given struct {
	YAML     string         `json:"yaml,omitempty"` // all values, defaults included, with the root key pipeline
	Sets     []string       `json:"sets,omitempty"`
	Warnings []fault.Detail `json:"warnings,omitempty"` // values that had no place
	Stages   []string       `json:"stages,omitempty"`   // the only ones that ran
	// Values are of expressions that name other stages.
	Values map[string]string `json:"values,omitempty"`
}

// GivenTo reads what is kept of an execution's inputs.
func GivenTo(e store.Execution) (Given, error) {
	var g Given
	if len(e.Inputs) == 0 {
		return g, nil
	}
	if err := json.Unmarshal(e.Inputs, &g); err != nil {
		return g, fmt.Errorf("decode the inputs of execution %s: %w", e.ID, err)
	}
	return g, nil
}

// Again are the same values again, for a pipeline that may have changed.
func (g Given) Again() (Inputs, error) {
	if g.YAML == "" {
		return Inputs{}, nil
	}
	doc, err := InputDocument("the inputs before", []byte(g.YAML))
	return Inputs{Document: doc, Lenient: true}, err
}

// InputDocument reads inputs as YAML: a part of a pipeline's document, with or
// without the root key pipeline. Findings about it name the file.
func InputDocument(file string, text []byte) (*yamldoc.Node, error) {
	docs, report := yamldoc.Parse(file, text)
	if err := report.Err(); err != nil {
		return nil, err
	}
	if len(docs) == 0 || docs[0].Kind == yamldoc.Null {
		return nil, nil
	}
	if len(docs) > 1 || docs[0].Kind != yamldoc.Mapping {
		return nil, fault.New(fault.Invalid, "%s: want one document that is a part of the pipeline's", file)
	}
	doc := docs[0]
	if below := doc.Get(string(ref.Pipeline)); below != nil {
		doc = below
	}
	return doc.From(file), nil
}

// Preview gives a pipeline with inputs as a run would have it. What is missing
// or wrong is in the answer, not in the error.
func (l *Launcher) Preview(ctx context.Context, scope ref.Scope, pipeline string, in Inputs) (input.Merged, error) {
	e, err := l.Store.Entity(ctx, store.EntityKey{Scope: scope, Kind: ref.Pipeline, ID: pipeline})
	if err != nil {
		return input.Merged{}, err
	}
	b := l.plans.build(ctx, e)
	return b.merge(in)
}

// InputForm says what a run of a pipeline asks for, and gives a form to fill
// in (input.Form).
func (l *Launcher) InputForm(ctx context.Context, scope ref.Scope, pipeline string) ([]byte, []input.Runtime, error) {
	e, err := l.Store.Entity(ctx, store.EntityKey{Scope: scope, Kind: ref.Pipeline, ID: pipeline})
	if err != nil {
		return nil, nil, err
	}
	b := l.plans.build(ctx, e)
	doc, err := b.Document(b.ctx, e)
	if err != nil {
		return nil, nil, err
	}
	return input.Form(string(ref.Pipeline), doc), input.Find(doc), nil
}

// merge fills the pipeline's inputs.
func (b *build) merge(in Inputs) (input.Merged, error) {
	doc, err := b.Document(b.ctx, b.pipeline)
	if err != nil {
		return input.Merged{}, err
	}
	if doc, err = choose(doc, b.stages, b.pipeline.Key.ID); err != nil {
		return input.Merged{}, err
	}
	sources, err := b.sets(in.Sets)
	if err != nil {
		return input.Merged{}, err
	}
	values := make(map[string]string, len(in.Values))
	for path, v := range in.Values {
		values[strings.TrimPrefix(path, "pipeline.")] = v
	}
	return input.Merge(doc, values, append(sources, input.Source{Doc: in.Document, Lenient: in.Lenient || len(b.stages) > 0})...), nil
}

// sets reads input sets in their order; an overlay's stand where it is named.
func (b *build) sets(ids []string) ([]input.Source, error) {
	var out []input.Source
	for _, id := range ids {
		set, err := b.set(ref.InputSet, id)
		if err == nil {
			out = append(out, input.Source{Doc: setValues(set), Lenient: true, Set: true})
			continue
		}
		if !fault.Is(err, fault.NotFound) {
			return nil, err
		}
		overlay, err := b.set(ref.OverlayInputSet, id)
		if fault.Is(err, fault.NotFound) {
			return nil, fault.New(fault.NotFound, "pipeline %s has no input set and no overlay %q", b.pipeline.Key.ID, id)
		}
		if err != nil {
			return nil, err
		}
		of, err := b.overlaid(id, overlay)
		if err != nil {
			return nil, err
		}
		out = append(out, of...)
	}
	return out, nil
}

// overlaid reads the sets of an overlay.
func (b *build) overlaid(id string, overlay *yamldoc.Node) ([]input.Source, error) {
	var out []input.Source
	for _, name := range entity.DecodePart(ref.OverlayInputSet, overlay, yamldoc.NewReport(""), entity.Options{}).OverlayInputSet.Sets {
		set, err := b.set(ref.InputSet, name.Value)
		if fault.Is(err, fault.NotFound) {
			return nil, fault.New(fault.NotFound, "overlay %s names the input set %q, which pipeline %s doesn't have", id, name.Value, b.pipeline.Key.ID)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, input.Source{Doc: setValues(set), Lenient: true, Set: true})
	}
	return out, nil
}

// setValues are those of an input set as it was saved.
func setValues(set *yamldoc.Node) *yamldoc.Node {
	return entity.DecodePart(ref.InputSet, set, yamldoc.NewReport(""), entity.Options{}).InputSet.Values
}

// set reads an input set or an overlay of the pipeline.
func (b *build) set(kind ref.Kind, id string) (*yamldoc.Node, error) {
	key := store.EntityKey{Scope: b.pipeline.Key.Scope, Kind: kind, Env: b.pipeline.Key.ID, ID: id}
	e, err := b.Entities.Entity(b.ctx, key)
	if err != nil {
		return nil, err
	}
	doc, err := b.Document(b.ctx, e)
	return doc.From(fmt.Sprintf("%s %s", kind, id)), err
}
