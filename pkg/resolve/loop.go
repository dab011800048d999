package resolve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/extent"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// maxLoopBytes bounds the values of all iterations of a loop, which are kept
// in its state.
const maxLoopBytes = 256 << 10

// Iterations evaluates the looping strategy of a loop, the scope's node
// (semantics/pipeline §6). None if its condition is false.
func (s *Scope) Iterations() (plan.Iterations, error) {
	l := looping{scope: s, Looping: entity.LoopingOf(s.Node.Loop.Doc)}
	if when := l.When.Text; when != "" {
		if run, err := s.Condition(when); err != nil || !run {
			return plan.Iterations{}, err
		}
	}
	var list []plan.Iteration
	var err error
	switch {
	case l.Matrix.Axes != nil || l.Matrix.Whole != "":
		list, err = l.matrix()
	case l.Repeat.Items != nil || l.Repeat.Times.Set:
		list, err = l.repeat()
	default:
		list, err = l.times("parallelism", l.Parallelism)
	}
	if err != nil {
		return plan.Iterations{}, err
	}
	size := 0
	for _, it := range list {
		size += len(it.Values)
	}
	if size > maxLoopBytes {
		return plan.Iterations{}, fault.New(fault.TooLarge, "the values of all iterations have %d bytes; the limit is %d", size, maxLoopBytes)
	}
	out := plan.Iterations{List: list}
	if most := cmp.Or(l.Matrix.MaxConcurrency, l.Repeat.MaxConcurrency, l.MaxConcurrency); most.Text != "" { // in the kind, or beside it
		out.MaxConcurrency, err = l.number("maxConcurrency", most)
	}
	return out, err
}

// looping is the evaluation of one strategy.
type looping struct {
	entity.Looping
	scope *Scope
}

// number evaluates a whole number that isn't negative.
func (l *looping) number(name string, f yamldoc.Field[int]) (int, error) {
	v, err := field(l.scope, f)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	i, err := strconv.Atoi(strings.TrimSpace(v.Text()))
	if err != nil || i < 0 {
		return 0, fault.New(fault.Invalid, "%s is %q; want a whole number from 0 on", name, v.Text())
	}
	return i, nil
}

func (l *looping) times(name string, f yamldoc.Field[int]) ([]plan.Iteration, error) {
	count, err := l.number(name, f)
	if err != nil {
		return nil, err
	}
	if err := extent.Iterations(count); err != nil {
		return nil, err
	}
	list := make([]plan.Iteration, count)
	for i := range list {
		list[i] = plan.Iteration{Postfix: "_" + strconv.Itoa(i), Name: l.scope.Node.Name + " " + strconv.Itoa(i)}
	}
	return list, nil
}

// repeat counts or goes through a list, whole or in parts.
func (l *looping) repeat() ([]plan.Iteration, error) {
	if l.Repeat.Items == nil {
		return l.times("repeat.times", l.Repeat.Times)
	}
	items, err := l.list("repeat.items", l.Repeat.Items)
	if err != nil {
		return nil, err
	}
	if items, err = l.slice(items); err != nil {
		return nil, err
	}
	parts, err := l.partitions(items)
	if err != nil {
		return nil, err
	}
	if parts == nil {
		return l.each(items, func(v expr.Value) expr.Value { return expr.Object(expr.Member{Key: "item", Value: v}) })
	}
	return l.each(parts, func(v expr.Value) expr.Value { return expr.Object(expr.Member{Key: "partition", Value: v}) })
}

func (l *looping) each(items []expr.Value, values func(expr.Value) expr.Value) ([]plan.Iteration, error) {
	if err := extent.Iterations(len(items)); err != nil {
		return nil, err
	}
	list := make([]plan.Iteration, len(items))
	for i, item := range items {
		doc, err := encode("repeat", values(item))
		if err != nil {
			return nil, err
		}
		list[i] = plan.Iteration{Postfix: "_" + strconv.Itoa(i), Name: label(l.scope.Node.Name, item.Text()), Values: doc}
	}
	return list, nil
}

// slice is the part of the items from start up to, but without, end.
func (l *looping) slice(items []expr.Value) ([]expr.Value, error) {
	bounds := [2]int{0, len(items)}
	for i, f := range []yamldoc.Field[int]{l.Repeat.Start, l.Repeat.End} {
		if f.Set {
			at, err := l.number([]string{"repeat.start", "repeat.end"}[i], f)
			if err != nil {
				return nil, err
			}
			bounds[i] = min(at, len(items))
		}
	}
	return items[min(bounds[0], bounds[1]):bounds[1]], nil
}

// partitions are consecutive parts of the items: of so many each, or of so
// many percent of all, rounded up. Nil where no size is asked for.
func (l *looping) partitions(items []expr.Value) ([]expr.Value, error) {
	if l.Repeat.PartitionSize.Text == "" {
		return nil, nil
	}
	size, err := l.number("repeat.partitionSize", l.Repeat.PartitionSize)
	if err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, fault.New(fault.Invalid, "repeat.partitionSize is 0; want 1 or more")
	}
	if l.Repeat.Unit.Text == "Percentage" {
		size = int(math.Ceil(float64(size) * float64(len(items)) / 100))
	}
	parts := []expr.Value{}
	for from := 0; from < len(items); from += size {
		parts = append(parts, expr.List(items[from:min(from+size, len(items))]))
	}
	return parts, nil
}

// list evaluates a list: one that is written out, or an expression that gives
// one, a JSON array or a comma-separated text.
func (l *looping) list(name string, n *yamldoc.Node) ([]expr.Value, error) {
	if n.Kind == yamldoc.Sequence {
		out := make([]expr.Value, len(n.Items))
		for i, item := range n.Items {
			v, err := l.scope.scalar(item)
			if err != nil {
				return nil, fmt.Errorf("%s[%d]: %w", name, i, err)
			}
			out[i] = v
		}
		return out, nil
	}
	v, err := l.body(n.Value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return split(v), nil
}

// body evaluates a text as an expression as a whole, as in
// `<+pipeline.variables.x>.split(',')`; any other text with expressions in it.
func (l *looping) body(body string) (expr.Value, error) {
	if strings.HasPrefix(strings.TrimSpace(body), "<+") {
		return expr.Evaluate(body, l.scope)
	}
	return l.scope.value(body)
}

// split makes a list of a value.
func split(v expr.Value) []expr.Value {
	switch v.Kind() {
	case expr.KindList:
		return v.Items()
	case expr.KindNull:
		return nil
	case expr.KindString:
	default:
		return []expr.Value{v}
	}
	body := strings.TrimSpace(v.Text())
	if strings.HasPrefix(body, "[") {
		if list, err := expr.FromJSON([]byte(body)); err == nil {
			return list.Items()
		}
	}
	var out []expr.Value
	for part := range strings.SplitSeq(body, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, expr.String(part))
		}
	}
	return out
}

// encode is the values of an iteration as its state keeps them.
func encode(kind string, v expr.Value) (json.RawMessage, error) {
	if v.Secret() {
		return nil, fault.New(fault.Invalid, "a secret can't be looped over; loop over its name")
	}
	return json.Marshal(map[string]expr.Value{kind: v})
}

// maxLabel is how long the name of an iteration may be.
const maxLabel = 128

// label is an iteration's name for people.
func label(name, values string) string {
	text := strings.Join(strings.Fields(name+" "+values), " ")
	if len(text) > maxLabel {
		text = strings.ToValidUTF8(text[:maxLabel], "")
	}
	return text
}
