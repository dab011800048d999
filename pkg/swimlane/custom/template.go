package custom

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Template is the spec of a deployment template.
type Template struct {
	// The script that writes which instances there are: it stands here, or is a
	// file of the file store.
	Source     yamldoc.Field[string] // Inline or Harness
	Content    yamldoc.Field[string]
	Files      yamldoc.Field[[]string]
	List       yamldoc.Field[string] // the JSON path of the list of instances
	Attributes []Attribute
}

// Attribute is a value of an instance that is kept.
type Attribute struct {
	Name yamldoc.Field[string]
	Path yamldoc.Field[string] // JSON path in an instance
}

// instanceNames are the attributes that say what an instance is called. A
// template has one of them; the second is what it was called before.
func instanceNames() []string { return []string{"instancename", "hostname"} }

func decodeTemplate(d *swimlane.Decoder, v yamldoc.Value) any {
	t := &Template{}
	d.Fields(v, document.Merge(d.Common, document.Keys{
		"infrastructure": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{
				"variables":            d.Variables,
				"fetchInstancesScript": func(v yamldoc.Value) { t.fetchScript(d, v) },
				"instancesListPath":    d.PlainText(&t.List, "a fixed text"),
				"instanceAttributes":   func(v yamldoc.Value) { t.instanceAttributes(d, v) },
				"metadata":             document.Nothing,
				"description":          document.Nothing,
			})
			d.Need(v, "fetchInstancesScript", "instancesListPath", "instanceAttributes")
		},
		"execution": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{"stepTemplateRefs": func(v yamldoc.Value) { stepTemplates(d, v) }, "description": document.Nothing})
		},
		"metadata":    document.Nothing,
		"description": document.Nothing,
	}))
	d.Need(v, "infrastructure", "execution")
	return t
}

func (t *Template) fetchScript(d *swimlane.Decoder, v yamldoc.Value) {
	d.Fields(v, document.Keys{
		"store": func(v yamldoc.Value) {
			typ := document.Peek(v, "type")
			d.Fields(v, document.Keys{
				"type": d.Literal(&t.Source, filesource.Inline, filesource.Harness),
				"spec": func(v yamldoc.Value) {
					switch typ {
					case filesource.Inline:
						d.Fields(v, document.Keys{"content": func(v yamldoc.Value) { t.content(d, v) }})
						d.Need(v, "content")
					case filesource.Harness:
						d.Fields(v, document.Keys{"files": func(v yamldoc.Value) { t.file(d, v) }})
						d.Need(v, "files")
					}
				},
			})
			d.Need(v, "type", "spec")
		},
		"metadata":    document.Nothing,
		"description": document.Nothing,
	})
	d.Need(v, "store")
}

func (t *Template) content(d *swimlane.Decoder, v yamldoc.Value) {
	if t.Content = d.String(v); expr.IsRuntimeInput(t.Content.Expr) {
		d.Errorf(v, document.WrongValue, "found a runtime input; want a script, whose values can be variables of the infrastructure")
	}
}

func (t *Template) file(d *swimlane.Decoder, v yamldoc.Value) {
	d.Files(&t.Files)(v)
	d.Filled(v, document.Ambiguous, "found no file; a script is one")
	switch {
	case v.Is(yamldoc.Sequence) && len(v.Node.Items) > 1:
		d.Errorf(v, document.Ambiguous, "found %d files; a script is one", len(v.Node.Items))
	case v.Is(yamldoc.Scalar) && expr.IsRuntimeInput(v.Node.Value):
		d.Errorf(v, document.WrongValue, "found a runtime input; want a file, whose path may have variables of the infrastructure")
	}
}

// instanceAttributes decodes which values of an instance are kept.
func (t *Template) instanceAttributes(d *swimlane.Decoder, v yamldoc.Value) {
	names := document.Seen{}
	d.Filled(v, document.MissingKey, "found no attributes; want %q at least, which says what an instance is called", instanceNames()[0])
	for item := range d.Items(v) {
		var a Attribute
		d.Fields(item, document.Keys{
			"name": func(v yamldoc.Value) {
				d.PlainText(&a.Name, "a fixed text")(v)
				d.Unique(names, v, a.Name.Value)
			},
			"jsonPath":    d.PlainText(&a.Path, "a fixed text"),
			"description": document.Nothing,
		})
		d.Need(item, "name", "jsonPath")
		t.Attributes = append(t.Attributes, a)
	}
	named := slices.ContainsFunc(t.Attributes, func(a Attribute) bool { return slices.Contains(instanceNames(), a.Name.Value) })
	if len(t.Attributes) > 0 && !named {
		d.Errorf(v, document.MissingKey, "no attribute is named %q; want the one that says what an instance is called", instanceNames()[0])
	}
}

// stepTemplates decodes which step templates go with the deployment template.
// They limit nothing: they say where editors look for steps.
func stepTemplates(d *swimlane.Decoder, v yamldoc.Value) {
	for item := range d.Items(v) {
		var f yamldoc.Field[string]
		d.Reference(ref.Template, &f)(item)
		d.Plain(item, f.Expr, "a fixed text")
	}
}

// script is the text of the script, its expressions resolved.
func (t *Template) script(r swimlane.Reach) (string, error) {
	if t.Source.Value == filesource.Inline {
		return r.Text(t.Content)
	}
	if len(t.Files.Value) != 1 {
		return "", fault.New(fault.Invalid, "it names %d files of the file store; want one", len(t.Files.Value))
	}
	path, err := r.Text(yamldoc.Field[string]{Value: t.Files.Value[0]})
	if err != nil {
		return "", err
	}
	return r.File(path)
}
