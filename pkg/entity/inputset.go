package entity

import (
	"strconv"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// InputSet is values for a pipeline's runtime inputs
// (semantics/pipeline §2.4). It is unique within its pipeline, which is the
// entity's Parent. Whether the pipeline has these inputs is pkg/catalog's to
// say.
type InputSet struct {
	// Values is the pipeline's document as far as the set has values.
	Values *yamldoc.Node
}

// OverlayInputSet is a list of input sets of one pipeline, of which the later
// wins (semantics/pipeline §2.4). It too is unique within its pipeline.
type OverlayInputSet struct {
	Sets []yamldoc.Field[string]
}

func (d inputSets) inputSet(v yamldoc.Value, e *Entity) *InputSet {
	s := &InputSet{}
	d.Fields(v, document.Merge(d.meta(e), document.Keys{
		"pipeline": func(v yamldoc.Value) {
			if !v.Is(yamldoc.Mapping) {
				d.Errorf(v, document.WrongType, "want the part of the pipeline that has the inputs, with its identifier")
				return
			}
			s.Values = v.Node
			d.Need(v, "identifier")
			if id := document.Child(v, "identifier"); v.Node.Get("identifier") != nil {
				d.ofPipeline(id, e)
			}
		},
	}))
	d.Need(v, "identifier", "pipeline")
	d.inProject(v, "an input set")
	return s
}

func (d inputSets) overlayInputSet(v yamldoc.Value, e *Entity) *OverlayInputSet {
	s := &OverlayInputSet{}
	d.Fields(v, document.Merge(d.meta(e), document.Keys{
		"pipelineIdentifier": func(v yamldoc.Value) { d.ofPipeline(v, e) },
		"inputSetReferences": func(v yamldoc.Value) { s.Sets = d.setReferences(v) },
	}))
	d.Need(v, "identifier", "pipelineIdentifier", "inputSetReferences")
	d.inProject(v, "an overlay")
	for i, r := range d.references {
		if r.Kind == ref.InputSet {
			d.references[i].Environment = e.Parent.ID // which may stand after the list
		}
	}
	return s
}

// setReferences reads the identifiers of an overlay's sets.
func (d inputSets) setReferences(v yamldoc.Value) []yamldoc.Field[string] {
	var out []yamldoc.Field[string]
	names := document.Seen{}
	for item := range d.Items(v) {
		f := d.String(item)
		if d.Plain(item, f.Expr, "the identifier of an input set"); f.Expr != "" {
			continue
		}
		if err := ref.CheckID(ref.InputSet, f.Value); err != nil {
			d.Errorf(item, document.BadReference, "%s", err)
			continue
		}
		d.Unique(names, item, f.Value)
		d.references = append(d.references, Reference{
			Kind: ref.InputSet, Ref: ref.Ref{Scope: d.Scope, ID: f.Value}, Text: f.Value, At: item.Pos(d.Report),
		})
		out = append(out, f)
	}
	d.Empty(v, "found no input sets: the overlay has no values")
	return out
}

// ofPipeline reads which pipeline an entity belongs to.
func (d inputSets) ofPipeline(v yamldoc.Value, e *Entity) yamldoc.Field[string] {
	var f yamldoc.Field[string]
	d.chosen(ref.Pipeline, &f)(v)
	d.Plain(v, f.Expr, "the identifier of a pipeline")
	if f.Value != "" && ref.CheckID(ref.Pipeline, f.Value) != nil {
		d.Errorf(v, document.WrongValue, "found %s; want the identifier of a pipeline in the same project", strconv.Quote(f.Value))
	}
	e.Parent = ref.Ref{Scope: d.Scope, ID: f.Value}
	return f
}

// inProject reports an entity of a pipeline that isn't in a project.
func (d inputSets) inProject(v yamldoc.Value, what string) {
	missing, lacks := "projectIdentifier", "is missing"
	switch {
	case d.Scope.Project != "":
		return
	case d.Scope.Org == "":
		missing, lacks = "orgIdentifier", "and projectIdentifier are missing"
	}
	v.Path = missing
	d.Errorf(v, wrongScope, "%s lives in a project; %s %s", what, missing, lacks)
}
