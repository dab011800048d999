package scim

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	filter "github.com/scim2/filter-parser/v2"
)

// maxOperations is how many changes a patch has at most.
const maxOperations = 1000

// Patch is a change of a resource (RFC 7644, 3.5.2).
type Patch struct{ operations []operation }

type operation struct {
	do    string // add, replace or remove
	path  *filter.Path
	value any
}

// ParsePatch reads one.
func ParsePatch(body []byte) (Patch, error) {
	o, err := Parse(body)
	if err != nil {
		return Patch{}, err
	}
	list, ok := o["Operations"].([]any)
	if !ok || len(list) == 0 {
		return Patch{}, refuse(InvalidSyntax, "the patch has no Operations")
	}
	if len(list) > maxOperations {
		return Patch{}, refuse(InvalidSyntax, "the patch has %d operations; want %d at most", len(list), maxOperations)
	}
	var p Patch
	for _, one := range list {
		m, ok := one.(map[string]any)
		if !ok {
			return p, refuse(InvalidSyntax, "an operation isn't an object")
		}
		op, err := operationOf(m)
		if err != nil {
			return p, err
		}
		p.operations = append(p.operations, op)
	}
	return p, nil
}

func operationOf(m map[string]any) (operation, error) {
	do, err := text(m, "op")
	if err != nil {
		return operation{}, err
	}
	op := operation{do: strings.ToLower(do), value: m["value"]} // Entra sends Add
	if !slices.Contains([]string{"add", "replace", "remove"}, op.do) {
		return op, refuse(InvalidSyntax, "found the operation %.40q; want add, replace or remove", do)
	}
	path, err := text(m, "path")
	if err != nil {
		return op, err
	}
	if path == "" {
		if op.do == "remove" {
			return op, refuse(NoTarget, "an operation removes something, and has no path")
		}
		if _, ok := op.value.(map[string]any); !ok {
			return op, refuse(InvalidValue, "an operation without a path has no object as its value")
		}
		return op, nil
	}
	op.path, err = parsePath(path)
	return op, err
}

func parsePath(text string) (*filter.Path, error) {
	if len(text) > maxFilter {
		return nil, refuse(InvalidPath, "the path has %d bytes; want %d at most", len(text), maxFilter)
	}
	p, err := filter.ParsePath([]byte(text))
	if err != nil {
		return nil, refuse(InvalidPath, "the path %.100q can't be read", text)
	}
	spellPath(&p.AttributePath)
	spell(p.ValueExpression)
	if p.SubAttribute != nil {
		sub := spelling(*p.SubAttribute)
		p.SubAttribute = &sub
	}
	return &p, nil
}

// Apply gives the resource as it is after the patch. What it is given stays.
func (p Patch) Apply(to Object) (Object, error) {
	text, err := json.Marshal(to) // a copy, all of whose lists are []any
	if err != nil {
		return nil, refuse(InvalidSyntax, "the resource can't be copied: %v", err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, refuse(InvalidSyntax, "the resource can't be copied: %v", err)
	}
	for _, op := range p.operations {
		if err := op.apply(out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// readOnly are the attributes that a directory can't change.
func readOnly(name string) bool { return slices.Contains([]string{"id", "meta", "schemas"}, name) }

func (op operation) apply(o map[string]any) error {
	if op.path != nil {
		return op.at(o, *op.path, op.value)
	}
	m, _ := op.value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		// Entra sends the paths of attributes as names here.
		path, err := parsePath(name)
		if err != nil {
			continue // an extension, of which nothing is kept
		}
		if err := op.at(o, *path, m[name]); err != nil {
			return err
		}
	}
	return nil
}

// at changes what a path names.
func (op operation) at(o map[string]any, path filter.Path, value any) error {
	if uri := path.AttributePath.URI(); uri != "" && !strings.EqualFold(uri, UserSchema) && !strings.EqualFold(uri, GroupSchema) {
		return nil // an extension, of which nothing is kept
	}
	name, sub := path.AttributePath.AttributeName, path.AttributePath.SubAttributeName()
	if path.SubAttribute != nil {
		sub = *path.SubAttribute
	}
	if readOnly(name) {
		return nil
	}
	switch {
	case path.ValueExpression != nil:
		return op.among(o, name, sub, path.ValueExpression, value)
	case sub != "":
		return op.within(o, name, sub, value)
	}
	switch op.do {
	case "remove":
		op.drop(o, name, value)
	case "add":
		if have, ok := o[name].([]any); ok {
			o[name] = joined(have, value)
			return nil
		}
		fallthrough
	default:
		m, both := value.(map[string]any)
		have, ok := o[name].(map[string]any)
		if both && ok {
			for key, v := range m {
				have[key] = v
			}
			return nil
		}
		o[name] = value
	}
	return nil
}

// drop removes an attribute, or of several values those that are named, as Entra
// does it.
func (op operation) drop(o map[string]any, name string, value any) {
	have, several := o[name].([]any)
	if value == nil || !several {
		delete(o, name)
		return
	}
	gone := map[any]bool{}
	for _, v := range listed(value) {
		if key := keyOf(v); key != nil {
			gone[key] = true
		}
	}
	o[name] = slices.DeleteFunc(have, func(v any) bool { return gone[keyOf(v)] })
}

func listed(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// keyOf is what tells a value from others: the text that it is or has; nil: nothing
// does.
func keyOf(v any) any {
	if m, ok := v.(map[string]any); ok {
		v = m["value"]
	}
	if text, ok := v.(string); ok {
		return text
	}
	return nil
}

// joined adds values to others, unless they are there.
func joined(have []any, value any) []any {
	there := make(map[any]bool, len(have))
	for _, v := range have {
		there[keyOf(v)] = true
	}
	for _, v := range listed(value) {
		if key := keyOf(v); key == nil || !there[key] {
			have = append(have, v)
			there[key] = true
		}
	}
	return have
}

// within changes one attribute of an object, or of each of several.
func (op operation) within(o map[string]any, name, sub string, value any) error {
	switch have := o[name].(type) {
	case nil:
		if op.do != "remove" {
			o[name] = map[string]any{sub: value}
		}
	case map[string]any:
		op.put(have, sub, value)
	case []any:
		for _, v := range have {
			if m, ok := v.(map[string]any); ok {
				op.put(m, sub, value)
			}
		}
	default:
		return refuse(InvalidPath, "%s has no %s", name, sub)
	}
	return nil
}

func (op operation) put(m map[string]any, name string, value any) {
	if op.do == "remove" {
		delete(m, name)
		return
	}
	m[name] = value
}

// among changes those of several values that a filter chooses. What would be set
// of one that isn't there comes into being, as Entra wants it.
func (op operation) among(o map[string]any, name, sub string, which filter.Expression, value any) error {
	have, _ := o[name].([]any)
	found := false
	o[name] = slices.DeleteFunc(have, func(v any) bool {
		m, ok := v.(map[string]any)
		if !ok || !holds(which, m) {
			return false
		}
		found = true
		if sub != "" {
			op.put(m, sub, value)
			return false
		}
		if op.do == "remove" {
			return true
		}
		if into, ok := value.(map[string]any); ok {
			for key, v := range into {
				m[key] = v
			}
		}
		return false
	})
	if found || op.do == "remove" {
		return nil
	}
	e, ok := which.(*filter.AttributeExpression)
	if !ok || e.Operator != filter.EQ {
		return refuse(NoTarget, "%s has no such value", name)
	}
	one := map[string]any{e.AttributePath.AttributeName: e.CompareValue}
	if sub != "" {
		one[sub] = value
	} else if into, ok := value.(map[string]any); ok {
		for key, v := range into {
			one[key] = v
		}
	}
	list, _ := o[name].([]any)
	o[name] = append(list, one)
	return nil
}
