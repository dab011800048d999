package ref

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// placeholder is what a tool was to replace before the document came here:
// ${X}, $(x), {{ x }}, <x>, %X% and $X.
var placeholder = regexp.MustCompile(`\$\{[^}]*\}|\$\([^)]*\)|\{\{[^}]*\}\}|<[^+<>][^<>]*>|%[A-Za-z_]+%|\$[A-Z][A-Z0-9_]*`)

// spelled checks a word against its spelling, which takes ASCII or single
// characters, and says what is wrong with it: one thing, the cause first.
func spelled(what, text string, spelling *regexp.Regexp, allowed string) error {
	right := spelling.MatchString(text)
	found := placeholder.FindString(text)
	switch odd := stranger(spelling, text); {
	case right && len(text) <= maxLength:
		return nil
	case !right && found != "":
		return fmt.Errorf("%s %q has the placeholder %s, which was left in; put the value there", what, shown(text), found)
	case text == "":
		return fmt.Errorf("%s %q is empty; want %s", what, text, allowed)
	case odd != "":
		return fmt.Errorf("%s %q can't have %q; it may have %s", what, shown(text), odd, allowed)
	case right:
		return fmt.Errorf("%s %q has %d characters; the limit is %d", what, shown(text), utf8.RuneCountInString(text), maxLength)
	}
	first, _ := utf8.DecodeRuneInString(text)
	return fmt.Errorf("%s %q can't begin with %q", what, shown(text), string(first))
}

// stranger is the first character that a spelling takes nowhere.
func stranger(spelling *regexp.Regexp, text string) string {
	for _, c := range text {
		if !spelling.MatchString("a" + string(c)) {
			return string(c)
		}
	}
	return ""
}

// shown is a text that is too long to be shown, cut.
func shown(text string) string {
	if len(text) <= maxLength {
		return text
	}
	return strings.ToValidUTF8(text[:maxLength], "") + "..."
}
