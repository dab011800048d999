package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// function is what a function does and how many arguments it takes.
type function struct {
	least, most int
	run         func(e *evaluator, args []Value) (Value, error)
}

// pure finds a function of this package: the functors that only compute
// (semantics/pipeline §3.4), and currentDate and currentTime, which make the
// Scope's clock a text in ISO 8601.
func pure(name string) (function, bool) {
	switch name {
	case "empty":
		return function{1, 1, func(_ *evaluator, args []Value) (Value, error) { return Bool(empty(args[0])), nil }}, true
	case "size":
		return function{1, 1, sizeOf}, true
	case "json.select":
		return function{2, 2, jsonSelect}, true
	case "json.list":
		return function{2, 2, jsonList}, true
	case "json.object":
		return function{1, 1, func(e *evaluator, args []Value) (Value, error) { return e.document(args[0]) }}, true
	case "json.format":
		return function{1, 1, func(e *evaluator, args []Value) (Value, error) { return jsonFormat(e, args[0]) }}, true
	case "json.concat":
		return function{2, 2, jsonConcat}, true
	case "json.length":
		return function{1, 1, jsonLength}, true
	case "xml.select":
		return function{2, 2, xmlSelect}, true
	case "regex.extract":
		return function{2, 2, regexExtract}, true
	case "regex.match":
		return function{2, 2, regexMatch}, true
	case "regex.replace":
		return function{3, 3, func(e *evaluator, args []Value) (Value, error) {
			if slices.ContainsFunc(args, Value.IsNull) {
				return Null(), errors.New("an argument is null")
			}
			s, err := e.replaceRegex(args[2].Text(), args[0].Text(), args[1].Text(), -1)
			return String(s), err
		}}, true
	case "shell.escapeChars":
		return function{2, 2, escapeChars}, true
	case "currentDate":
		return function{0, 0, func(e *evaluator, _ []Value) (Value, error) { return clock(e, time.DateOnly) }}, true
	case "currentTime":
		return function{0, 0, func(e *evaluator, _ []Value) (Value, error) { return clock(e, time.RFC3339Nano) }}, true
	}
	return function{}, false
}

func clock(e *evaluator, layout string) (Value, error) {
	t, err := e.now()
	if err != nil {
		return Null(), err
	}
	return String(t.Format(layout)), nil
}

// empty is JEXL's: null, "", 0, [] and {} are.
func empty(v Value) bool {
	switch v.kind {
	case KindNull:
		return true
	case KindString:
		return v.text == ""
	case KindNumber:
		f, _ := v.Float()
		return f == 0
	case KindList, KindMap:
		return v.Len() == 0
	case KindBool, KindStatus, KindSecret:
	}
	return false
}

func sizeOf(_ *evaluator, args []Value) (Value, error) {
	switch v := args[0]; v.kind {
	case KindNull:
		return Int(0), nil
	case KindString, KindStatus:
		return Int(int64(length(v.text))), nil
	case KindList, KindMap:
		return Int(int64(v.Len())), nil
	case KindBool, KindNumber, KindSecret:
	}
	return Null(), fmt.Errorf("%s has no size", args[0].kind)
}

// document reads JSON from a text; other values already are documents.
func (e *evaluator) document(v Value) (Value, error) {
	if v.kind != KindString {
		return v, nil
	}
	const cost = 24 // reading JSON is that much slower than copying it
	if err := e.spend(len(v.text) * cost); err != nil {
		return Null(), err
	}
	doc, err := FromJSON([]byte(v.text))
	if err != nil {
		return Null(), fmt.Errorf("%s isn't JSON: %w", excerpt(v.text, 0), err)
	}
	return doc, nil
}

// jsonSelect reads a document by a path with or without $; what isn't there
// is null.
func jsonSelect(e *evaluator, args []Value) (Value, error) {
	doc, err := e.document(args[1])
	if err != nil {
		return Null(), err
	}
	return e.selectPath(args[0].Text(), doc)
}

// jsonList is jsonSelect that always gives a list.
func jsonList(e *evaluator, args []Value) (Value, error) {
	v, err := jsonSelect(e, args)
	switch {
	case err != nil:
		return Null(), err
	case v.kind == KindList:
		return v, nil
	case v.IsNull():
		return List(nil), nil
	}
	return List([]Value{v}), nil
}

// jsonFormat gives compact JSON of anything.
func jsonFormat(e *evaluator, v Value) (Value, error) {
	if v.kind == KindString {
		if doc, err := FromJSON([]byte(v.text)); err == nil && doc.many != nil {
			v = doc // a text that holds a document is compacted, not quoted
		}
	}
	text := string(v.appendJSON(nil))
	return String(text), e.made(-1, len(text))
}

// jsonConcat joins lists, merges maps (the second wins), else joins texts.
func jsonConcat(e *evaluator, args []Value) (Value, error) {
	a, errA := e.document(args[0])
	b, errB := e.document(args[1])
	switch {
	case errA != nil || errB != nil:
	case a.kind == KindList && b.kind == KindList:
		if a.Len()+b.Len() > maxElements {
			return Null(), tooLarge("a list may have %d elements; these have %d", maxElements, a.Len()+b.Len())
		}
		return List(append(append([]Value{}, a.Items()...), b.Items()...)), e.spend((a.Len() + b.Len()) * stepBytes)
	case a.kind == KindMap && b.kind == KindMap:
		var entries []Member
		for _, m := range []Value{a, b} {
			for i, k := range m.Keys() {
				entries = append(entries, Member{k, m.Items()[i]})
			}
		}
		return Object(entries...), e.spend(len(entries) * stepBytes)
	}
	return e.concat(args[0], args[1])
}

func jsonLength(e *evaluator, args []Value) (Value, error) {
	doc, err := e.document(args[0])
	if err != nil || doc.kind == KindString {
		return Int(int64(length(args[0].Text()))), nil
	}
	return sizeOf(e, []Value{doc})
}

// regexExtract gives the first match that isn't empty, or "".
func regexExtract(e *evaluator, args []Value) (Value, error) {
	re, text, err := e.patternAndText(args)
	if err != nil {
		return Null(), err
	}
	for _, m := range re.FindAllString(text, -1) {
		if m != "" {
			return String(m), nil
		}
	}
	return String(""), nil
}

// regexMatch says whether the pattern is found anywhere.
func regexMatch(e *evaluator, args []Value) (Value, error) {
	re, text, err := e.patternAndText(args)
	if err != nil {
		return Null(), err
	}
	return Bool(re.MatchString(text)), nil
}

// escapeChars puts a backslash before each of the listed characters.
func escapeChars(e *evaluator, args []Value) (Value, error) {
	if args[0].IsNull() || args[1].IsNull() {
		return Null(), errors.New("an argument is null")
	}
	chars := args[1].Text()
	var b strings.Builder
	for _, r := range args[0].Text() {
		if strings.ContainsRune(chars, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return String(b.String()), e.made(-1, b.Len())
}
