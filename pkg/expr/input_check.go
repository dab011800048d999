package expr

import (
	"fmt"
	"slices"
	"strings"
)

// consistent says whether the default is a value that would be accepted.
func (in Input) consistent() error {
	if !in.HasDefault {
		return nil
	}
	if err := in.Check(in.Default); err != nil {
		return fmt.Errorf("the default doesn't fit: %w", err)
	}
	return nil
}

// Check says whether a value is acceptable. Values and lists with expressions
// in them can't be judged before they are resolved and pass.
func (in Input) Check(value string) error {
	for _, list := range [][]string{in.Allowed, in.One} {
		if list != nil && !undecided(value, list) && !slices.Contains(list, value) {
			return fmt.Errorf("%q isn't one of %s", value, strings.Join(list, ", "))
		}
	}
	if in.Many != nil {
		if err := subset(value, in.Many); err != nil {
			return err
		}
	}
	if in.Regex == "" || strings.Contains(in.Regex+value, "<+") {
		return nil
	}
	re, err := compileRegex(whole(in.Regex))
	if err != nil {
		return err
	}
	if !re.MatchString(value) {
		return fmt.Errorf("%q doesn't match the regular expression %s", value, in.Regex)
	}
	return nil
}

// CheckMany is Check for String variables, where allowedValues takes several
// of its values with commas between.
func (in Input) CheckMany(value string) error {
	if in.Allowed != nil {
		if err := subset(value, in.Allowed); err != nil {
			return err
		}
		in.Allowed = nil
	}
	return in.Check(value)
}

func subset(value string, list []string) error {
	if undecided(value, list) || slices.Contains(list, value) {
		return nil
	}
	for _, item := range items(value) {
		if !slices.Contains(list, item) {
			return fmt.Errorf("%q isn't one of %s", item, strings.Join(list, ", "))
		}
	}
	return nil
}

func undecided(value string, list []string) bool {
	return strings.Contains(value, "<+") || slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, "<+") })
}
