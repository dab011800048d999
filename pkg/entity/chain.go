package entity

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Chain is what a Pipeline stage runs: another pipeline, as an execution of
// its own (semantics/pipeline §1.7).
type Chain struct {
	Org      yamldoc.Field[string]
	Project  yamldoc.Field[string]
	Pipeline yamldoc.Field[string]
	Inputs   *yamldoc.Node // a part of the other pipeline's document; expressions are this pipeline's
	Sets     yamldoc.Field[[]string]
	Outputs  []ChainOutput
}

// ChainOutput is a value that the other pipeline gives back. Its expressions
// are evaluated there.
type ChainOutput struct {
	Name  yamldoc.Field[string]
	Value yamldoc.Field[string]
}

// ChainOf reads the spec of a stage that has been checked, as it stands in a
// plan. r is told what is wrong with values that expressions brought.
func ChainOf(spec *yamldoc.Node, r *yamldoc.Report) *Chain {
	c := &Chain{}
	pipelines{newDecoder(ref.Pipeline, r, Options{})}.chain(yamldoc.Sub(spec, "spec"), c)
	return c
}

var outputName = regexp.MustCompile(`^[a-zA-Z_][0-9a-zA-Z_]*$`)

// longestOutputName is apart from the expression: one that counts takes long to
// compile, at each cold start.
const longestOutputName = 128

func checkOutputName(name string) error {
	if len(name) > longestOutputName || !outputName.MatchString(name) {
		return fmt.Errorf("found %q; want a letter or _, then at most 127 letters, digits and _", name)
	}
	return nil
}

func (d pipelines) chain(v yamldoc.Value, c *Chain) {
	inputs := func(v yamldoc.Value) {
		if v.Is(yamldoc.Sequence) {
			d.Errorf(v, document.WrongType, "found a list; want a part of the other pipeline's document, without the key pipeline")
			return
		}
		d.Node(&c.Inputs)(v)
	}
	known := document.Keys{
		"org":                d.fixedText(&c.Org),
		"project":            d.fixedText(&c.Project),
		"pipeline":           d.fixedText(&c.Pipeline),
		"inputs":             inputs,
		"pipelineInputs":     inputs,
		"inputSetReferences": d.Words(&c.Sets),
		"outputs":            func(v yamldoc.Value) { c.Outputs = d.chainOutputs(v) },
		"description":        document.Nothing,
	}
	d.Fields(v, known)
	d.Need(v, "org", "project", "pipeline")
	if b := document.Child(v, "pipelineInputs"); v.Node.Get("inputs") != nil && v.Node.Get("pipelineInputs") != nil {
		d.Errorf(b, document.Ambiguous, "found inputs and pipelineInputs, which are the same; want only one of them")
	}
	d.referChained(v, c)
}

// fixedText binds a text for which a runtime input may stand, but no other
// expression: the plan needs it before anything runs.
func (d pipelines) fixedText(f *yamldoc.Field[string]) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		*f = d.String(v)
		d.Fixed(v, f.Expr)
	}
}

// referChained adds the reference to the other pipeline, if all of it is known.
func (d pipelines) referChained(v yamldoc.Value, c *Chain) {
	if c.Org.Value == "" || c.Project.Value == "" || c.Pipeline.Value == "" {
		return
	}
	name := document.Child(v, "pipeline")
	if err := ref.CheckID(ref.Pipeline, c.Pipeline.Value); err != nil {
		d.Errorf(name, document.BadReference, "%s", err)
		return
	}
	d.references = append(d.references, Reference{
		Kind: ref.Pipeline, Text: c.Pipeline.Value, At: name.Pos(d.Report),
		Ref: ref.Ref{Scope: ref.Scope{Account: d.Scope.Account, Org: c.Org.Value, Project: c.Project.Value}, ID: c.Pipeline.Value},
	})
}

func (d pipelines) chainOutputs(v yamldoc.Value) []ChainOutput {
	var out []ChainOutput
	names := document.Seen{}
	for item := range d.Items(v) {
		var o ChainOutput
		d.Fields(item, document.Keys{
			"name": func(v yamldoc.Value) {
				o.Name = d.Spelled(v, document.BadName, checkOutputName)
				d.Unique(names, v, o.Name.Value)
			},
			"value": func(v yamldoc.Value) {
				o.Value = d.String(v)
				if strings.Contains(o.Value.Expr, "secrets.getValue") {
					d.Errorf(v, document.WrongValue, "found a secret; an output can't be one")
				}
			},
		})
		d.Need(item, "name", "value")
		out = append(out, o)
	}
	return out
}
