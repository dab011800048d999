package sso

import (
	"errors"
	"strconv"
	"strings"
)

// CheckPattern says what is wrong with what a claim must be like.
func CheckPattern(text string) error {
	if strings.Trim(text, "* ") == "" {
		return errors.New("want a text that not everybody has, such as repo:acme/web:*")
	}
	return nil
}

// Lacks gives the claim of a trust that a token hasn't as it must be; empty: it has
// all of them.
func (t Trust) Lacks(claims map[string]any) string {
	lacks := ""
	for name, pattern := range t.Claims {
		if !says(claims[name], pattern) && (lacks == "" || name < lacks) {
			lacks = name
		}
	}
	return lacks
}

// says says whether a claim is like a pattern, or a list with one that is.
func says(claim any, pattern string) bool {
	switch v := claim.(type) {
	case string:
		return like(v, pattern)
	case bool:
		return like(strconv.FormatBool(v), pattern)
	case float64:
		return like(strconv.FormatFloat(v, 'f', -1, 64), pattern)
	case []any:
		for _, one := range v {
			if s, ok := one.(string); ok && like(s, pattern) {
				return true
			}
		}
	}
	return false
}

// like says whether a text is like a pattern, in which * is any text.
func like(text, pattern string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return text == pattern
	}
	text, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, rest, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = rest
	}
	return strings.HasSuffix(text, parts[len(parts)-1])
}
