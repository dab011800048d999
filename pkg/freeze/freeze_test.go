package freeze

import (
	"slices"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/ref"
)

func TestActive(t *testing.T) {
	t.Parallel()
	account := ref.Scope{Account: "acme"}
	org := ref.Scope{Account: "acme", Org: "shop"}
	project := ref.Scope{Account: "acme", Org: "shop", Project: "web"}
	at := func(s ref.Scope, id string) ref.Ref { return ref.Ref{Scope: s, ID: id} }
	target := Target{Pipeline: at(project, "deploy"), Service: at(project, "cart"), Environment: at(account, "prod"), EnvType: "Production"}
	only := func(typ Type, c Choice, names ...string) Rule {
		return Rule{Name: "r", Filters: []Filter{{typ, c, names}}}
	}
	both := func(a, b Rule) Rule { return Rule{Name: "r", Filters: slices.Concat(a.Filters, b.Filters)} }
	for _, c := range []struct {
		name  string
		scope ref.Scope
		rules []Rule
		want  bool
	}{
		{"all", account, []Rule{only(Service, All)}, true},
		{"no_filter_is_all", account, []Rule{{Name: "r"}}, true},
		{"no_rule_is_nothing", account, nil, false},
		{"other_project", ref.Scope{Account: "acme", Org: "shop", Project: "app"}, []Rule{{Name: "r"}}, false},
		{"service", project, []Rule{only(Service, Equals, "cart")}, true},
		{"service_of_the_account_is_another", project, []Rule{only(Service, Equals, "account.cart")}, false},
		{"notequals_frees_it", project, []Rule{only(Service, NotEquals, "cart")}, false},
		{"notequals_another_blocks_it", project, []Rule{only(Service, NotEquals, "payments")}, true},
		{"environment_of_the_account", project, []Rule{only(Environment, Equals, "account.prod")}, true},
		{"envtype", org, []Rule{only(EnvType, Equals, "Production")}, true},
		{"envtype_other", org, []Rule{only(EnvType, Equals, "PreProduction")}, false},
		{"org", account, []Rule{only(Org, Equals, "shop")}, true},
		{"project", org, []Rule{only(Project, NotEquals, "web")}, false},
		{"pipeline", project, []Rule{only(Pipeline, Equals, "deploy")}, true},
		{"filters_are_anded", project, []Rule{both(only(Service, Equals, "cart"), only(EnvType, Equals, "PreProduction"))}, false},
		{"rules_are_ored", project, []Rule{only(EnvType, Equals, "PreProduction"), only(Service, Equals, "cart")}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := Freeze{ID: "f", Scope: c.scope, Enabled: true, Rules: c.rules, Windows: []Window{{Zone: time.UTC, Start: time.Unix(0, 0).UTC(), Duration: time.Hour}}}
			if got := Active([]Freeze{f}, time.Unix(60, 0), target); (len(got) > 0) != c.want {
				t.Errorf("found %v; want active %v", got, c.want)
			}
			if got := Active([]Freeze{f}, time.Unix(3600, 0), target); len(got) > 0 {
				t.Errorf("found %v after the end", got)
			}
			f.Enabled = false
			if got := Active([]Freeze{f}, time.Unix(60, 0), target); len(got) > 0 {
				t.Errorf("found %v while it is disabled", got)
			}
		})
	}
}

func TestGlobalComesFirst(t *testing.T) {
	t.Parallel()
	var all []Freeze
	for i, id := range []string{"short", "long", GlobalID} {
		length := []time.Duration{time.Hour, 3 * time.Hour, 2 * time.Hour}[i]
		all = append(all, Freeze{ID: id, Enabled: true, Rules: []Rule{{}}, Windows: []Window{{Zone: time.UTC, Start: time.Unix(0, 0).UTC(), Duration: length}}})
	}
	var got []string
	for _, m := range Active(all, time.Unix(0, 0), Target{}) {
		got = append(got, m.ID)
	}
	if want := []string{GlobalID, "long", "short"}; !slices.Equal(got, want) {
		t.Errorf("found %v; want %v", got, want)
	}
}
