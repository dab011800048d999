package planning_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

var update = flag.Bool("update", false, "write the outlines that the tests get")

// TestBuild compares plans with testdata/*.txtar: a pipeline and the outline
// of its plan, or the error.
func TestBuild(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			testCase(t, file)
		})
	}
}

// pipelineOf is a pipeline's document below its root key, decoded.
func pipelineOf(doc *yamldoc.Node) *entity.Pipeline {
	return entity.DecodePart(ref.Pipeline, doc, yamldoc.NewReport(""), entity.Options{}).Pipeline
}

func testCase(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	a := txtar.Parse(data)
	docs, report := yamldoc.Parse(a.Files[0].Name, a.Files[0].Data)
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	src := planning.Source{Pipeline: pipelineOf(docs[0].Get("pipeline")), Steps: step.Types{{Name: "GitClone", Session: true}}}
	got := ""
	if p, err := planning.Build(src); err != nil {
		got = "error: " + err.Error() + "\n"
	} else {
		got = outline(p)
		checkStable(t, src, p)
	}
	if *update {
		a.Files[1].Data = []byte(got)
		if err := os.WriteFile(file, txtar.Format(a), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(a.Files[1].Data), got); diff != "" {
		t.Errorf("outline (-want +got):\n%s", diff)
	}
}

// checkStable: the same source has the same bytes, and a plan survives storage.
func checkStable(t *testing.T, src planning.Source, p *plan.Plan) {
	t.Helper()
	first, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := planning.Build(src)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := again.Encode(); err != nil || !bytes.Equal(first, second) {
		t.Errorf("building twice gave different plans (%v)", err)
	}
	stored, err := plan.Decode(first)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(outline(p), outline(stored)); diff != "" {
		t.Errorf("after storage (-built +stored):\n%s", diff)
	}
}

// outline is a plan as people can check it: a line for each node.
func outline(p *plan.Plan) string {
	var b strings.Builder
	var walk func(n *plan.Node, indent string)
	walk = func(n *plan.Node, indent string) {
		fmt.Fprintf(&b, "%s%s %s", indent, n.Kind, n.ID)
		for _, f := range []struct{ name, value string }{
			{"type", n.Type}, {"timeout", n.Timeout}, {"selectors", strings.Join(n.Selectors, ",")}, {"when", whenOf(n)}, {"asks", string(n.Asks)}, {"manual", n.Manual},
		} {
			if f.value != "" {
				fmt.Fprintf(&b, " %s=%s", f.name, f.value)
			}
		}
		if n.InRollback() {
			b.WriteString(" rollback")
		}
		b.WriteString("\n")
		for i, level := range n.Strategies {
			for _, s := range level {
				fmt.Fprintf(&b, "%s  ! level %d %v -> %s\n", indent, i+1, s.Errors, action(s.Action))
			}
		}
		for _, c := range n.Children {
			walk(c, indent+"  ")
		}
		for _, c := range n.Rollback {
			walk(c, indent+"  ")
		}
	}
	walk(p.Root, "")
	return b.String()
}

func whenOf(n *plan.Node) string {
	if n.When == nil {
		return ""
	}
	return strings.TrimSuffix(n.When.Status+"/"+n.When.Condition, "/")
}

func action(a plan.Action) string {
	s := string(a.Type)
	if a.Type == plan.Retry {
		s += fmt.Sprintf("(%d, %v)", a.RetryCount, a.RetryIntervals)
	}
	if a.Type == plan.ManualIntervention {
		s += fmt.Sprintf("(%v)", a.Timeout)
	}
	if a.Then != nil {
		s += " then " + action(*a.Then)
	}
	return s
}
