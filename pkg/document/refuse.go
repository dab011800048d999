package document

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Refuse is the rule of a key that Harness has and Slipway can't honour yet. A
// value that changes nothing passes.
func (d *Decoder) Refuse(what string) Rule {
	return d.Never(what + " yet")
}

// Never is Refuse for what won't come; why says it in full, and what to write
// instead.
func (d *Decoder) Never(why string) Rule {
	return d.never(yamldoc.UseNever, why, func(v yamldoc.Value) { d.Unsupported(v, "%s", why) })
}

// Forbid is Never for a key that goes with another word of the mapping's; code
// is the finding's.
func (d *Decoder) Forbid(code, why string) Rule {
	return d.never(yamldoc.UseForbidden, why, func(v yamldoc.Value) { d.Errorf(v, code, "%s", why) })
}

func (d *Decoder) never(use yamldoc.Use, why string, report Rule) Rule {
	return func(v yamldoc.Value) {
		d.closed = true
		d.Takes(v, use, why)
		if !Neutral(v.Node) {
			report(v)
		}
	}
}

// Elsewhere is the rule of a key that stands in the wrong mapping; why says
// where it belongs. The schema doesn't have it here.
func (d *Decoder) Elsewhere(code, why string) Rule {
	return func(v yamldoc.Value) {
		d.closed = true
		d.Takes(v, yamldoc.UseElsewhere, why)
		d.Errorf(v, code, "%s", why)
	}
}

// Without refuses one of the words that a value may be, which it is if said;
// why says it in full.
func (d *Decoder) Without(v yamldoc.Value, word string, said bool, why string) {
	d.Takes(v, yamldoc.UseWithout, word, why)
	if said {
		d.Unsupported(v, "%s", why)
	}
}

// Failed reports the error of a check, if there is one.
func (d *Decoder) Failed(v yamldoc.Value, err error) {
	switch {
	case fault.Is(err, fault.Unsupported):
		d.Unsupported(v, "%s", err)
	case err != nil:
		d.Errorf(v, WrongValue, "%s", err)
	}
}

// Idle is the rule of a key that documents have and that changes nothing here,
// however it is decoded; why says why, after "no effect here:".
func (d *Decoder) Idle(why string, decode Rule) Rule {
	return func(v yamldoc.Value) {
		decode(v)
		d.Takes(v, yamldoc.UseIdle, why)
		if !Neutral(v.Node) {
			d.Warnf(v.AtKey(), NoEffect, "%s has no effect here: %s", v.Key, why)
		}
	}
}

// Neutral says whether a value is the same as none: null, blank, false, an
// empty list, or a mapping of nothing else.
func Neutral(n *yamldoc.Node) bool {
	if n == nil {
		return true
	}
	switch n.Kind {
	case yamldoc.Scalar:
		return n.Value == "" || strings.EqualFold(n.Value, "false")
	case yamldoc.Sequence:
		return len(n.Items) == 0
	case yamldoc.Mapping:
		return !slices.ContainsFunc(n.Entries, func(e yamldoc.Entry) bool { return !Neutral(e.Value) })
	case yamldoc.Null:
	}
	return true
}

// fewWords is how many words a message lists beside a reason, which says more
// than a long list does.
const fewWords = 4

// refusedWord reports a word that Harness has and Slipway refuses, with the
// reason and, if they are few, the words that can be written.
func (d *Decoder) refusedWord(v yamldoc.Value, what, word string, can []string) {
	text, reason := fmt.Sprintf("%s %s isn't supported yet", what, word), ""
	if d.Why != nil {
		reason = d.Why(what, word)
	}
	if reason != "" {
		text += ": " + reason
	}
	if reason == "" || len(can) <= fewWords {
		text += "; want " + Choice(can)
	}
	d.Unsupported(v, "%s", text)
}

// Choice is a list of words as a message has it: one of them, or "one of" them.
func Choice(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return "one of " + strings.Join(words, ", ")
}

// meant is the end of a message about a word that nobody knows: whether one of
// those that can be written was meant. One that is refused is never proposed.
func (d *Decoder) meant(word string, can, cannot []string) string {
	for _, other := range cannot {
		if strings.EqualFold(word, other) {
			return fmt.Sprintf("; %s isn't supported", other)
		}
	}
	return d.Hint(word, can)
}
