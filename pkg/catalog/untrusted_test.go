package catalog_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
)

const (
	scripted = `pipeline: {identifier: p, name: p, variables: [{name: title, type: String, value: <+input>}], stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [
  {step: {identifier: a, name: a, type: ShellScript, spec: {shell: Bash, source: {type: Inline, spec: {script: echo <+pipeline.variables.title>}}}}}]}}}}]}
`
	filling = `trigger:
  identifier: t
  name: t
  pipelineIdentifier: p
  source: {type: Webhook, spec: {type: Custom, spec: {}}}
  inputYaml: |
    pipeline: {identifier: p, variables: [{name: title, type: String, value: <+trigger.payload.title>}]}
`
	direct = `pipeline: {identifier: d, name: d, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [
  {step: {identifier: a, name: a, type: ShellScript, spec: {shell: Bash, source: {type: Inline, spec: {script: echo <+trigger.payload.title>}}}}}]}}}}]}
`
	set = `inputSet: {identifier: i, name: i, pipeline: {identifier: p, variables: [{name: title, type: String, value: <+eventPayload>}]}}
`
)

// Who saves a script that takes what comes from outside is warned, and who
// saves what fills its variable with that: whichever of them comes last.
func TestSavesWarnOfWhatIsUntrusted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		before []string
		saved  string
		want   string
	}{
		{"a script", nil, direct, "the script takes <+trigger.payload.title>"},
		{"a trigger after its pipeline", []string{scripted}, filling, "of the pipeline p: the script takes <+pipeline.variables.title>, which takes <+trigger.payload.title>"},
		{"an input set after its pipeline", []string{scripted}, set, "which takes <+eventPayload>"},
		{"a pipeline after its trigger", []string{filling}, scripted, `with what the trigger "t" of pipeline "p"`},
		{"a pipeline alone", nil, scripted, ""},
		{"a trigger alone", nil, filling, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			save := saver(t)
			for _, doc := range tt.before {
				if _, err := save(doc, false); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := save(tt.saved, true); (err != nil) != (tt.want != "") {
				t.Errorf("a strict save: %v", err)
			}
			got, err := save(tt.saved, false)
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, w := range got.Warnings {
				if w.Code == "UNTRUSTED_IN_SCRIPT" {
					found = append(found, w.Message)
				}
			}
			if tt.want == "" && len(found) > 0 || tt.want != "" && (len(found) != 1 || !strings.Contains(found[0], tt.want)) {
				t.Errorf("warned of %q; want %q", found, tt.want)
			}
		})
	}
}

// opened is an empty store.
func opened(t *testing.T) store.Store {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the test is over
	s, err := sqlite.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return s.Store
}

func saver(t *testing.T) func(doc string, strict bool) (catalog.Result, error) {
	t.Helper()
	c := catalog.New(catalog.Config{Store: opened(t), Options: builtin.Options(ref.Scope{}), Now: time.Now})
	return func(doc string, strict bool) (catalog.Result, error) {
		return c.Save(t.Context(), catalog.Draft{
			Scope: ref.Scope{Account: "acme", Org: "o", Project: "p"}, YAML: []byte(doc), Strict: strict, Version: catalog.AnyVersion,
		}, audit.Author{Actor: "me"})
	}
}
