package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// reveal puts secrets into every string of a JSON document. It works on the
// decoded document, so a value needs no escaping and can't change its shape.
func reveal(doc json.RawMessage, secrets map[string]string) (json.RawMessage, error) {
	if len(secrets) == 0 {
		return doc, nil
	}
	return rewrite(doc, replacer(secrets).Replace)
}

// revealed is a value with secrets in the place of their placeholders.
func revealed[T any](v T, secrets map[string]string) (T, error) {
	doc, err := json.Marshal(v)
	if err != nil {
		return v, fmt.Errorf("encode: %w", err)
	}
	if doc, err = reveal(doc, secrets); err != nil {
		return v, err
	}
	var open T
	if err := json.Unmarshal(doc, &open); err != nil {
		return v, fmt.Errorf("decode: %w", err)
	}
	return open, nil
}

// extended is a copy of secrets that more can be added to.
func extended(secrets map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, secrets)
	return all
}

// replacer replaces placeholders by their values.
func replacer(secrets map[string]string) *strings.Replacer {
	pairs := make([]string, 0, 2*len(secrets))
	for placeholder, value := range secrets {
		pairs = append(pairs, placeholder, value)
	}
	return strings.NewReplacer(pairs...)
}

// rewrite changes every string of a JSON document, except the names of members.
func rewrite(doc json.RawMessage, change func(string) string) (json.RawMessage, error) {
	var v any
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber() // numbers stay as they were written
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("decode the document: %w", err)
	}
	out, err := json.Marshal(changed(v, change))
	if err != nil {
		return nil, fmt.Errorf("encode the document: %w", err)
	}
	return out, nil
}

func changed(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case []any:
		for i := range v {
			v[i] = changed(v[i], change)
		}
	case map[string]any:
		for key := range v {
			v[key] = changed(v[key], change)
		}
	}
	return v
}
