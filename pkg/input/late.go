package input

import (
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Answer fills the inputs of a part of a pipeline that are asked for while it
// runs (executionInput, semantics/pipeline §2.2), as Merge fills the others.
func Answer(doc *yamldoc.Node, values map[string]string, sources ...Source) Merged {
	return merge(merger{late: true}, doc, values, sources)
}

// Asked lists those inputs, as Find lists all.
func Asked(doc *yamldoc.Node) []Runtime {
	m := merger{late: true, template: true}
	m.node(doc, spot{})
	return m.found
}

// Question is an input as people and tools are told of it.
type Question struct {
	Path       string   `json:"path" doc:"Items of lists are named by their identifiers, e.g. stages.deploy.spec.environment.environmentRef"`
	Line       int      `json:"line" doc:"In the pipeline's document"`
	Type       string   `json:"type,omitempty" doc:"Of a variable: String, Number or Secret"`
	Required   bool     `json:"required" doc:"A value is needed"`
	Default    *string  `json:"default,omitempty" doc:"The value if none is given"`
	OneOf      []string `json:"oneOf,omitempty" nullable:"false"`
	SomeOf     []string `json:"someOf,omitempty" nullable:"false" doc:"One or more of these, with commas between"`
	Regex      string   `json:"regex,omitempty" doc:"The value matches all of it"`
	AskedLater bool     `json:"askedLater,omitempty" doc:"Asked for when its step or stage starts (executionInput)"`
	Help       string   `json:"help" doc:"The same in words"`
}

// Question is the input as people and tools are told of it.
func (r Runtime) Question() Question {
	q := Question{
		Path: r.Path, Line: r.Line, Type: r.Type, Required: r.Required, OneOf: r.Input.Allowed, SomeOf: r.Input.Many,
		Regex: r.Input.Regex, AskedLater: r.Input.AtStart, Help: r.Describe(),
	}
	if q.OneOf == nil {
		q.OneOf = r.Input.One
	}
	if r.HasDefault {
		q.Default = &r.Default
	}
	return q
}
