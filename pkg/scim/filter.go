package scim

import (
	"strings"

	filter "github.com/scim2/filter-parser/v2"
)

// maxFilter is how long a filter may be, and the path of a patch, in bytes.
const maxFilter = 2048

// Filter chooses resources. Its zero value chooses all.
type Filter struct{ of filter.Expression }

// ParseFilter reads one (RFC 7644, 3.4.2.2).
func ParseFilter(raw string) (Filter, error) {
	if strings.TrimSpace(raw) == "" {
		return Filter{}, nil
	}
	if len(raw) > maxFilter {
		return Filter{}, refuse(InvalidFilter, "the filter has %d bytes; want %d at most", len(raw), maxFilter)
	}
	e, err := filter.ParseFilter([]byte(raw))
	if err != nil {
		return Filter{}, refuse(InvalidFilter, "the filter can't be read; want one such as userName eq \"ada@example.com\"")
	}
	spell(e)
	return Filter{e}, nil
}

// spell spells the names and the operators of an expression as the schemas do, once:
// it is asked of many.
func spell(e filter.Expression) {
	switch e := e.(type) {
	case *filter.LogicalExpression:
		e.Operator = filter.LogicalOperator(strings.ToLower(string(e.Operator)))
		spell(e.Left)
		spell(e.Right)
	case *filter.NotExpression:
		spell(e.Expression)
	case *filter.ValuePath:
		spellPath(&e.AttributePath)
		spell(e.ValueFilter)
	case *filter.AttributeExpression:
		e.Operator = filter.CompareOperator(strings.ToLower(string(e.Operator)))
		spellPath(&e.AttributePath)
	}
}

func spellPath(p *filter.AttributePath) {
	p.AttributeName = spelling(p.AttributeName)
	if p.SubAttribute != nil {
		sub := spelling(*p.SubAttribute)
		p.SubAttribute = &sub
	}
}

// Equals is the value that an attribute must have by a filter that says nothing
// else; false: it says something else.
func (f Filter) Equals(name string) (string, bool) {
	e, ok := f.of.(*filter.AttributeExpression)
	if !ok || e.Operator != filter.EQ || e.AttributePath.SubAttribute != nil || e.AttributePath.AttributeName != name {
		return "", false
	}
	v, ok := e.CompareValue.(string)
	return v, ok
}

// Has says whether a resource is one of those that are chosen.
func (f Filter) Has(o Object) bool { return f.of == nil || holds(f.of, o) }

func holds(e filter.Expression, o map[string]any) bool {
	switch e := e.(type) {
	case *filter.LogicalExpression:
		if e.Operator == filter.OR {
			return holds(e.Left, o) || holds(e.Right, o)
		}
		return holds(e.Left, o) && holds(e.Right, o)
	case *filter.NotExpression:
		return !holds(e.Expression, o)
	case *filter.ValuePath:
		for _, v := range valuesAt(o, e.AttributePath) {
			if m, ok := v.(map[string]any); ok && holds(e.ValueFilter, m) {
				return true
			}
		}
		return false
	case *filter.AttributeExpression:
		return compares(e, o)
	}
	return false
}

// valuesAt are the values of an attribute, each of several by itself. Of an object
// without a name in it, such as emails, its value counts.
func valuesAt(o map[string]any, path filter.AttributePath) []any {
	var out []any
	add := func(v any) {
		switch v := v.(type) {
		case nil:
		case []any:
			out = append(out, v...)
		default:
			out = append(out, v)
		}
	}
	add(o[path.AttributeName])
	if path.SubAttribute == nil {
		return out
	}
	within := out
	out = nil
	for _, v := range within {
		if m, ok := v.(map[string]any); ok {
			add(m[*path.SubAttribute])
		}
	}
	return out
}

func compares(e *filter.AttributeExpression, o map[string]any) bool {
	op := e.Operator
	exact := e.AttributePath.AttributeName == "id" || e.AttributePath.AttributeName == "externalId"
	if have, ok := o[e.AttributePath.AttributeName].(string); ok && e.AttributePath.SubAttribute == nil && op == filter.EQ {
		return compare(op, have, e.CompareValue, exact) // asked of each member of a group, for each operation of a patch
	}
	found := valuesAt(o, e.AttributePath)
	switch op {
	case filter.PR:
		return len(found) > 0
	case filter.NE:
		for _, v := range found {
			if compare(filter.EQ, v, e.CompareValue, exact) {
				return false
			}
		}
		return true
	default:
	}
	for _, v := range found {
		if compare(op, v, e.CompareValue, exact) {
			return true
		}
	}
	return e.CompareValue == nil && op == filter.EQ && len(found) == 0
}

// compare compares one value. Case says nothing but in ids (RFC 7643, 4.1).
func compare(op filter.CompareOperator, have, want any, exact bool) bool {
	if m, ok := have.(map[string]any); ok {
		have = m["value"]
	}
	switch have := have.(type) {
	case bool:
		if text, ok := want.(string); ok { // as Entra has it
			b, err := truth("", text)
			return err == nil && op == filter.EQ && b == have
		}
		return op == filter.EQ && have == want
	case string:
		want, ok := want.(string)
		if !ok {
			return false
		}
		if op == filter.EQ {
			return have == want || !exact && strings.EqualFold(have, want)
		}
		if !exact {
			have, want = strings.ToLower(have), strings.ToLower(want)
		}
		switch op {
		case filter.CO:
			return strings.Contains(have, want)
		case filter.SW:
			return strings.HasPrefix(have, want)
		case filter.EW:
			return strings.HasSuffix(have, want)
		case filter.GT:
			return have > want
		case filter.GE:
			return have >= want
		case filter.LT:
			return have < want
		case filter.LE:
			return have <= want
		default:
		}
	}
	return false
}
