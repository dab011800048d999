package entity

import (
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/freeze"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// freeze decodes a deployment freeze (semantics/entities §13). Nothing in it is
// an expression: it is judged before there is a run that could know values.
func (d settings) freeze(v yamldoc.Value, e *Entity) *freeze.Freeze {
	f := &freeze.Freeze{Scope: e.Scope}
	var status yamldoc.Field[string]
	d.Fields(v, document.Merge(d.meta(e), document.Keys{
		"status":        d.Literal(&status, "Enabled", "Disabled"),
		"entityConfigs": func(v yamldoc.Value) { f.Rules = freezes(d).rules(v, e.Scope) },
		"windows": func(v yamldoc.Value) {
			for item := range d.Items(v) {
				f.Windows = append(f.Windows, freezes(d).window(item))
			}
		},
		"notificationRules": d.Refuse("telling people of freezes isn't supported"),
	}))
	f.ID, f.Name, f.Enabled = e.Identifier.Value, e.Name.Value, status.Value == "Enabled"
	d.Need(v, "identifier", "name")
	if f.ID == freeze.GlobalID {
		freezes(d).global(v, f)
	} else if v.Node.Get("entityConfigs") == nil {
		d.Errorf(v, document.MissingKey, "the freeze has no entityConfigs, so that it would stop nothing; want at least one rule")
	}
	if f.Enabled && len(f.Windows) == 0 {
		d.Errorf(v, document.MissingKey, "the freeze is Enabled and has no windows; want at least one")
	}
	return f
}

// global gives a scope's global freeze the one rule that it may have.
func (d freezes) global(v yamldoc.Value, f *freeze.Freeze) {
	for _, r := range f.Rules {
		if slices.ContainsFunc(r.Filters, func(by freeze.Filter) bool { return by.Choice != freeze.All }) {
			d.Errorf(document.Child(v, "entityConfigs"), document.WrongValue, "the global freeze concerns everything in its scope; want filterType All, or no entityConfigs")
			return
		}
	}
	f.Rules = []freeze.Rule{{Name: "all"}}
}

// freezes decodes the parts of a deployment freeze.
type freezes struct{ *decoder }

func (d freezes) rules(v yamldoc.Value, in ref.Scope) []freeze.Rule {
	var out []freeze.Rule
	d.Filled(v, document.WrongValue, "entityConfigs is empty, so the freeze would stop nothing; want at least one rule")
	for item := range d.Items(v) {
		var name yamldoc.Field[string]
		var r freeze.Rule
		d.Fields(item, document.Keys{
			"name": d.PlainText(&name, "the rule's name"),
			"entities": func(v yamldoc.Value) {
				for item := range d.Items(v) {
					r.Filters = append(r.Filters, d.filter(item, in))
				}
			},
		})
		d.Need(item, "name", "entities")
		r.Name = name.Value
		out = append(out, r)
	}
	return out
}

func (d freezes) filter(v yamldoc.Value, in ref.Scope) freeze.Filter {
	var typ, choice yamldoc.Field[string]
	var names yamldoc.Field[[]string]
	var types []string
	for _, t := range freeze.Types(in) {
		types = append(types, string(t))
	}
	of := freeze.Type(document.Peek(v, "type"))
	d.Fields(v, document.Keys{
		"type":       d.Literal(&typ, types...),
		"filterType": d.Literal(&choice, string(freeze.All), string(freeze.Equals), string(freeze.NotEquals)),
		"entityRefs": func(v yamldoc.Value) {
			names = d.Strings(v)
			d.Plain(v, names.Expr, "a list of names")
			for item := range d.Items(v) {
				d.named(item, of, in)
			}
		},
	})
	d.Need(v, "type", "filterType")
	f := freeze.Filter{Type: freeze.Type(typ.Value), Choice: freeze.Choice(choice.Value), Names: names.Value}
	if f.Choice != freeze.All && choice.Set && len(f.Names) == 0 {
		d.Errorf(v, document.MissingKey, "the filter is %s and names nothing; want entityRefs", f.Choice)
	}
	return f
}

// named checks the name of what a filter compares with. Whether there is such a
// thing isn't asked: a freeze may be there first.
func (d freezes) named(v yamldoc.Value, of freeze.Type, in ref.Scope) {
	if !v.Is(yamldoc.Scalar) {
		return
	}
	var err error
	switch name := v.Node.Value; of {
	case freeze.EnvType:
		if words := []string{"Production", "PreProduction"}; !slices.Contains(words, name) {
			d.Errorf(v, document.WrongValue, "found %q; want %s%s", yamldoc.Shorten(name), document.Choice(words), d.Hint(name, words))
		}
	case freeze.Org:
		err = ref.CheckOrg(name)
	case freeze.Project:
		err = ref.CheckProject(name)
	case freeze.Service, freeze.Environment, freeze.Pipeline:
		_, err = ref.Parse(name, in)
	}
	d.Failed(v, err)
}

func (d freezes) window(v yamldoc.Value) freeze.Window {
	var w freeze.Window
	d.Fields(v, document.Keys{
		"timeZone":   parsed(d, &w.Zone, freeze.ParseZone),
		"startTime":  parsed(d, &w.Start, freeze.ParseWall),
		"endTime":    parsed(d, &w.End, freeze.ParseWall),
		"duration":   parsed(d, &w.Duration, freeze.ParseDuration),
		"recurrence": func(v yamldoc.Value) { d.recurrence(v, &w) },
	})
	d.Need(v, "timeZone", "startTime")
	d.OneOf(v, "endTime", "duration")
	if !w.Start.IsZero() && !w.End.IsZero() && w.End.Sub(w.Start) < freeze.Shortest {
		d.Errorf(document.Child(v, "endTime"), document.WrongValue, "the window ends %s after its start; want 30m or longer", w.End.Sub(w.Start))
	}
	if !w.Until.IsZero() && w.Until.Before(w.Start) {
		d.Errorf(document.Child(v, "recurrence"), document.WrongValue, "the recurrence ends before the window's startTime, so that it never opens")
	}
	return w
}

func (d freezes) recurrence(v yamldoc.Value, w *freeze.Window) {
	var every yamldoc.Field[string]
	d.Fields(v, document.Keys{
		"type": d.Literal(&every, string(freeze.Daily), string(freeze.Weekly), string(freeze.Monthly), string(freeze.Yearly)),
		"spec": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{
				"until": parsed(d, &w.Until, freeze.ParseWall),
				"value": func(v yamldoc.Value) {
					f := d.Int(v)
					d.Plain(v, f.Expr, "a whole number")
					if w.Value = f.Value; f.Set && f.Expr == "" && (f.Value < 1 || f.Value > freeze.MaxValue) {
						d.Errorf(v, document.WrongValue, "found %d; want a number from 1 to %d", f.Value, freeze.MaxValue)
					}
				},
			})
		},
	})
	d.Need(v, "type")
	w.Every = freeze.Every(every.Value)
}

// parsed fills a value from a fixed text that is read by a function of package
// freeze.
func parsed[T time.Time | time.Duration | *time.Location](d freezes, into *T, parse func(string) (T, error)) document.Rule {
	return func(v yamldoc.Value) {
		f := d.Spelled(v, document.WrongValue, func(text string) error {
			_, err := parse(text)
			return err
		})
		if !f.Set {
			return
		}
		if got, err := parse(f.Value); err == nil {
			*into = got
		}
	}
}
