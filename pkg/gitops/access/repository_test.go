package access_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
)

func TestWhatServesASource(t *testing.T) {
	t.Parallel()
	known := access.Known{Repositories: []access.Repository{
		{URL: "https://example.com/team/app.git", Credentials: access.Credentials{Username: "everybody", Password: "e"}},
		{URL: "https://example.com/team/app", Project: "red", Credentials: access.Credentials{Username: "red", Password: "r"}},
		{URL: "https://example.com/team/bare"},
		{URL: "https://example.com", Template: true, Credentials: access.Credentials{Username: "host", Password: "h"}},
		{URL: "https://example.com/team", Template: true, Credentials: access.Credentials{Username: "team", Password: "t"}},
		{URL: "https://example.com/team/b", Template: true, Credentials: access.Credentials{Username: "no folder", Password: "t"}},
		{URL: "https://example.com/blue", Template: true, Project: "blue", Credentials: access.Credentials{Username: "blue", Password: "b"}},
	}}
	for _, tt := range []struct{ project, url, user string }{
		{"red", "https://Example.com/team/app/", "red"},
		{"blue", "https://example.com/team/app", "everybody"},
		{"", "https://example.com/team/app", "everybody"},
		{"", "https://example.com/team/bare.git", "team"},
		{"", "https://example.com/team/other", "team"},
		{"", "https://example.com/other", "host"},
		{"blue", "https://example.com/blue/app", "blue"},
		{"red", "https://example.com/blue/app", "host"},
		{"red", "https://example.org/team/app", ""},
		{"red", "https://me:secret@example.org/team/app", "me"},
		{"red", "https://me:secret@example.com/team/app", "red"},
	} {
		got, err := known.Repository(tt.project, &gitops.Source{RepoURL: tt.url})
		if err != nil || got.Username != tt.user || got.URL != strings.Replace(tt.url, "me:secret@", "", 1) {
			t.Errorf("project %q, %s: %s opens %s, %v; want %s", tt.project, tt.url, got.Username, got.URL, err, tt.user)
		}
	}
}
