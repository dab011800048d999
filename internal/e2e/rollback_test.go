package e2e_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// semantics/pipeline §5.4: a group runs again, then the pipeline undoes its
// stages in reverse; the machine runs for that are new ones.
func TestRollingBack(t *testing.T) {
	t.Parallel()
	onEveryHost(t, rollingBack)
}

const undoingPipeline = `pipeline:
  identifier: undo
  name: Undo
  orgIdentifier: default
  projectIdentifier: default_project
  stages:
    - stage:
        identifier: one
        name: One
        type: Custom
        spec:
          execution:
            steps: [FINE]
            rollbackSteps: [BACK]
    - stage:
        identifier: two
        name: Two
        type: Custom
        failureStrategies:
          - onFailure: {errors: [AllErrors], action: {type: PipelineRollback}}
        spec:
          execution:
            steps:
              - stepGroup:
                  identifier: g
                  name: G
                  failureStrategies:
                    - onFailure:
                        errors: [AllErrors]
                        action: {type: RetryStepGroup, spec: {retryCount: 1, retryIntervals: [1s]}}
                  steps:
                    - AGAIN
              - BREAK
            rollbackSteps: [BACK]
    - stage:
        identifier: three
        name: Three
        type: Custom
        when: {pipelineStatus: All}
        spec:
          execution:
            steps: [FINE]
`

func rollingBack(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	file := t.TempDir() + "/tried"
	s.Apply(t, replace(undoingPipeline,
		"FINE", shell("fine", "true"), "BREAK", shell("break", "exit 7"),
		"AGAIN", shell("again", `[ -e `+file+` ] || { touch `+file+`; exit 1; }`),
		"BACK", shell("back", `[ "<+pipeline.executionMode>" = PIPELINE_ROLLBACK ]`)))
	e := run(t, s, "undo", "Failed", nil)
	for path, want := range map[[2]string]string{
		{"one", "fine"}: "Success", {"one", "back"}: "Success", {"two", "again"}: "Success", {"two", "break"}: "Failed",
		{"two", "back"}: "Success", {"three", "fine"}: "NotStarted",
	} {
		if n := e.Root.Find(path[0]).Find(path[1]); n == nil || n.Status != want {
			t.Errorf("%s of stage %s is %+v, want %s", path[1], path[0], n, want)
		}
	}
	if one := e.Root.Find("one"); one.Status != "Success" {
		t.Errorf("stage one is %s; want Success, as it was before it was undone", one.Status)
	}
	if n := e.Root.Find("again"); n.Attempt != 2 {
		t.Errorf("the group's step has %d attempts, want 2", n.Attempt)
	}
}

// replace puts texts in the place of words of a document.
func replace(doc string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(doc) }
