package resolve

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/extent"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// axis is a name with the values that it takes.
type axis struct {
	name   string
	values []expr.Value
}

// matrix combines the values of all axes, the first one slowest, without what
// is excluded (semantics/pipeline §6).
func (l *looping) matrix() ([]plan.Iteration, error) {
	axes, err := l.axes()
	if err != nil {
		return nil, err
	}
	if err := extent.Axes(len(axes)); err != nil {
		return nil, err
	}
	exclude, err := l.exclude()
	if err != nil {
		return nil, err
	}
	total := 1
	for _, a := range axes {
		if total *= len(a.values); total > maxCombinations {
			return nil, fault.New(fault.TooLarge, "the matrix has more than %d combinations", maxCombinations)
		}
	}
	var list []plan.Iteration
	at := make([]int, len(axes))
	for range total {
		it, wanted, err := l.combination(axes, at, exclude)
		if err != nil {
			return nil, err
		}
		if wanted {
			list = append(list, it)
		}
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < len(axes[i].values) {
				break
			}
			at[i] = 0
		}
	}
	distinct(list)
	return list, extent.Iterations(len(list))
}

// maxCombinations bounds a matrix before its exclusions.
const maxCombinations = 16 * extent.MaxIterations

// axes are the axes in the order in which they are written.
func (l *looping) axes() ([]axis, error) {
	var axes []axis
	if whole := l.Matrix.Whole; whole != "" {
		v, err := l.body(whole)
		if err != nil {
			return nil, fmt.Errorf("matrix: %w", err)
		}
		if v.Kind() != expr.KindMap {
			return nil, fault.New(fault.Invalid, "matrix is %s; want axes with their values", v.Kind())
		}
		for _, name := range v.Keys() {
			values, _ := v.Field(name)
			axes = append(axes, axis{name, split(values)})
		}
		return axes, nil
	}
	for _, a := range l.Matrix.Axes {
		values, err := l.list("matrix."+a.Key, a.Value)
		if err != nil {
			return nil, err
		}
		axes = append(axes, axis{a.Key, values})
	}
	if len(axes) == 0 {
		return nil, fault.New(fault.Invalid, "the matrix has no axes")
	}
	return axes, nil
}

// exclude is each entry's axes with the value to be left out, as text.
func (l *looping) exclude() ([]map[string]string, error) {
	if l.Matrix.Exclude == nil {
		return nil, nil
	}
	items, err := l.list("matrix.exclude", l.Matrix.Exclude)
	if err != nil {
		return nil, err
	}
	var out []map[string]string
	for i, item := range items {
		if item.Kind() != expr.KindMap {
			return nil, fault.New(fault.Invalid, "matrix.exclude[%d] is %s; want axes with a value each", i, item.Kind())
		}
		entry := map[string]string{}
		for _, key := range item.Keys() {
			v, _ := item.Field(key)
			entry[key] = v.Text()
		}
		out = append(out, entry)
	}
	return out, nil
}

// combination is one iteration: the value of each axis at its index.
func (l *looping) combination(axes []axis, at []int, exclude []map[string]string) (plan.Iteration, bool, error) {
	members := make([]expr.Member, len(axes))
	var postfix, words strings.Builder
	for i, a := range axes {
		v := a.values[at[i]]
		members[i] = expr.Member{Key: a.name, Value: v}
		postfix.WriteString("_" + strconv.Itoa(at[i]))
		words.WriteString(" " + v.Text())
	}
	value := expr.Object(members...)
	for _, entry := range exclude {
		if matches(value, entry) {
			return plan.Iteration{}, false, nil
		}
	}
	values, err := encode("matrix", value)
	if err != nil {
		return plan.Iteration{}, false, err
	}
	it := plan.Iteration{Postfix: postfix.String(), Name: label(l.scope.Node.Name, words.String()), Values: values}
	if name := l.Matrix.NodeName.Text; name != "" {
		v, err := l.scope.With(map[string]expr.Value{"matrix": value}).InterpolateKnown(name)
		if err != nil {
			return plan.Iteration{}, false, fmt.Errorf("matrix.nodeName: %w", err)
		}
		it.Name = label(v.Text(), "")
	}
	return it, true, nil
}

func matches(value expr.Value, entry map[string]string) bool {
	for name, want := range entry {
		if v, ok := value.Field(name); !ok || v.Text() != want {
			return false
		}
	}
	return len(entry) > 0
}

// distinct adds the index to names that several iterations have.
func distinct(list []plan.Iteration) {
	count := map[string]int{}
	for _, it := range list {
		count[it.Name]++
	}
	for i, it := range list {
		if count[it.Name] > 1 {
			list[i].Name += " " + strings.ReplaceAll(strings.TrimPrefix(it.Postfix, "_"), "_", " ")
		}
	}
}
