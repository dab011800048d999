package expr

import (
	"strconv"
	"strings"
)

// Select finds what a path names in a document, as json.select does: a list for
// a path that may name several values, null where it names nothing.
func Select(path string, doc Value) (Value, error) {
	v, err := (&evaluator{src: path}).selectPath(path, doc)
	return v, export(path, err)
}

// selectPath evaluates a path of json.select. Without a leading $ it is names
// between dots, which may have any other character in them; a part like
// items[0] that isn't a key itself is read as JsonPath
// (semantics/pipeline §3.4).
func (e *evaluator) selectPath(text string, doc Value) (Value, error) {
	if strings.HasPrefix(text, "$") {
		return e.jsonPath(text, doc)
	}
	if v, ok := walkKeys(text, doc); ok {
		return v, nil
	}
	if !strings.ContainsAny(text, "[*") && !strings.Contains(text, "..") {
		return Null(), nil
	}
	if strings.HasPrefix(text, "[") || strings.HasPrefix(text, ".") {
		return e.jsonPath("$"+text, doc)
	}
	return e.jsonPath("$."+text, doc)
}

func walkKeys(path string, doc Value) (Value, bool) {
	for _, key := range strings.Split(path, ".") {
		switch doc.kind {
		case KindMap:
			v, ok := doc.Field(key)
			if !ok {
				return Null(), false
			}
			doc = v
		case KindList:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= doc.Len() {
				return Null(), false
			}
			doc = doc.Items()[i]
		case KindNull, KindBool, KindNumber, KindString, KindStatus, KindSecret:
			return Null(), false
		}
	}
	return doc, true
}

// jsonPath evaluates a JsonPath: .name ['name'] [n] [n,m] [a:b] [*] ..name
// and filters. A path that can give one value only gives that value, or null;
// others give a list.
func (e *evaluator) jsonPath(text string, doc Value) (Value, error) {
	steps, err := parseJSONPath(text)
	if err != nil {
		return Null(), err
	}
	found, err := e.followAll(steps, []Value{doc}, doc)
	if err != nil {
		return Null(), err
	}
	if !definite(steps) {
		return List(found), nil
	}
	if len(found) == 0 {
		return Null(), nil
	}
	return found[0], nil
}

func (e *evaluator) followAll(steps []jsonStep, found []Value, root Value) ([]Value, error) {
	for _, step := range steps {
		var next []Value
		for _, v := range found {
			if step.deep {
				all, err := e.descend(v, nil, 0)
				if err != nil {
					return nil, err
				}
				for _, d := range all {
					if next, err = e.follow(step, d, root, next); err != nil {
						return nil, err
					}
				}
				continue
			}
			var err error
			if next, err = e.follow(step, v, root, next); err != nil {
				return nil, err
			}
		}
		found = next
	}
	return found, nil
}

// descend lists a value and all below it.
func (e *evaluator) descend(v Value, out []Value, depth int) ([]Value, error) {
	if depth > maxJSONDepth {
		return nil, tooLarge("the document is nested deeper than %d", maxJSONDepth)
	}
	if err := e.spend(0); err != nil {
		return nil, err
	}
	out = append(out, v)
	for _, item := range v.Items() {
		var err error
		if out, err = e.descend(item, out, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// follow adds what one step finds in a value.
func (e *evaluator) follow(step jsonStep, v, root Value, out []Value) ([]Value, error) {
	if err := e.spend(v.Len()); err != nil {
		return nil, err
	}
	switch {
	case step.filter != nil:
		for _, item := range v.Items() {
			ok, err := e.filter(step.filter, item, root)
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, item)
			}
		}
		return out, nil
	case step.all:
		out = append(out, v.Items()...)
	case step.slice != nil && v.kind == KindList:
		from, to := step.slice.bounds(v.Len())
		out = append(out, v.Items()[from:to]...)
	}
	for _, name := range step.names {
		if w, ok := v.Field(name); ok {
			out = append(out, w)
		}
	}
	for _, i := range step.indexes {
		if i < 0 {
			i += v.Len()
		}
		if v.kind == KindList && i >= 0 && i < v.Len() {
			out = append(out, v.Items()[i])
		}
	}
	if len(out) > maxElements {
		return nil, tooLarge("a list may have %d elements; this path finds more", maxElements)
	}
	return out, nil
}

// filter evaluates the condition of [?( )] for one element.
func (e *evaluator) filter(f *jsonFilter, item, root Value) (bool, error) {
	switch f.op {
	case "||", "&&":
		left, err := e.filter(f.x, item, root)
		if err != nil || left == (f.op == "||") {
			return left, err
		}
		return e.filter(f.y, item, root)
	case "!":
		b, err := e.filter(f.x, item, root)
		return !b, err
	}
	left, found, err := e.filterOperand(f.left, item, root)
	if err != nil || f.op == "" {
		return found, err
	}
	right, _, err := e.filterOperand(f.right, item, root)
	if err != nil {
		return false, err
	}
	v, err := e.operate(f.op, left, right)
	b, _ := v.Bool()
	return b, err
}

func (e *evaluator) filterOperand(o jsonOperand, item, root Value) (Value, bool, error) {
	if o.path == nil {
		return o.value, true, nil
	}
	from := item
	if o.absolute {
		from = root
	}
	found, err := e.followAll(o.path, []Value{from}, root)
	if err != nil || len(found) == 0 {
		return Null(), false, err
	}
	if !definite(o.path) {
		return List(found), true, nil
	}
	return found[0], true, nil
}
