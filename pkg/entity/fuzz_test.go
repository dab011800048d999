package entity_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/slipway-cd/slipway/pkg/planning"
)

// planned: what is accepted can be planned. Runtime inputs would have to be
// filled first, so documents with expressions are left out.
func planned(t *testing.T, data []byte) {
	t.Helper()
	if bytes.Contains(data, []byte("<+")) {
		return
	}
	entities, _ := decode("", data, project)
	for _, e := range entities {
		if e.Pipeline == nil {
			continue
		}
		if _, err := planning.Build(planning.Source{Pipeline: e.Pipeline}); err != nil {
			t.Errorf("it was accepted, but can't be planned: %v", err)
		}
	}
}

// FuzzDecode: no document breaks the decoder, every finding has a place, the
// same document gives the same findings, and what is accepted can be planned.
func FuzzDecode(f *testing.F) {
	for _, pattern := range []string{"testdata/ok/*.yaml", "testdata/err/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
			f.Add(bytes.ReplaceAll(data, []byte("<+"), nil))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		entities, report := decode("f", data, project)
		found := report.Findings()
		if len(found) > 1001 {
			t.Errorf("%d findings", len(found))
		}
		for _, one := range found {
			if one.Line < 1 || one.Column < 1 || one.Message == "" || one.Code == "" {
				t.Errorf("a finding without a place: %+v", one)
			}
		}
		for _, e := range entities {
			if e == nil && !report.Failed() {
				t.Error("nothing was decoded and nothing is wrong")
			}
		}
		if !report.Failed() {
			planned(t, data)
		}
		if _, again := decode("f", data, project); lines(again) != lines(report) {
			t.Errorf("two runs differ:\n%s\n%s", lines(report), lines(again))
		}
	})
}
