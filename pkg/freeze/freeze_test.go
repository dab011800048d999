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

// Rules that name pipelines and restrict nothing else stop them as such.
func TestStops(t *testing.T) {
	t.Parallel()
	project := ref.Scope{Account: "a", Org: "o", Project: "p"}
	now := time.Date(2024, 1, 1, 12, 0, 0, 0, time.UTC)
	window := []Window{{Zone: time.UTC, Start: now.Add(-time.Hour), Duration: 2 * time.Hour}}
	for _, row := range []struct {
		name    string
		filters []Filter
		want    int
	}{
		{"it names it", []Filter{{Type: Pipeline, Choice: Equals, Names: []string{"x"}}}, 1},
		{"it has all services, too", []Filter{{Type: Service, Choice: All}, {Type: Pipeline, Choice: Equals, Names: []string{"x"}}}, 1},
		{"of some services", []Filter{{Type: Service, Choice: Equals, Names: []string{"web"}}, {Type: Pipeline, Choice: Equals, Names: []string{"x"}}}, 0},
		{"it names another", []Filter{{Type: Pipeline, Choice: Equals, Names: []string{"y"}}}, 0},
		{"it excludes another", []Filter{{Type: Pipeline, Choice: NotEquals, Names: []string{"y"}}}, 0},
		{"it has all", []Filter{{Type: Pipeline, Choice: All}}, 0},
		{"it has none", nil, 0},
	} {
		f := Freeze{ID: "f", Scope: project, Enabled: true, Rules: []Rule{{Filters: row.filters}}, Windows: window}
		if got := Stops([]Freeze{f}, now, ref.Ref{Scope: project, ID: "x"}); len(got) != row.want {
			t.Errorf("%s: found %v; want %d", row.name, got, row.want)
		}
	}
	f := Freeze{ID: "f", Enabled: true, Windows: window}
	if len(Open([]Freeze{f}, now)) != 1 || len(Open([]Freeze{f}, now.Add(time.Hour))) != 0 {
		t.Error("Open doesn't go by the windows")
	}
}
