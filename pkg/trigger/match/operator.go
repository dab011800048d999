package match

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// holds compares a text by a condition's operator (semantics/pipeline §11.2).
func holds(c entity.Condition, actual string) (bool, error) {
	switch c.Operator {
	case entity.Equals:
		return actual == c.Value, nil
	case entity.NotEquals:
		return actual != c.Value, nil
	case entity.In:
		return in(c.Value, actual), nil
	case entity.NotIn:
		return !in(c.Value, actual), nil
	case entity.StartsWith:
		return strings.HasPrefix(actual, c.Value), nil
	case entity.EndsWith:
		return strings.HasSuffix(actual, c.Value), nil
	case entity.Contains:
		return strings.Contains(actual, c.Value), nil
	case entity.DoesNotContain:
		return !strings.Contains(actual, c.Value), nil
	case entity.Regex:
		re, err := whole(c.Value)
		if err != nil {
			return false, fault.New(fault.Invalid, "the condition on %s: %w", c.Key, err)
		}
		return re.MatchString(actual), nil
	}
	return false, fault.New(fault.Invalid, "the condition on %s has the operator %q", c.Key, c.Operator)
}

// in says whether a text is one of a list with commas between, literally or as
// a pattern, e.g. "main, release/.*".
func in(list, actual string) bool {
	for entry := range strings.SplitSeq(list, ",") {
		entry = strings.TrimSpace(entry)
		if entry == actual {
			return true
		}
		if re, err := whole(entry); err == nil && re.MatchString(actual) {
			return true
		}
	}
	return false
}

// whole compiles a pattern that matches all of a text, as Java's matches does.
func whole(pattern string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(pattern); err != nil {
		return nil, fmt.Errorf("the pattern %q: %w", pattern, err)
	}
	return regexp.Compile(`\A(?:` + pattern + `)\z`)
}
