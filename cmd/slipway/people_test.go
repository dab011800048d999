package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// evil is a name that would make a row of its own, clear the screen and set
// the title of a terminal's window.
const evil = "x\n1 admin ok\x1b[2J\x1b]0;t\x07\u202e"

// TestNamesDontReachTheTerminal: wherever a name of others is shown, it stays
// in its place.
func TestNamesDontReachTheTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := newApp(process{out: &out, err: &out})
	if err := a.shows.table("NAME TAGS", [][]string{{evil, evil}}); err != nil {
		t.Fatal(err)
	}
	p := &logPrinter{app: a}
	p.print(evil, []api.LogLine{{Text: "\x1b[31mred" + evil}})
	tree := api.ExecutionTree{Execution: api.Execution{ID: "x1", Pipeline: "p"}, Root: &execution.TreeNode{ID: "p", Children: []*execution.TreeNode{
		{ID: "s", Identifier: "s", Name: evil, Message: "no " + evil, Status: plan.Failed},
	}}}
	for _, line := range append((view{now: time.Now(), width: 200, height: 50}).lines(tree), (&narrator{}).lines(tree)...) {
		out.WriteString(line + "\n")
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, line := range lines {
		for _, bad := range []string{"\x1b[2J", "\x1b]", "\x07", "\u202e"} {
			if strings.Contains(line, bad) {
				t.Errorf("%q has %q", line, bad)
			}
		}
		if strings.HasPrefix(line, "1 admin") {
			t.Errorf("a name has made the row %q", line)
		}
	}
	if !strings.Contains(out.String(), "\x1b[31mred") {
		t.Error("the colours of a log are gone")
	}
}

// TestPeopleReadByOneWay: what is printed for people goes through people(),
// but for documents that are printed as they are.
func TestPeopleReadByOneWay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	direct := regexp.MustCompile(`Fprint\w*\((a|p\.app)\.out,.*|NewWriter\((a|p\.app)\.out.*`)
	as := map[string]bool{"Fprint(a.out, in.YAML)": true, "Fprint(a.out, m.YAML)": true, "Fprintln(a.out, string(answer))": true}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		doc, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range direct.FindAllString(string(doc), -1) {
			if !as[found] {
				t.Errorf("%s: %s; print to a.people()", name, found)
			}
		}
	}
}
