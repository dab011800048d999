// Package schema says what documents may hold, for editors and people: as
// JSON Schema, and as lists of what is supported and what is refused.
//
// It is found out by giving the decoders of pkg/entity and pkg/step one
// document after the other and watching what they take each value for, so it
// can't say anything else than they do. It is no second check: what a schema
// can't say, such as names that stand twice, only decoding finds.
package schema

import (
	"encoding/json"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/ref"
)

//go:generate go test -run "Outline|Compatibility" -update .

// draft is the JSON Schema version that editors know best.
const draft = "http://json-schema.org/draft-07/schema#"

// JSON is the JSON Schema of the documents of some kinds.
func JSON(kinds ...ref.Kind) ([]byte, error) {
	r := newRenderer()
	properties, roots := part{}, []any{}
	for _, kind := range kinds {
		properties[string(kind)] = r.object(Explore(kind))
		roots = append(roots, part{"required": []string{string(kind)}})
	}
	doc, err := json.MarshalIndent(part{
		"$schema": draft, "title": "Slipway document", "type": "object", "additionalProperties": false,
		"properties": properties, "oneOf": roots, "definitions": r.definitions,
	}, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode the schema: %w", err)
	}
	return append(doc, '\n'), nil
}
