// Package awsdoctest runs what a deployment type of AWS says to documents that
// are wrong. It is for tests.
package awsdoctest

import (
	"flag"
	"os"
	"path"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// Update is the flag of tests that write what is said anew.
func Update() *bool { return flag.Bool("update", false, "write the messages of testdata anew") }

// Refused compares what is said of documents with an archive: CASE/NAME.yaml is a
// document of the case, CASE/error what is to be said of it. refuse gets the
// documents of a case by their names and gives the message; it fails if they are
// taken.
func Refused(t *testing.T, archive string, update bool, refuse func(t *testing.T, documents map[string]string) string) {
	t.Helper()
	a, err := txtar.ParseFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]map[string]string{}
	for _, f := range a.Files {
		name, file := path.Split(f.Name)
		if cases[name] == nil {
			cases[name] = map[string]string{}
		}
		if document, ok := strings.CutSuffix(file, ".yaml"); ok {
			cases[name][document] = string(f.Data)
		}
	}
	for i, f := range a.Files {
		name, file := path.Split(f.Name)
		if file != "error" {
			continue
		}
		t.Run(strings.TrimSuffix(name, "/"), func(t *testing.T) {
			got := refuse(t, cases[name])
			if update {
				a.Files[i].Data = []byte(got + "\n")
			} else if want := strings.TrimSuffix(string(f.Data), "\n"); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
	if !update {
		return
	}
	if err := os.WriteFile(archive, txtar.Format(a), 0o600); err != nil {
		t.Fatal(err)
	}
}
