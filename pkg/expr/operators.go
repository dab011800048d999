package expr

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

var errSecret = errors.New("a secret is opaque: it may be a branch of ?:, or be concatenated, and nothing else")

// truth is JEXL's idea of a boolean (semantics/pipeline §3.3).
func truth(v Value) (bool, error) {
	switch v.kind {
	case KindNull:
		return false, nil
	case KindBool:
		return v.bits != 0, nil
	case KindNumber:
		f, _ := v.Float()
		return f != 0, nil
	case KindString:
		return v.text != "" && v.text != "false", nil
	case KindStatus:
		return true, nil
	case KindList, KindMap:
		return v.Len() > 0, nil
	case KindSecret:
		return false, errSecret
	}
	return false, fmt.Errorf("%s is neither true nor false", v.kind)
}

func (e *evaluator) unary(n *unary) (Value, error) {
	x, err := e.eval(n.x)
	if err != nil {
		return Null(), err
	}
	if n.op == "!" {
		b, err := truth(x)
		if err != nil {
			return Null(), at(n.pos(), err)
		}
		return Bool(!b), nil
	}
	x, err = operand(x)
	if err != nil {
		return Null(), at(n.pos(), err)
	}
	if n.op == "-" {
		x, err = arithmetic("-", Int(0), x)
	}
	return x, err
}

func (e *evaluator) binary(n *binary) (Value, error) {
	x, err := e.eval(n.x)
	if err != nil {
		return Null(), err
	}
	v, done, err := shortcut(n.op, x)
	if err != nil || done {
		return v, wrap(n.pos(), err)
	}
	y, err := e.eval(n.y)
	if err != nil {
		return Null(), err
	}
	v, err = e.operate(n.op, x, y)
	return v, wrap(n.pos(), err)
}

func wrap(pos int, err error) error {
	if err == nil {
		return nil
	}
	return at(pos, err)
}

// shortcut decides operators that may not need their right side.
func shortcut(op string, x Value) (v Value, done bool, err error) {
	switch op {
	case "??":
		return x, !x.IsNull(), nil
	case "?:":
		yes, err := truth(x)
		return x, yes, err
	case "&&":
		yes, err := truth(x)
		return Bool(false), !yes, err
	case "||":
		yes, err := truth(x)
		return Bool(true), yes, err
	}
	return Null(), false, nil
}

// operate applies an operator to both its operands.
func (e *evaluator) operate(op string, x, y Value) (Value, error) {
	switch op {
	case "??", "?:":
		return y, nil
	case "+":
		return e.plus(x, y)
	}
	if x.Secret() || y.Secret() {
		return Null(), errSecret
	}
	switch op {
	case "&&", "||":
		yes, err := truth(y)
		return Bool(yes), err
	case "==", "!=":
		same, err := e.same(x, y)
		return Bool(same == (op == "==")), err
	case "<", "<=", ">", ">=":
		return Bool(ordered(op, x, y)), nil
	case "=~", "!~":
		match, err := e.matches(x, y)
		return Bool(match == (op == "=~")), err
	case "=^", "!^":
		return Bool(affix(x, y, strings.HasPrefix) == (op == "=^")), nil
	case "=$", "!$":
		return Bool(affix(x, y, strings.HasSuffix) == (op == "=$")), nil
	case "..":
		return e.span(x, y)
	}
	return arithmeticOf(op, x, y)
}

// plus concatenates two strings; else it adds if both sides are numbers or
// look like numbers, and concatenates if not.
func (e *evaluator) plus(x, y Value) (Value, error) {
	if x.IsNull() || y.IsNull() {
		return Null(), errors.New("one side of + is null")
	}
	if x.kind == KindNumber || y.kind == KindNumber {
		a, err := operand(x)
		b, err2 := operand(y)
		if err == nil && err2 == nil {
			return arithmetic("+", a, b)
		}
	}
	return e.concat(x, y)
}

func (e *evaluator) concat(x, y Value) (Value, error) {
	a, b := x.Text(), y.Text()
	if err := e.made(-1, len(a)+len(b)); err != nil {
		return Null(), err
	}
	return textValue(a+b, x.Secret() || y.Secret()), nil
}

// operand is a number, or a string that looks like one.
func operand(v Value) (Value, error) {
	switch v.kind {
	case KindNumber:
		return v, nil
	case KindString:
		if n, ok := parseNumber(v.text); ok {
			return n, nil
		}
		return v, fmt.Errorf("%s isn't a number", excerpt(v.text, 0))
	case KindSecret:
		return v, errSecret
	case KindNull, KindBool, KindList, KindMap, KindStatus:
	}
	return v, fmt.Errorf("found %s; a number is expected", v.kind)
}

func arithmeticOf(op string, x, y Value) (Value, error) {
	a, err := operand(x)
	if err != nil {
		return Null(), fmt.Errorf("left of %s: %w", op, err)
	}
	b, err := operand(y)
	if err != nil {
		return Null(), fmt.Errorf("right of %s: %w", op, err)
	}
	return arithmetic(op, a, b)
}

// arithmetic works on integers as long as the result fits, else on floats.
// Like Java's, / of integers is an integer.
func arithmetic(op string, x, y Value) (Value, error) {
	a, b := int64(x.bits), int64(y.bits) //nolint:gosec // bits, not a count
	if !x.float && !y.float {
		if v, ok, err := integers(op, a, b); ok || err != nil {
			return v, err
		}
	}
	f, _ := x.Float()
	g, _ := y.Float()
	var r float64
	switch op {
	case "+":
		r = f + g
	case "-":
		r = f - g
	case "*":
		r = f * g
	case "/":
		r = f / g
	case "%":
		r = math.Mod(f, g)
	}
	if math.IsNaN(r) || math.IsInf(r, 0) {
		return Null(), fmt.Errorf("the result of %s isn't a number; was something divided by zero?", op)
	}
	return Float(r), nil
}

// integers gives ok = false if the result doesn't fit.
func integers(op string, a, b int64) (Value, bool, error) {
	switch op {
	case "+":
		r := a + b
		return Int(r), (r > a) == (b > 0), nil
	case "-":
		r := a - b
		return Int(r), (r < a) == (b > 0), nil
	case "*":
		hi, lo := bits.Mul64(magnitude(a), magnitude(b))
		return Int(a * b), hi == 0 && lo <= math.MaxInt64, nil
	}
	if b == 0 {
		return Null(), false, fmt.Errorf("%d %s 0: division by zero", a, op)
	}
	if op == "%" {
		if b == -1 {
			return Int(0), true, nil
		}
		return Int(a % b), true, nil
	}
	return Int(a / b), a != math.MinInt64 || b != -1, nil
}

func magnitude(i int64) uint64 {
	if i < 0 {
		return -uint64(i) //nolint:gosec // two's complement on purpose
	}
	return uint64(i)
}

// span is the range a..b, both ends included.
func (e *evaluator) span(x, y Value) (Value, error) {
	a, err := operand(x)
	if err != nil {
		return Null(), err
	}
	b, err := operand(y)
	if err != nil {
		return Null(), err
	}
	from, ok := a.Int()
	to, ok2 := b.Int()
	if !ok || !ok2 {
		return Null(), errors.New("the ends of a range are whole numbers")
	}
	step := int64(1)
	if to < from {
		step = -1
	}
	const exact = 1 << 53
	if magnitude(from) > exact || magnitude(to) > exact || magnitude(to-from) >= maxElements {
		return Null(), tooLarge("a list may have %d elements; this range has more", maxElements)
	}
	var out []Value
	for i := from; ; i += step {
		out = append(out, Int(i))
		if i == to {
			return List(out), e.spend(len(out) * stepBytes / 8)
		}
	}
}

// matches is =~: is x an element or key of y, or does all of x match the
// regular expression y?
func (e *evaluator) matches(x, y Value) (bool, error) {
	switch y.kind {
	case KindList:
		for _, item := range y.Items() {
			if same, err := e.same(x, item); same || err != nil {
				return same, err
			}
		}
		return false, nil
	case KindMap:
		key, err := e.text(x)
		return slices.Contains(y.Keys(), key), err
	case KindNull, KindBool, KindNumber, KindString, KindStatus, KindSecret:
	}
	if x.IsNull() || y.IsNull() {
		return x.IsNull() && y.IsNull(), nil
	}
	pattern, err := e.text(y)
	if err != nil {
		return false, err
	}
	text, err := e.text(x)
	if err != nil {
		return false, err
	}
	return e.fullMatch(pattern, text)
}

func affix(x, y Value, has func(s, t string) bool) bool {
	if x.IsNull() || y.IsNull() {
		return x.IsNull() && y.IsNull()
	}
	return has(x.Text(), y.Text())
}
