package arch

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/slipway-cd/slipway/pkg/builtin"
)

// stepNamedElsewhere are the files outside the folders of steps that have a step
// type's name in them all the same, each with its reason.
func stepNamedElsewhere() map[string]string {
	const states = "it is a type of state of the Amazon States Language, too"
	return map[string]string{
		"pkg/asl/check.go":                   states,
		"pkg/asl/flow.go":                    states,
		"pkg/asl/state.go":                   states,
		"pkg/connector/git/git.go":           "it is a kind of connection to Git servers, too",
		"pkg/filesource/filesource.go":       "it is a type of store of charts, too",
		"pkg/entity/notification.go":         "it is a way of notifications, too",
		"pkg/swimlane/asg/work.go":           "it is a key of instance refreshes, too",
		"pkg/swimlane/kubernetes/flags.go":   "it is a way of deletions, too",
		"delegate/awssam/rollback.go":        "it is a call of CloudFormation's, too",
		"delegate/gitops/errands/errands.go": "it is an errand of agents, too",
	}
}

// TestStepsAreNamedByThemselves: what a step type of no deployment type means to
// others is a field of its step.Type. Who knows it by its name instead is forgotten
// when the next type means the same.
func TestStepsAreNamedByThemselves(t *testing.T) {
	t.Parallel()
	var ofLanes []string
	for _, lane := range builtin.Lanes() {
		ofLanes = append(ofLanes, lane.Steps...)
	}
	names := slices.DeleteFunc(builtin.Steps().Names(), func(name string) bool { return slices.Contains(ofLanes, name) })
	if len(names) < 20 {
		t.Fatalf("found %v; want the steps that belong to no deployment type", names)
	}
	own := []string{"pkg/step/...", "pkg/provisioner/...", "delegate/cloudformation", "delegate/awscdk"}
	excused := map[string]bool{}
	for _, p := range packages(t) {
		if within(p.path(), own) {
			continue
		}
		for file, tree := range filesOf(t, p) {
			path := filepath.ToSlash(filepath.Join(p.path(), file))
			ast.Inspect(tree, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				if word, err := strconv.Unquote(lit.Value); err == nil && slices.Contains(names, word) {
					if excused[path] = true; stepNamedElsewhere()[path] == "" {
						t.Errorf("%s names the step type %s; want what its step.Type says", path, word)
					}
				}
				return true
			})
		}
	}
	for path := range stepNamedElsewhere() {
		if !excused[path] {
			t.Errorf("%s names no step type; it needn't be listed", path)
		}
	}
}
