package entity

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/extent"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// What a failure of one iteration does to those that haven't begun.
const (
	runAll     = "RunAll"
	skipQueued = "SkipQueued"
)

// Looping is a looping strategy (semantics/pipeline §6). Its kind is the one
// field of Matrix, Repeat and Parallelism that is set; none without a
// strategy.
type Looping struct {
	Doc            *yamldoc.Node // all of it; nil: there is none
	Open           bool          // an input stands for it
	Parallelism    yamldoc.Field[int]
	Matrix         Matrix
	Repeat         Repeat
	MaxConcurrency yamldoc.Field[int]
	When           yamldoc.Field[string]
	OnFailure      yamldoc.Field[string] // RunAll or SkipQueued

	times   int  // how often it runs
	written bool // that is known, because it is written out
}

// SkipsQueued says whether a failure skips the iterations that haven't begun.
func (l Looping) SkipsQueued() bool { return l.OnFailure.Value == skipQueued }

// RunsAll says whether a failure skips none of them, where it is said.
func (l Looping) RunsAll() bool { return l.OnFailure.Value == runAll }

// Repeats says whether there is a strategy, or may be.
func (l Looping) Repeats() bool { return l.Doc != nil || l.Open }

// set says whether there is a strategy.
func (l Looping) set() bool {
	return l.Parallelism.Set || l.Matrix.Axes != nil || l.Matrix.Whole != "" || l.Repeat.Times.Set || l.Repeat.Items != nil
}

// Matrix runs once for each combination of the values of its axes.
type Matrix struct {
	Axes           []yamldoc.Entry // lists, or expressions for one; nil: it is no mapping
	Whole          string          // an expression for all axes
	Exclude        *yamldoc.Node
	MaxConcurrency yamldoc.Field[int]
	NodeName       yamldoc.Field[string]
}

// Repeat runs so many times, or once for each item or part of a list.
type Repeat struct {
	Times          yamldoc.Field[int]
	Items          *yamldoc.Node // a list, or an expression for one
	MaxConcurrency yamldoc.Field[int]
	PartitionSize  yamldoc.Field[int]
	Unit           yamldoc.Field[string] // Count or Percentage
	Start          yamldoc.Field[int]
	End            yamldoc.Field[int]
}

// LoopingOf reads a strategy that has been checked, as it stands in a plan.
func LoopingOf(doc *yamldoc.Node) Looping {
	var l Looping
	steps{newDecoder(ref.Pipeline, yamldoc.NewReport(""), Options{})}.looping(&l)(yamldoc.Sub(doc, ""))
	return l
}

func (d steps) looping(l *Looping) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		l.Open = v.Is(yamldoc.Scalar) && !document.Neutral(v.Node)
		if d.Blank(v) && !emptied(v.Node) {
			return
		}
		if v.Is(yamldoc.Mapping) {
			l.Doc = v.Node
		}
		d.Fields(v, document.Keys{
			"parallelism":    d.Count(&l.Parallelism),
			"matrix":         func(v yamldoc.Value) { d.matrix(v, &l.Matrix) },
			"repeat":         func(v yamldoc.Value) { d.repeat(v, &l.Repeat) },
			"maxConcurrency": d.Count(&l.MaxConcurrency),
			"when":           d.Condition(&l.When),
			"onFailure":      d.Literal(&l.OnFailure, runAll, skipQueued),
		})
		d.OneOf(v, "matrix", "repeat", "parallelism")
		if l.times, l.written = extent.Written(v.Node); l.written {
			d.bounded(v, extent.Iterations(l.times))
		}
	}
}

// emptied says whether a strategy has a list that is empty, which isn't none: the node is
// skipped.
func emptied(n *yamldoc.Node) bool {
	matrix := n.At("matrix")
	return matrix != nil && len(matrix.Entries) > 0 || n.At("repeat", "items") != nil
}

func (d steps) matrix(v yamldoc.Value, m *Matrix) {
	if v.Is(yamldoc.Scalar) {
		m.Whole = d.loopExpression(v)
		return
	}
	m.Axes = []yamldoc.Entry{}
	var exclude yamldoc.Value
	for e := range d.Mapping(v) {
		switch e.Key {
		case "exclude":
			exclude = e
			d.loopItems(&m.Exclude)(e)
		case "maxConcurrency":
			d.Count(&m.MaxConcurrency)(e)
		case "nodeName":
			d.Text(&m.NodeName)(e)
		default:
			m.Axes = append(m.Axes, yamldoc.Entry{Key: e.Key, Value: axisOf(d, e)})
		}
	}
	excluded(d, exclude, m.Axes)
	d.bounded(v, extent.Axes(len(m.Axes)))
	if v.Is(yamldoc.Mapping) && len(m.Axes) == 0 {
		d.Errorf(v, document.MissingKey, "found no axes; want a name with a list of values at least")
	}
}

// axisOf decodes an axis: a name that nobody else gave, so that a misspelt key of the matrix
// looks like one.
func axisOf(d steps, v yamldoc.Value) *yamldoc.Node {
	var axis *yamldoc.Node
	d.loopItems(&axis)(v)
	if hint := d.Hint(v.Key, []string{"exclude", "maxConcurrency", "nodeName"}); hint != "" {
		d.Warnf(v.AtKey(), misspelt, "found the axis %q%s", yamldoc.Shorten(v.Key), hint)
	}
	switch n := v.Node; {
	case n.Kind == yamldoc.Null, n.Kind == yamldoc.Scalar && strings.TrimSpace(n.Value) == "":
		d.Errorf(v, document.WrongValue, "the axis has no values; want a list of them, or an expression for one")
	case n.Kind == yamldoc.Scalar && n.Tag != yamldoc.Str:
		d.Errorf(v, document.WrongValue, "found %s; want a list of values, or an expression for one", yamldoc.Shorten(n.Value))
	case n.Kind == yamldoc.Sequence && len(n.Items) == 0:
		d.Warnf(v, document.EmptyList, "the axis has no values, so that nothing runs")
	}
	return axis
}

// misspelt is the code of an axis that may have been meant as a key.
const misspelt = "UNKNOWN_KEY"

// excluded warns of combinations of axes that there aren't: they leave nothing out.
func excluded(d steps, v yamldoc.Value, axes []yamldoc.Entry) {
	if !v.Is(yamldoc.Sequence) {
		return
	}
	names := make([]string, len(axes))
	for i, a := range axes {
		names[i] = a.Key
	}
	for item := range d.List(v) {
		if !item.Is(yamldoc.Mapping) {
			continue
		}
		for e := range d.Mapping(item) {
			if !slices.Contains(names, e.Key) {
				d.Warnf(e.AtKey(), document.NoEffect, "there is no axis %q, so that this leaves nothing out%s", yamldoc.Shorten(e.Key), d.Hint(e.Key, names))
			}
		}
	}
}

func (d steps) repeat(v yamldoc.Value, r *Repeat) {
	d.Fields(v, document.Keys{
		"times":          d.Count(&r.Times),
		"items":          d.loopItems(&r.Items),
		"maxConcurrency": d.Count(&r.MaxConcurrency),
		"partitionSize":  d.Count(&r.PartitionSize),
		"unit":           d.Literal(&r.Unit, "Percentage", "Count"),
		"start":          d.Count(&r.Start),
		"end":            d.Count(&r.End),
	})
	d.OneOf(v, "times", "items")
	for _, key := range []string{"partitionSize", "unit", "start", "end"} {
		if r.Items == nil && v.Is(yamldoc.Mapping) && v.Node.Get(key) != nil {
			d.Errorf(document.Child(v, key), document.WrongValue, "%s needs items; it means nothing with times", key)
		}
	}
}

// loopItems binds a list, or an expression or a comma-separated text for one.
func (d steps) loopItems(n **yamldoc.Node) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		*n = v.Node
		if v.Is(yamldoc.Scalar) {
			d.loopExpression(v)
			return
		}
		for item := range d.Items(v) {
			d.loopItem(item)
		}
	}
}

// loopItem checks an item: a text or a mapping of texts, and so on.
func (d steps) loopItem(v yamldoc.Value) {
	switch {
	case v.Is(yamldoc.Scalar):
		d.String(v)
	case v.Is(yamldoc.Mapping):
		for e := range d.Mapping(v) {
			d.loopItem(e)
		}
	case v.Is(yamldoc.Sequence):
		for item := range d.List(v) {
			d.loopItem(item)
		}
	}
}

// loopExpression checks an expression that gives a list when the loop starts.
// What starts like one is one as a whole: <+pipeline.variables.x>.split(',').
func (d steps) loopExpression(v yamldoc.Value) string {
	if strings.HasPrefix(strings.TrimSpace(v.Node.Value), "<+") {
		return d.Body(v).Expr
	}
	return d.String(v).Text
}
