// Package schema says what documents may hold, for editors and people: as
// JSON Schema, and as lists of what is supported and what is refused.
//
// All of it is said by the document.Keys of pkg/entity and pkg/step. A rule
// says what it takes a value for when it is given one, and a mapping which
// keys it has; so each rule is given a text, a mapping and a list, and the
// rules below it likewise, once for each word by which a mapping's keys differ.
// It is no second check: what a schema can't say, such as names that stand
// twice, only decoding finds.
//
// The JSON Schema of all kinds is kept in schemas.json, which a test compares
// with the decoders; programs read that, and needn't have all decoders.
package schema

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/slipway-cd/slipway/pkg/ref"
)

//go:generate go test -run "Outline|Compatibility|SchemasAreThoseOfTheDecoders" -update .

// embedded is the JSON Schema of the documents of all kinds, as Render writes it.
//
//go:embed schemas.json
var embedded []byte

// published is a JSON Schema.
type published struct {
	Schema               string                     `json:"$schema"`
	Title                string                     `json:"title"`
	Type                 string                     `json:"type"`
	AdditionalProperties bool                       `json:"additionalProperties"`
	OneOf                []root                     `json:"oneOf"`
	Properties           map[string]json.RawMessage `json:"properties"`
	Definitions          map[string]json.RawMessage `json:"definitions"`
}

// root is a key that a document may have at its root.
type root struct {
	Required []ref.Kind `json:"required"`
}

// newDocument is a schema of kinds that nothing is said of yet.
func newDocument(kinds []ref.Kind) published {
	doc := published{
		Schema: "http://json-schema.org/draft-07/schema#", // the draft that editors know best
		Title:  "Slipway document", Type: "object",
		Properties: map[string]json.RawMessage{}, Definitions: map[string]json.RawMessage{},
	}
	for _, kind := range slices.Sorted(slices.Values(kinds)) {
		doc.OneOf = append(doc.OneOf, root{Required: []ref.Kind{kind}})
	}
	return doc
}

// JSON is the JSON Schema of the documents of some kinds.
func JSON(kinds ...ref.Kind) ([]byte, error) {
	var full published
	if err := json.Unmarshal(embedded, &full); err != nil {
		return nil, fmt.Errorf("read schemas.json: %w", err)
	}
	doc := newDocument(kinds)
	for _, kind := range kinds {
		shape, ok := full.Properties[string(kind)]
		if !ok {
			return nil, fmt.Errorf("schemas.json has no kind %q", kind)
		}
		doc.Properties[string(kind)] = shape
		doc.define(full.Definitions, shape)
	}
	return doc.lines()
}

var reference = regexp.MustCompile(`"#/definitions/([^"]+)"`)

// define adds the definitions that a part of the schema refers to.
func (d *published) define(from map[string]json.RawMessage, part json.RawMessage) {
	for _, found := range reference.FindAllSubmatch(part, -1) {
		name := string(found[1])
		if _, ok := d.Definitions[name]; !ok {
			d.Definitions[name] = from[name]
			d.define(from, from[name])
		}
	}
}

// lines is the document as JSON with a line for each property and definition,
// so that versions of it can be compared and merged.
func (d *published) lines() ([]byte, error) {
	properties, definitions := d.Properties, d.Definitions
	head := *d
	head.Properties, head.Definitions = nil, nil
	text, err := json.Marshal(head)
	if err != nil {
		return nil, fmt.Errorf("encode the schema: %w", err)
	}
	var b bytes.Buffer
	b.Write(bytes.TrimSuffix(text, []byte(`"properties":null,"definitions":null}`)))
	b.WriteString("\n\"properties\":")
	writeLines(&b, properties)
	b.WriteString(",\n\"definitions\":")
	writeLines(&b, definitions)
	b.WriteString("}\n")
	return b.Bytes(), nil
}

func writeLines(b *bytes.Buffer, parts map[string]json.RawMessage) {
	for i, name := range slices.Sorted(maps.Keys(parts)) {
		if i == 0 {
			b.WriteString("{\n")
		} else {
			b.WriteString(",\n")
		}
		fmt.Fprintf(b, "%q:%s", name, parts[name])
	}
	b.WriteString("\n}")
}
