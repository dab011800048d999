package expr

import (
	"cmp"
	"slices"
	"strings"
)

// same is ==. Kinds are coerced as semantics/pipeline §3.3 says: next to a
// boolean everything is a boolean, next to a number a string that looks like
// one is a number, statuses compare by meaning, the rest by text.
func (e *evaluator) same(x, y Value) (bool, error) {
	if err := e.spend(len(x.text) + len(y.text)); err != nil {
		return false, err
	}
	switch {
	case x.IsNull() || y.IsNull():
		return x.IsNull() && y.IsNull(), nil
	case x.kind == KindBool || y.kind == KindBool:
		a, err := truth(x)
		if err != nil {
			return false, err
		}
		b, err := truth(y)
		return a == b, err
	case x.kind == KindStatus || y.kind == KindStatus:
		return statusKey(x.Text()) == statusKey(y.Text()), nil
	case x.kind == KindNumber || y.kind == KindNumber:
		a, err := operand(x)
		b, err2 := operand(y)
		if err == nil && err2 == nil {
			return compareNumbers(a, b) == 0, nil
		}
	case x.kind == y.kind && (x.kind == KindList || x.kind == KindMap):
		return e.sameMembers(x, y)
	}
	a, err := e.text(x)
	if err != nil {
		return false, err
	}
	b, err := e.text(y)
	return a == b, err
}

func (e *evaluator) sameMembers(x, y Value) (bool, error) {
	var failed error
	equal := func(a, b Value) bool {
		ok, err := e.same(a, b)
		if err != nil {
			failed = err
		}
		return ok && err == nil
	}
	if x.kind == KindMap {
		return x.equalMap(y, equal), failed
	}
	return slices.EqualFunc(x.Items(), y.Items(), equal), failed
}

// statusKey makes spellings of one status the same: case and _ don't count,
// SUCCESS is SUCCEEDED (semantics/pipeline §3.7).
func statusKey(s string) string {
	s = strings.ToUpper(strings.NewReplacer("_", "", " ", "").Replace(s))
	if s == "SUCCESS" {
		return "SUCCEEDED"
	}
	return s
}

func compareNumbers(x, y Value) int {
	if !x.float && !y.float {
		return cmp.Compare(int64(x.bits), int64(y.bits)) //nolint:gosec // bits, not counts
	}
	f, _ := x.Float()
	g, _ := y.Float()
	return cmp.Compare(f, g)
}

// ordered is <, <=, > and >=. What look like numbers compare as numbers, the
// rest as text. Null is neither less nor greater than anything, so that a
// condition on a value that doesn't exist yet is false.
func ordered(op string, x, y Value) bool {
	if x.IsNull() || y.IsNull() {
		return x.IsNull() && y.IsNull() && len(op) == 2
	}
	var c int
	a, err := operand(x)
	b, err2 := operand(y)
	if err == nil && err2 == nil {
		c = compareNumbers(a, b)
	} else {
		c = strings.Compare(x.Text(), y.Text())
	}
	switch op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}
