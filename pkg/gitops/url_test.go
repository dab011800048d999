package gitops

import (
	"strings"
	"testing"
)

func TestNormalURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://Example.com/Team/App.git":     "https://example.com/Team/App",
		"https://me:secret@example.com/app/":   "https://example.com/app",
		"git@example.com:team/app.git":         "ssh://git@example.com/team/app",
		"ssh://git@example.com/team/app":       "ssh://git@example.com/team/app",
		"ssh://git@example.com:2222/app.git":   "ssh://git@example.com:2222/app",
		"https://Example.com/team/*.git":       "https://example.com/team/*",
		"https://example.com/a%2Fb.git/":       "https://example.com/a%2Fb",
		"oci://registry.example.com/charts/a/": "oci://registry.example.com/charts/a",
	} {
		if got, err := NormalURL(text); err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", text, got, err, want)
		}
	}
	if _, err := NormalURL("https://me:secret%zz@example.com"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a broken URL gave %v", err)
	}
}
