package entity

import (
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
		if v.Is(yamldoc.Mapping) && len(v.Node.Entries) > 0 {
			l.Doc = v.Node
		}
		if d.Blank(v) {
			return
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

func (d steps) matrix(v yamldoc.Value, m *Matrix) {
	if v.Is(yamldoc.Scalar) {
		m.Whole = d.loopExpression(v)
		return
	}
	m.Axes = []yamldoc.Entry{}
	for e := range d.Mapping(v) {
		switch e.Key {
		case "exclude":
			d.loopItems(&m.Exclude)(e)
		case "maxConcurrency":
			d.Count(&m.MaxConcurrency)(e)
		case "nodeName":
			d.Text(&m.NodeName)(e)
		default:
			var axis *yamldoc.Node
			d.loopItems(&axis)(e)
			m.Axes = append(m.Axes, yamldoc.Entry{Key: e.Key, Value: axis})
		}
	}
	d.bounded(v, extent.Axes(len(m.Axes)))
	if v.Is(yamldoc.Mapping) && len(m.Axes) == 0 {
		d.Errorf(v, document.MissingKey, "found no axes; want a name with a list of values at least")
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
