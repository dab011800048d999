package document

import (
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The rules below fill a field. Where the field is nil the value is only
// checked: somebody else reads it.

// Text fills a field with a text.
func (d *Decoder) Text(f *yamldoc.Field[string]) Rule { return fill(f, d.String) }

// Flag fills a field with true or false.
func (d *Decoder) Flag(f *yamldoc.Field[bool]) Rule { return fill(f, d.Bool) }

// Number fills a field with a whole number.
func (d *Decoder) Number(f *yamldoc.Field[int]) Rule { return fill(f, d.Int) }

// Time fills a field with a duration.
func (d *Decoder) Time(f *yamldoc.Field[time.Duration]) Rule { return fill(f, d.Duration) }

// Words fills a field with a list of texts.
func (d *Decoder) Words(f *yamldoc.Field[[]string]) Rule { return fill(f, d.Strings) }

// Texts fills a field with texts by name.
func (d *Decoder) Texts(f *yamldoc.Field[map[string]string]) Rule { return fill(f, d.StringMap) }

// Condition fills a field with a text that as a whole is an expression.
func (d *Decoder) Condition(f *yamldoc.Field[string]) Rule { return fill(f, d.Body) }

// Word fills a field with one of a set of words.
func (d *Decoder) Word(f *yamldoc.Field[string], words ...string) Rule {
	return fill(f, func(v yamldoc.Value) yamldoc.Field[string] { return d.Enum(v, words...) })
}

// WordAnyCase is Word for words that may be written in any case; the field
// has them as they stand here.
func (d *Decoder) WordAnyCase(f *yamldoc.Field[string], words ...string) Rule {
	return func(v yamldoc.Value) {
		d.Takes(v, yamldoc.UseAnyCase)
		i := slices.IndexFunc(words, func(w string) bool { return v.Is(yamldoc.Scalar) && strings.EqualFold(v.Node.Value, w) })
		if i < 0 {
			*f = d.Enum(v, words...)
			return
		}
		*f = d.String(v)
		f.Value = words[i]
	}
}

func fill[T any](f *yamldoc.Field[T], read func(yamldoc.Value) yamldoc.Field[T]) Rule {
	return func(v yamldoc.Value) {
		if got := read(v); f != nil {
			*f = got
		}
	}
}

// Decided is Flag for what has to be known before anything runs.
func (d *Decoder) Decided(f *yamldoc.Field[bool]) Rule {
	return func(v yamldoc.Value) {
		*f = d.Bool(v)
		d.Fixed(v, f.Expr)
	}
}

// Count fills a field with a whole number from 0 on.
func (d *Decoder) Count(f *yamldoc.Field[int]) Rule {
	return func(v yamldoc.Value) {
		if *f = d.Int(v); f.Set && f.Expr == "" && f.Value < 0 {
			d.Errorf(v, WrongValue, "found %d; want a number from 0 on", f.Value)
		}
	}
}

// Literal fills a field with one of a set of words that decides how the rest
// is read, so no expression can stand for it.
func (d *Decoder) Literal(f *yamldoc.Field[string], words ...string) Rule {
	return d.Supported(f, "", words)
}

// Supported is Literal where Harness has more words of a kind than Slipway can
// do.
func (d *Decoder) Supported(f *yamldoc.Field[string], what string, can []string, harness ...string) Rule {
	return func(v yamldoc.Value) {
		*f = d.String(v)
		d.Takes(v, yamldoc.UsePlain)
		d.Takes(v, yamldoc.UseEnum, can...)
		d.Takes(v, yamldoc.UseRefused, harness...)
		switch {
		case !f.Set || slices.Contains(can, f.Value):
		case f.Expr != "":
			d.Errorf(v, WrongValue, "found an expression; want %s", Choice(can))
		case slices.Contains(harness, f.Value):
			d.refusedWord(v, what, f.Value, can)
		default:
			d.Errorf(v, WrongValue, "found %q; want %s%s", f.Value, Choice(can), d.meant(f.Value, can, harness))
		}
	}
}

// Node keeps a part as it stands.
func (d *Decoder) Node(n **yamldoc.Node) Rule {
	return func(v yamldoc.Value) {
		if !d.Whole(v) {
			*n = v.Node
		}
	}
}

// Name fills a field with a name for people.
func (d *Decoder) Name(f *yamldoc.Field[string]) Rule {
	return func(v yamldoc.Value) { *f = d.Spelled(v, BadName, ref.CheckName) }
}

// Nothing is the rule of a key that says nothing to Slipway, whatever it
// holds: descriptions, and what editors keep for themselves.
func Nothing(yamldoc.Value) {}

// Identifier decodes an identifier.
func (d *Decoder) Identifier(v yamldoc.Value, check func(string) error) yamldoc.Field[string] {
	return d.Spelled(v, BadIdentifier, check)
}

// Spelled decodes a text that isn't an expression and of which check says what
// is wrong with it.
func (d *Decoder) Spelled(v yamldoc.Value, code string, check func(string) error) yamldoc.Field[string] {
	d.Takes(v, yamldoc.UsePlain)
	f := d.String(v)
	if !f.Set {
		return f
	}
	if err := check(v.Node.Value); err != nil {
		d.Errorf(v, code, "%s", err)
	}
	return f
}

// Fixed reports an expression other than a runtime input: the plan needs the
// value before anything runs.
func (d *Decoder) Fixed(v yamldoc.Value, expression string) {
	d.Takes(v, yamldoc.UseInput)
	if expression != "" && !expr.IsRuntimeInput(expression) {
		d.Unsupported(v, "found an expression; here only a fixed value or <+input> is supported yet")
	}
}

// Plain reports any expression; want says what is taken instead.
func (d *Decoder) Plain(v yamldoc.Value, expression, want string) {
	d.Takes(v, yamldoc.UsePlain)
	if expression != "" {
		d.Errorf(v, WrongValue, "found an expression; want %s", want)
	}
}

// PlainText fills a field with a text that has no expression in it; want says
// what it is.
func (d *Decoder) PlainText(f *yamldoc.Field[string], want string) Rule {
	return func(v yamldoc.Value) {
		*f = d.String(v)
		d.Plain(v, f.Expr, want)
	}
}

// Settled is Plain where a runtime input may stand.
func (d *Decoder) Settled(v yamldoc.Value, expression, want string) {
	d.Takes(v, yamldoc.UseInput)
	if expression != "" && !expr.IsRuntimeInput(expression) {
		d.Errorf(v, WrongValue, "found an expression; want %s", want)
	}
}

// Blank says whether a value says nothing, where that is as good as none.
func (d *Decoder) Blank(v yamldoc.Value) bool {
	d.Takes(v, yamldoc.UseBlank)
	return Neutral(v.Node)
}

// Filled reports a list without items.
func (d *Decoder) Filled(v yamldoc.Value, code, format string, args ...any) {
	d.Takes(v, yamldoc.UseFilled)
	if v.Is(yamldoc.Sequence) && len(v.Node.Items) == 0 {
		d.Errorf(v, code, format, args...)
	}
}

// Named says that a mapping is the same wherever it stands, such as in another
// of its sort; its name is the schema's for it.
func (d *Decoder) Named(v yamldoc.Value, name string) { d.Takes(v, yamldoc.UseNamed, name) }
