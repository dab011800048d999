package ref_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/ref"
)

// What is said of a wrong word is what is wrong with it.
func TestAWrongSpellingNamesTheCharacter(t *testing.T) {
	t.Parallel()
	pipelines := func(id string) error { return ref.CheckID(ref.Pipeline, id) }
	reference := func(text string) error {
		_, err := ref.Parse(text, project)
		return err
	}
	for _, tt := range []struct {
		check      func(string) error
		text, want string
	}{
		{ref.CheckName, "dev/1", `name "dev/1" can't have "/"; it may have letters, digits, spaces, dots, _ and -`},
		{ref.CheckName, " dev", `name " dev" can't begin with " "`},
		{ref.CheckName, "", `name "" is empty`},
		{ref.CheckName, "über", `can't have "ü"`},
		{ref.CheckName, strings.Repeat("x", 128), ""},
		{ref.CheckName, strings.Repeat("x", 129), "has 129 characters; the limit is 128"},
		{ref.CheckName, "deploy ${ENV}", `name "deploy ${ENV}" has the placeholder ${ENV}, which was left in; put the value there`},
		{pipelines, "a-b", `identifier "a-b" can't have "-"; it may have letters, digits and _`},
		{pipelines, "1a", `identifier "1a" can't begin with "1"`},
		{pipelines, "{{ name }}", "has the placeholder {{ name }}"},
		{pipelines, "<+input>", `can't have "<"`},
		{pipelines, "<PIPELINE>", "has the placeholder <PIPELINE>"},
		{ref.CheckOrg, "${HARNESS_ORG}", `organization "${HARNESS_ORG}" has the placeholder ${HARNESS_ORG}`},
		{ref.CheckProject, "a b", `project "a b" can't have " "`},
		{ref.CheckVariable, "a b", `variable name "a b" can't have " "`},
		{ref.CheckLabel, "v1/2", `version label "v1/2" can't have "/"; it may have anything but spaces, / and &`},
		{reference, "account.${GIT}", `"account.${GIT}" has the placeholder ${GIT}`},
		{reference, "$GIT", `"$GIT" has the placeholder $GIT`},
	} {
		switch err := tt.check(tt.text); {
		case tt.want == "" && err != nil:
			t.Errorf("%q: %v; want none", tt.text, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%q: %v; want %q", tt.text, err, tt.want)
		}
	}
}
