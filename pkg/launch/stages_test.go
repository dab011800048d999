package launch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// semantics/pipeline §8.5: stages are found wherever they stand, and keep their
// place.
func TestSomeOfTheStages(t *testing.T) {
	t.Parallel()
	const doc = `
allowStageExecutions: true
stages:
  - stage: {identifier: a}
  - parallel:
      - stage: {identifier: b}
      - stage: {identifier: c}
  - insert:
      identifier: more
      stages:
        - stage: {identifier: d}
        - parallel:
            - stage: {identifier: e}
            - stage: {identifier: f, spec: {service: {useFromStage: {stage: a}}}}
  - insert: {identifier: none, stages: []}
`
	tests := []struct {
		name string
		want string // of the stages, or what is wrong
		pick []string
	}{
		{"beside others", "a", []string{"a"}},
		{"in a parallel block", "parallel(c)", []string{"c"}},
		{"in an insert", "insert(d)", []string{"d"}},
		{"in a block in an insert, in the pipeline's order", "a insert(parallel(e f))", []string{"f", "e", "a"}},
		{"nowhere", "pipeline p has no stage g", []string{"d", "g"}},
		{"one in an insert takes its service from one that doesn't run", "stage f takes its service from stage a; run both", []string{"f"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			docs, report := yamldoc.Parse("p.yaml", []byte(doc))
			if err := report.Err(); err != nil {
				t.Fatal(err)
			}
			found, err := choose(docs[0], tt.pick, "p")
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = outlineOf(found.Get("stages"))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("stages (-want +got):\n%s", diff)
			}
		})
	}
}

func outlineOf(stages *yamldoc.Node) string {
	var out []string
	for _, item := range stages.Items {
		switch {
		case item.Get("parallel") != nil:
			out = append(out, "parallel("+outlineOf(item.Get("parallel"))+")")
		case item.Get("insert") != nil:
			out = append(out, "insert("+outlineOf(item.At("insert", "stages"))+")")
		default:
			out = append(out, item.Get("stage").Text("identifier"))
		}
	}
	return strings.Join(out, " ")
}
