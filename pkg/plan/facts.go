package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Facts are what an answer to an approval is bound to beside the question: what
// the execution deploys where, and what policies came to, as far as it is known.
// They are by what people call them, e.g. "artifact of deploy".
type Facts map[string]string

const (
	// maxFacts is how many are told one by one, of maxFact bytes each at most, so
	// that an approval of a pipeline with many stages has room in its record.
	maxFacts, maxFact = 60, 400
	restOfFacts       = "the rest"
)

// Bounded are facts of which one tells of those that are too many, and that are
// as long as an approval has room for: by a digest, so that nothing goes unnoticed.
func (f Facts) Bounded() (Facts, error) {
	out := Facts{}
	rest := Facts{}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		value := f[name]
		if len(out) >= maxFacts {
			rest[name] = value
			continue
		}
		if len(value) > maxFact {
			sum, err := Sum(value)
			if err != nil {
				return nil, err
			}
			value = fmt.Sprintf("%.100s... %s", value, sum)
		}
		out[name] = value
	}
	if len(rest) == 0 {
		return out, nil
	}
	sum, err := Sum(rest)
	out[restOfFacts] = fmt.Sprintf("%d more, %s", len(rest), sum)
	return out, err
}

// Changes say what is otherwise now, for people.
func (f Facts) Changes(now Facts) []string {
	names := map[string]bool{}
	for _, all := range []Facts{f, now} {
		for name := range all {
			names[name] = true
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, before := f[name]
		is, still := now[name]
		switch {
		case before && still && was != is:
			out = append(out, fmt.Sprintf("%s was %q and is %q", name, was, is))
		case before && !still:
			out = append(out, fmt.Sprintf("%s was %q and isn't known any more", name, was))
		case !before:
			out = append(out, fmt.Sprintf("%s wasn't known and is %q", name, is))
		}
	}
	return out
}

// Bind has answers carry the digest of the question, of the plan by which the
// execution goes on, and of the facts.
func (a *Approval) Bind(plan string, facts Facts) error {
	sum, err := Sum(struct {
		Question string
		Plan     string
		Facts    Facts
	}{a.Question, plan, facts})
	a.Digest, a.Facts = sum, facts
	return err
}

// Renew asks anew because the facts have changed: what was answered before was
// about others, and doesn't count.
func (a *Approval) Renew(plan string, facts Facts) error {
	a.Changed, a.Activities = a.Facts.Changes(facts), nil
	return a.Bind(plan, facts)
}

// Sum is the digest of a value as JSON, whose mappings are in the order of their
// keys.
func Sum(v any) (string, error) {
	doc, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode what a digest is of: %w", err)
	}
	sum := sha256.Sum256(doc)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
