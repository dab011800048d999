package ref_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/ref"
)

var (
	account = ref.Scope{Account: "acme"}
	org     = ref.Scope{Account: "acme", Org: "web"}
	project = ref.Scope{Account: "acme", Org: "web", Project: "shop"}
)

// semantics/entities §1: the table of scopes and references.
func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		from ref.Scope
		want string // empty: an error
	}{
		{"git", project, "acme/web/shop:git"},
		{"org.git", project, "acme/web:git"},
		{"account.git", project, "acme:git"},
		{"git", org, "acme/web:git"},
		{"org.git", org, "acme/web:git"},
		{"account.git", org, "acme:git"},
		{"git", account, "acme:git"},
		{"account.git", account, "acme:git"},
		{"org.git", account, ""},
		{"my-secret", project, "acme/web/shop:my-secret"},
		{"project.git", project, ""},
		{"other.git", project, ""},
		{"org.account.git", project, ""},
		{"org.", project, ""},
		{"", project, ""},
		{"a b", project, ""},
		{"1a", project, ""},
		{"<+input>", project, ""},
	}
	for _, tt := range tests {
		t.Run(tt.text+" in "+tt.from.String(), func(t *testing.T) {
			t.Parallel()
			got, err := ref.Parse(tt.text, tt.from)
			if (err != nil) != (tt.want == "") || err == nil && got.String() != tt.want {
				t.Errorf("got %s, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	sibling := ref.Scope{Account: "acme", Org: "web", Project: "blog"}
	other := ref.Scope{Account: "other", Org: "web", Project: "shop"}
	tests := []struct {
		outer, inner ref.Scope
		want         bool
	}{
		{account, project, true}, {account, org, true}, {account, account, true},
		{org, project, true}, {org, account, false}, {project, project, true},
		{project, org, false}, {project, sibling, false}, {account, other, false}, {org, other, false},
	}
	for _, tt := range tests {
		if got := tt.outer.Covers(tt.inner); got != tt.want {
			t.Errorf("%s covers %s: %v", tt.outer, tt.inner, got)
		}
	}
}

func TestCheckScope(t *testing.T) {
	t.Parallel()
	for _, s := range []ref.Scope{account, org, project, {Account: "acme", Org: "2-web$", Project: "_shop"}} {
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, s := range []ref.Scope{{Org: "web/shop"}, {Org: "web", Project: "a b"}, {Org: "web#x"}, {Org: "web", Project: strings.Repeat("x", 129)}} {
		if err := s.Check(); err == nil {
			t.Errorf("%s is taken; want an error", s)
		}
	}
}

func TestCheckID(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 128)
	tests := []struct {
		kind ref.Kind
		id   string
		ok   bool
	}{
		{ref.Service, "web", true}, {ref.Service, "_web1", true}, {ref.Service, "web$1", true}, {ref.Service, long, true},
		{ref.Service, long + "a", false}, {ref.Service, "a-b", false}, {ref.Service, "1a", false}, {ref.Service, "", false},
		{ref.Service, "a.b", false}, {ref.Service, "wéb", false}, {ref.Service, "a\n", false},
		{ref.Secret, "a-b", true}, {ref.Pipeline, "a$b", false}, {ref.Pipeline, "a_b", true},
		{ref.Service, "stepGroup", false}, {ref.Secret, "null", false}, {ref.Pipeline, "liteEngineTask", false}, {ref.Service, "Null", true},
	}
	for _, tt := range tests {
		if err := ref.CheckID(tt.kind, tt.id); (err == nil) != tt.ok {
			t.Errorf("%s %q: %v", tt.kind, tt.id, err)
		}
	}
	if ref.CheckNodeID("a$b") == nil || ref.CheckNodeID("step") == nil || ref.CheckNodeID("deploy_1") != nil {
		t.Error("the identifiers of nodes are checked wrongly")
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"Deploy to dev": true, "1.2-rc": true, "-x": true, "a": true, strings.Repeat("n", 128): true,
		"": false, " a": false, "a/b": false, "a'b": false, strings.Repeat("n", 129): false,
	} {
		if err := ref.CheckName(name); (err == nil) != ok {
			t.Errorf("name %q: %v", name, err)
		}
	}
}
