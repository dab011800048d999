package render

import "testing"

func TestParseRemote(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]remote{
		"https://github.com/team/app//base/deep?ref=v1":   {"https://github.com/team/app", "base/deep", "v1"},
		"https://github.com/team/app/base/deep?version=2": {"https://github.com/team/app", "base/deep", "2"},
		"github.com/team/app/base":                        {"https://github.com/team/app", "base", ""},
		"github.com/team/app?ref=main":                    {"https://github.com/team/app", "", "main"},
		"https://example.com/a/b/c.git/base?ref=v1":       {"https://example.com/a/b/c.git", "base", "v1"},
		"git@example.com:team/app.git//base":              {"git@example.com:team/app.git", "base", ""},
		"git@example.com:team/app/base":                   {"git@example.com:team/app", "base", ""},
		"git::https://example.com/team/app.git":           {"https://example.com/team/app.git", "", ""},
		"ssh://git@example.com/team/app//base?ref=v1":     {"ssh://git@example.com/team/app", "base", "v1"},
	} {
		if got, err := parseRemote(entry); err != nil || got != want {
			t.Errorf("%s is %+v, %v; want %+v", entry, got, err, want)
		}
	}
}
