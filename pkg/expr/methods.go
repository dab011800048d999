package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// methodOf runs a method. There is no reflection: what isn't listed here
// doesn't exist, getClass above all (semantics/pipeline §3.3). Lists and maps
// have methods of their own; string methods work on the text of any value.
func (e *evaluator) methodOf(on Value, name string, args []Value) (Value, error) {
	if on.kind == KindSecret || slices.ContainsFunc(args, Value.Secret) {
		if name == "concat" && len(args) == 1 && on.many == nil && !on.IsNull() && !args[0].IsNull() {
			return e.concat(on, args[0])
		}
		return Null(), fmt.Errorf("method %s: %w", name, errSecret)
	}
	switch on.kind {
	case KindNull:
		return Null(), fmt.Errorf("method %s is called on null; x?.%s(..) would give null", name, name)
	case KindList:
		if m, ok := listMethod(name); ok {
			return m.call(e, name, on, args)
		}
	case KindMap:
		if m, ok := mapMethod(name); ok {
			return m.call(e, name, on, args)
		}
	case KindStatus:
		if name == "equals" && len(args) == 1 {
			same, err := e.same(on, args[0])
			return Bool(same), err
		}
	case KindBool, KindNumber, KindString, KindSecret:
	}
	if on.Secret() {
		return Null(), fmt.Errorf("method %s: %w", name, errSecret)
	}
	m, ok := stringMethod(name)
	if !ok {
		return Null(), fmt.Errorf("%s has no method %q, or it isn't allowed", on.kind, name)
	}
	if slices.ContainsFunc(args, Value.IsNull) {
		if name == "equals" || name == "equalsIgnoreCase" {
			return Bool(false), nil
		}
		return Null(), fmt.Errorf("method %s: an argument is null", name)
	}
	text, err := e.text(on)
	if err != nil {
		return Null(), err
	}
	return m.call(e, name, String(text), args)
}

// method is what a method does and how many arguments it takes.
type methodFunc struct {
	least, most int
	run         func(e *evaluator, on Value, args []Value) (Value, error)
}

func (m methodFunc) call(e *evaluator, name string, on Value, args []Value) (Value, error) {
	if len(args) < m.least || len(args) > m.most {
		return Null(), fmt.Errorf("method %s takes %s; found %d", name, amount(m.least, m.most), len(args))
	}
	v, err := m.run(e, on, args)
	if err != nil {
		return Null(), fmt.Errorf("method %s: %w", name, err)
	}
	return v, nil
}

func amount(least, most int) string {
	switch {
	case least == most && least == 1:
		return "1 argument"
	case least == most:
		return fmt.Sprintf("%d arguments", least)
	}
	return fmt.Sprintf("%d to %d arguments", least, most)
}

func listMethod(name string) (methodFunc, bool) {
	switch name {
	case "get":
		return methodFunc{1, 1, func(_ *evaluator, on Value, args []Value) (Value, error) { return elementOf(on, args[0]) }}, true
	case "size":
		return methodFunc{0, 0, size}, true
	case "isEmpty":
		return methodFunc{0, 0, isEmpty}, true
	case "contains":
		return methodFunc{1, 1, func(e *evaluator, on Value, args []Value) (Value, error) {
			i, err := e.position(on, args[0])
			return Bool(i >= 0), err
		}}, true
	case "indexOf":
		return methodFunc{1, 1, func(e *evaluator, on Value, args []Value) (Value, error) {
			i, err := e.position(on, args[0])
			return Int(int64(i)), err
		}}, true
	case "join":
		return methodFunc{0, 1, (*evaluator).join}, true
	case "toString":
		return methodFunc{0, 0, (*evaluator).toString}, true
	}
	return methodFunc{}, false
}

func mapMethod(name string) (methodFunc, bool) {
	switch name {
	case "get":
		return methodFunc{1, 1, func(_ *evaluator, on Value, args []Value) (Value, error) { return elementOf(on, args[0]) }}, true
	case "containsKey":
		return methodFunc{1, 1, func(_ *evaluator, on Value, args []Value) (Value, error) {
			_, ok := on.Field(args[0].Text())
			return Bool(ok), nil
		}}, true
	case "keySet":
		return methodFunc{0, 0, func(_ *evaluator, on Value, _ []Value) (Value, error) {
			keys := make([]Value, on.Len())
			for i, k := range on.Keys() {
				keys[i] = String(k)
			}
			return List(keys), nil
		}}, true
	case "values":
		return methodFunc{0, 0, func(_ *evaluator, on Value, _ []Value) (Value, error) { return List(on.Items()), nil }}, true
	case "size":
		return methodFunc{0, 0, size}, true
	case "isEmpty":
		return methodFunc{0, 0, isEmpty}, true
	case "toString":
		return methodFunc{0, 0, (*evaluator).toString}, true
	}
	return methodFunc{}, false
}

// elementOf reads an element of a list by number or an entry of a map by key.
func elementOf(on, key Value) (Value, error) {
	switch on.kind {
	case KindNull:
		return Null(), nil
	case KindMap:
		if key.Secret() {
			return Null(), errSecret
		}
		v, _ := on.Field(key.Text())
		return v, nil
	case KindList:
		n, err := operand(key)
		if err != nil {
			return Null(), fmt.Errorf("index: %w", err)
		}
		i, ok := n.Int()
		if !ok || i < 0 || i >= int64(on.Len()) {
			return Null(), fmt.Errorf("index %s is out of range: the list has %d elements", n.Text(), on.Len())
		}
		return on.Items()[i], nil
	case KindSecret:
		return Null(), errSecret
	case KindBool, KindNumber, KindString, KindStatus:
	}
	return Null(), errors.New(reason(on, key.Text()))
}

func size(_ *evaluator, on Value, _ []Value) (Value, error) { return Int(int64(on.Len())), nil }

func isEmpty(_ *evaluator, on Value, _ []Value) (Value, error) { return Bool(on.Len() == 0), nil }

func (e *evaluator) position(on, want Value) (int, error) {
	for i, item := range on.Items() {
		if item.Secret() {
			return -1, errSecret
		}
		same, err := e.same(item, want)
		if same || err != nil {
			return i, err
		}
	}
	return -1, nil
}

func (e *evaluator) join(on Value, args []Value) (Value, error) {
	separator := ","
	if len(args) == 1 {
		separator = args[0].Text()
	}
	var b strings.Builder
	for i, item := range on.Items() {
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(item.Text())
		if b.Len() > maxValue {
			return Null(), sizeError(b.Len())
		}
	}
	return textValue(b.String(), on.Secret()), e.made(-1, b.Len())
}

// toString gives a list or map as compact JSON, opaque if a secret is in it.
func (e *evaluator) toString(on Value, _ []Value) (Value, error) {
	text, err := e.text(on)
	return textValue(text, on.Secret()), err
}
