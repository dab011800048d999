package sso

import "testing"

func TestWhatAClaimIsLike(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		claim   any
		pattern string
		want    bool
	}{
		{"repo:acme/web:ref:refs/heads/main", "repo:acme/web:ref:refs/heads/main", true},
		{"repo:acme/web:ref:refs/heads/main", "repo:acme/web:*", true},
		{"repo:acme/web:ref:refs/heads/main", "repo:acme/*:ref:refs/heads/main", true},
		{"repo:acme/web-evil:ref:refs/heads/main", "repo:acme/web:*", false},
		{"repo:acme/web", "repo:acme/web:*", false},
		{"x repo:acme/web:a", "repo:acme/web:*", false},
		{"repo:acme/web:a", "Repo:acme/web:*", false},
		{"aba", "ab*ba", false},
		{"abba", "ab*ba", true},
		{"a.b", "a?b", false},
		{"a", "a*a", false},
		{"", "", true},
		{nil, "", false},
		{true, "true", true},
		{float64(12), "12", true},
		{[]any{"x", "main"}, "main", true},
		{[]any{"x", true}, "true", false},
		{map[string]any{"a": "b"}, "*b*", false},
	} {
		if got := says(c.claim, c.pattern); got != c.want {
			t.Errorf("%v like %q: %v", c.claim, c.pattern, got)
		}
	}
}
