package expr

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// Bounds of one evaluation.
const (
	// maxValue is the size of a text that an expression may make, in bytes
	// (semantics/pipeline §3.1).
	maxValue = 256 << 10
	// maxElements is the size of a list that an expression may make.
	maxElements = maxValue / 4
	// maxSteps counts nodes visited plus work on texts, 64 bytes a step: a
	// million nodes or 64 MB of text, far above any pipeline and below a second.
	maxSteps  = 1_000_000
	stepBytes = 64
)

// evaluator is one evaluation. Errors carry offsets in src.
type evaluator struct {
	scope Scope
	src   string
	lax   bool // unknown names are null
	keep  bool // expressions that can't be resolved stay in the text
	blank bool // expressions that can't be resolved are empty texts
	steps int
	exprs map[string]*regexp.Regexp // compiled so far
}

// spend counts work; bytes is the size of a text that is read or made.
func (e *evaluator) spend(bytes int) error {
	e.steps += 1 + bytes/stepBytes
	if e.steps > maxSteps {
		return tooLarge("the evaluation takes too many steps")
	}
	return nil
}

// text is a value's text, counted as work.
func (e *evaluator) text(v Value) (string, error) {
	text := v.Text()
	return text, e.spend(len(text))
}

// fits refuses texts that are too large.
func (e *evaluator) fits(pos int, v Value) error {
	if len(v.text) > maxValue {
		return at(pos, sizeError(len(v.text)))
	}
	return nil
}

func sizeError(size int) error {
	return tooLarge("a value may have %d bytes; this one has %d", maxValue, size)
}

// parts evaluates a text.
func (e *evaluator) parts(parts []part) (Value, error) {
	if len(parts) == 1 && parts[0].expr != nil {
		v, err := e.part(parts[0])
		if err == nil {
			err = e.fits(parts[0].start, v)
		}
		return v, err
	}
	var b strings.Builder
	b.Grow(min(len(e.src), maxValue))
	secret := false
	for _, p := range parts {
		text := p.text
		if p.expr != nil {
			v, err := e.part(p)
			if err != nil {
				return Null(), err
			}
			text = v.Text()
			secret = secret || v.Secret()
		}
		if b.Len()+len(text) > maxValue {
			return Null(), at(p.start, sizeError(b.Len()+len(text)))
		}
		b.WriteString(text)
	}
	return textValue(b.String(), secret), nil
}

func (e *evaluator) part(p part) (Value, error) {
	v, err := e.eval(p.expr)
	if err == nil && !(e.blank && v.IsNull()) {
		return v, nil
	}
	switch unresolved := (*Unresolved)(nil); {
	case err != nil && !errors.As(err, &unresolved):
	case e.keep:
		return String(e.src[p.start:p.end]), nil
	case e.blank:
		return String(""), nil
	}
	return v, err
}

// textValue is a text that stays opaque if a secret went into it.
func textValue(text string, secret bool) Value {
	if secret {
		return SecretRef(text)
	}
	return String(text)
}

func (e *evaluator) eval(n node) (Value, error) {
	if err := e.spend(0); err != nil {
		return Null(), at(n.pos(), err)
	}
	switch n := n.(type) {
	case *literal:
		return n.value, nil
	case *template:
		return e.template(n.pieces)
	case *path:
		return e.path(n)
	case *call:
		return e.call(n)
	case *field:
		return e.field(n)
	case *element:
		return e.element(n)
	case *method:
		return e.method(n)
	case *unary:
		return e.unary(n)
	case *binary:
		return e.binary(n)
	case *ternary:
		return e.ternary(n)
	case *list:
		return e.list(n)
	case *object:
		return e.object(n)
	}
	return Null(), failAt(n.pos(), "expression of unknown form %T", n)
}

func (e *evaluator) all(nodes []node) ([]Value, error) {
	out := make([]Value, len(nodes))
	for i, n := range nodes {
		v, err := e.eval(n)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// template evaluates a string literal with expressions in it.
func (e *evaluator) template(pieces []piece) (Value, error) {
	var b strings.Builder
	secret := false
	for _, p := range pieces {
		b.WriteString(p.text)
		if p.expr == nil {
			continue
		}
		v, err := e.eval(p.expr)
		if err != nil {
			return Null(), err
		}
		text := v.Text()
		if err := e.made(p.expr.pos(), b.Len()+len(text)); err != nil {
			return Null(), err
		}
		b.WriteString(text)
		secret = secret || v.Secret()
	}
	return textValue(b.String(), secret), nil
}

// made checks and counts a text that is about to be made.
func (e *evaluator) made(pos, size int) error {
	if size > maxValue {
		return at(pos, sizeError(size))
	}
	if err := e.spend(size); err != nil {
		return at(pos, err)
	}
	return nil
}

func (e *evaluator) ternary(n *ternary) (Value, error) {
	cond, err := e.eval(n.cond)
	if err != nil {
		return Null(), err
	}
	yes, err := truth(cond)
	if err != nil {
		return Null(), at(n.cond.pos(), err)
	}
	if yes {
		return e.eval(n.yes)
	}
	return e.eval(n.no)
}

func (e *evaluator) list(n *list) (Value, error) {
	items, err := e.all(n.items)
	if err != nil || !n.set {
		return List(items), err
	}
	var distinct []Value
	for _, v := range items {
		if err := e.spend(len(distinct) * stepBytes); err != nil {
			return Null(), at(n.pos(), err)
		}
		if !slices.ContainsFunc(distinct, v.Equal) {
			distinct = append(distinct, v)
		}
	}
	return List(distinct), nil
}

func (e *evaluator) object(n *object) (Value, error) {
	entries := make([]Member, len(n.keys))
	for i := range n.keys {
		k, err := e.eval(n.keys[i])
		if err != nil {
			return Null(), err
		}
		if k.Secret() {
			return Null(), failAt(n.keys[i].pos(), "a secret can't be a key")
		}
		v, err := e.eval(n.values[i])
		if err != nil {
			return Null(), err
		}
		entries[i] = Member{k.Text(), v}
	}
	return Object(entries...), nil
}
