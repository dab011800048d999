package expr

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// path looks a name up. What the Scope leaves is read as keys of the value.
func (e *evaluator) path(n *path) (Value, error) {
	names := n.static
	if names == nil {
		var err error
		if names, err = e.segments(n.segments); err != nil {
			return Null(), err
		}
	}
	v, used, err := e.scope.Lookup(names)
	switch {
	case err == nil && used <= 0:
		err = ErrUnknown
	case err == nil:
		for _, key := range names[min(used, len(names)):] {
			var ok bool
			if v, ok = property(v, key); !ok {
				return e.unknown(n, names, reason(v, key), nil)
			}
		}
		return v, nil
	}
	if errors.Is(err, ErrUnknown) {
		return e.unknown(n, names, e.hint(n, err), err)
	}
	return Null(), fromScope(n.pos(), err)
}

// unknown is null in a condition, else an error.
func (e *evaluator) unknown(n *path, names []string, why string, cause error) (Value, error) {
	if e.lax {
		return Null(), nil
	}
	if cause == nil {
		cause = ErrUnknown
	}
	return Null(), &Unresolved{Expression: strings.Join(names, "."), Reason: why, Offset: n.pos(), cause: cause}
}

func (e *evaluator) hint(n *path, err error) string {
	why := err.Error()
	if n.end < len(e.src) && e.src[n.end] == '-' {
		why += `; a name with "-" in it is written get("a-b")`
	}
	return why
}

func reason(v Value, key string) string {
	if v.kind == KindString && (strings.HasPrefix(v.text, "{") || strings.HasPrefix(v.text, "[")) {
		return "the value is a text, which has no " + strconv.Quote(key) + "; JSON is opened by json.object(..)"
	}
	return "the value is " + v.kind.String() + ", which has no " + strconv.Quote(key)
}

// segments gives the names of a path with expressions in it.
func (e *evaluator) segments(segments []segment) ([]string, error) {
	names := make([]string, 0, len(segments))
	for _, s := range segments {
		v, err := e.template(s.pieces)
		if err != nil {
			return nil, err
		}
		if v.Secret() {
			return nil, errors.New("a secret can't be part of a name")
		}
		if s.quoted {
			names = append(names, v.text)
			continue
		}
		names = append(names, strings.Split(v.text, ".")...)
	}
	return names, nil
}

// property reads a key of a value. What null has is null, so that a missing
// branch of a document reads as null all the way; ok is false if the value
// can't have keys.
func property(v Value, key string) (Value, bool) {
	switch v.kind {
	case KindNull:
		return Null(), true
	case KindMap:
		w, _ := v.Field(key)
		return w, true
	case KindList:
		i, ok := parseNumber(key)
		index, whole := i.Int()
		if !ok || !whole || index < 0 || index >= int64(v.Len()) {
			return v, false
		}
		return v.Items()[index], true
	case KindBool, KindNumber, KindString, KindStatus, KindSecret:
	}
	return v, false
}

// field reads a key of a value that isn't a path: <+<+a>.b>.
func (e *evaluator) field(n *field) (Value, error) {
	v, err := e.eval(n.on)
	if err != nil {
		return Null(), err
	}
	key, err := e.template(n.key.pieces)
	if err != nil {
		return Null(), err
	}
	if key.Secret() || v.kind == KindSecret {
		return Null(), failAt(n.pos(), "a secret is opaque: it has no fields and can't name one")
	}
	keys := []string{key.text}
	if !n.key.quoted {
		keys = strings.Split(key.text, ".")
	}
	for _, k := range keys {
		w, ok := property(v, k)
		if !ok {
			return Null(), failAt(n.pos(), "%s", reason(v, k))
		}
		v = w
	}
	return v, nil
}

// element reads x[i].
func (e *evaluator) element(n *element) (Value, error) {
	values, err := e.all([]node{n.on, n.index})
	if err != nil {
		return Null(), err
	}
	v, err := elementOf(values[0], values[1])
	if err != nil {
		return Null(), at(n.pos(), err)
	}
	return v, nil
}

// call runs a function: one of this package, a method of the value that has
// the functor's name, or one of the Scope, in this order.
func (e *evaluator) call(n *call) (Value, error) {
	name := n.name
	if n.space != "" {
		name = n.space + "." + n.name
	}
	fn, builtin := pure(name)
	if n.space != "" && !builtin {
		v, used, err := e.scope.Lookup([]string{n.space})
		switch {
		case err == nil && used > 0:
			return e.invoke(n.pos(), v, n.name, n.args)
		case err != nil && !errors.Is(err, ErrUnknown):
			return Null(), fromScope(n.pos(), err)
		}
	}
	args, err := e.all(n.args)
	if err != nil {
		return Null(), err
	}
	if slices.ContainsFunc(args, Value.Secret) {
		return Null(), failAt(n.pos(), "a secret is opaque: it can't be an argument of %s", name)
	}
	if !builtin {
		return e.foreign(n, name, args)
	}
	if len(args) < fn.least || len(args) > fn.most {
		return Null(), failAt(n.pos(), "%s takes %s; found %d", name, amount(fn.least, fn.most), len(args))
	}
	v, err := fn.run(e, args)
	if err != nil {
		return Null(), at(n.pos(), fmt.Errorf("%s: %w", name, err))
	}
	return v, e.fits(n.pos(), v)
}

// foreign runs a functor of the Scope.
func (e *evaluator) foreign(n *call, name string, args []Value) (Value, error) {
	v, err := e.scope.Call(name, args)
	switch {
	case err == nil:
		return v, nil
	case errors.Is(err, ErrUnknown):
		why := "there is no such function"
		switch detail := err.Error(); {
		case detail != ErrUnknown.Error(): // the function is there, and what it names isn't
			if why = detail; e.lax {
				return Null(), nil
			}
		case n.space != "":
			why += ", and no value " + strconv.Quote(n.space)
		}
		return Null(), &Unresolved{Expression: name + "(..)", Reason: why, Offset: n.pos(), cause: err}
	}
	return Null(), fromScope(n.pos(), err)
}

func (e *evaluator) method(n *method) (Value, error) {
	v, err := e.eval(n.on)
	if err != nil {
		return Null(), err
	}
	if n.safe && v.IsNull() {
		return Null(), nil
	}
	return e.invoke(n.pos(), v, n.name, n.args)
}

// invoke runs a method on a value.
func (e *evaluator) invoke(pos int, on Value, name string, nodes []node) (Value, error) {
	args, err := e.all(nodes)
	if err != nil {
		return Null(), err
	}
	v, err := e.methodOf(on, name, args)
	if err != nil {
		return Null(), at(pos, err)
	}
	return v, e.fits(pos, v)
}
