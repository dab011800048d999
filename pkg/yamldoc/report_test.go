package yamldoc_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

const broken = `
name: x
tiemout: 10m
name: y
spec:
  steps:
    - type: K8sRolingDeploy
    - 7
`

// decodeBroken finds everything that is wrong with the document above.
func decodeBroken(r *yamldoc.Report, doc *yamldoc.Node) {
	root := yamldoc.Root(doc)
	r.Missing(root, "name", "identifier")
	for e := range r.Mapping(root) {
		switch e.Key {
		case "name":
			// it is good
		case "spec":
			for item := range r.List(yamldoc.Sub(e.Node.Get("steps"), "spec.steps")) {
				for field := range r.Mapping(item) {
					r.Errorf(field, "UNKNOWN_STEP_TYPE", "unknown step type %q", field.Node.Value)
				}
			}
			r.Unsupported(e, "specs aren't supported")
		default:
			r.Unknown(e, "name", "timeout")
		}
	}
}

func TestAllFindingsInTheOrderOfTheirPlaces(t *testing.T) {
	t.Parallel()
	docs, r := yamldoc.Parse("pipeline.yaml", []byte(broken))
	decodeBroken(r, docs[0])
	want := []string{
		`pipeline.yaml:2:1 key "identifier" is missing [MISSING_KEY]`,
		`pipeline.yaml:3:1 tiemout: warning: unknown key "tiemout"; did you mean "timeout"? [UNKNOWN_KEY]`,
		`pipeline.yaml:4:1 name: key "name" stands twice; the first is in line 2 [DUPLICATE_KEY]`,
		`pipeline.yaml:5:1 spec: specs aren't supported [UNSUPPORTED]`,
		`pipeline.yaml:7:13 spec.steps[0].type: unknown step type "K8sRolingDeploy" [UNKNOWN_STEP_TYPE]`,
		`pipeline.yaml:8:7 spec.steps[1]: found "7"; want a mapping [WRONG_TYPE]`,
	}
	if diff := cmp.Diff(want, findings(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	err := r.Err()
	if !fault.Is(err, fault.Invalid) || strings.Count(err.Error(), "\n") != 4 || strings.Contains(err.Error(), "tiemout") {
		t.Errorf("the error is %v", err)
	}
	if d := r.Details()[1]; d.Severity != "warning" || d.Line != 3 || d.Code != "UNKNOWN_KEY" || d.Path != "tiemout" {
		t.Errorf("the detail of a warning is %+v", d)
	}
}

func TestWarningsAreNoError(t *testing.T) {
	t.Parallel()
	for strict, want := range map[bool]bool{false: false, true: true} {
		docs, r := yamldoc.Parse("", []byte("zzz: 1"))
		if strict {
			r.Strict()
		}
		for e := range r.Mapping(yamldoc.Root(docs[0])) {
			r.Unknown(e, "name")
		}
		if got := r.Err() != nil; got != want {
			t.Errorf("strict %v: an unknown key is an error: %v", strict, got)
		}
	}
}

func TestWithinPutsPathsBelow(t *testing.T) {
	t.Parallel()
	docs, r := yamldoc.Parse("", []byte("a: [x]\nb: 1\n"))
	r.Within("spec", func(part *yamldoc.Report) {
		root := yamldoc.Root(docs[0])
		part.Errorf(root, "A", "one")
		part.Errorf(yamldoc.Sub(docs[0].At("a"), "[3]"), "B", "two")
		part.Errorf(yamldoc.Sub(docs[0].At("b"), "b"), "C", "three")
	})
	want := []string{"1:1 spec: one [A]", "1:4 spec[3]: two [B]", "2:4 spec.b: three [C]"}
	if diff := cmp.Diff(want, findings(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReportIsBounded(t *testing.T) {
	t.Parallel()
	docs, r := yamldoc.Parse("", []byte(strings.Repeat("- x\n", 5000)))
	for item := range r.List(yamldoc.Root(docs[0])) {
		r.Warnf(item, "W", "no")
	}
	got := r.Findings()
	if len(got) != 1001 || !r.Failed() || got[1000].Code != "TOO_MANY_FINDINGS" {
		t.Errorf("%d findings, the last is %v", len(got), got[len(got)-1])
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"identifier", "name", "spec", "K8sRollingDeploy", "K8sRollingRollback"}
	for word, want := range map[string]string{
		"identifie": "identifier", "Name": "name", "specs": "spec", "psec": "spec", "k8srollingdeploy": "K8sRollingDeploy",
		"zzz": "", "": "", "type": "", strings.Repeat("name", 100): "",
	} {
		if got := yamldoc.Nearest(word, known); got != want {
			t.Errorf("nearest to %q is %q; want %q", word, got, want)
		}
	}
}
