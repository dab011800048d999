package arch

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/builtin"
)

// foldersOf are the two of each deployment type: what it is, and what a
// delegate does for it.
func foldersOf() map[string][]string {
	return map[string][]string{
		"Kubernetes":          {"pkg/swimlane/kubernetes", "delegate/kubernetes/..."},
		"NativeHelm":          {"pkg/swimlane/nativehelm", "delegate/helm/..."},
		"CustomDeployment":    {"pkg/swimlane/custom", "delegate/instances"},
		"Asg":                 {"pkg/swimlane/asg", "delegate/asg"},
		"AwsLambda":           {"pkg/swimlane/awslambda", "delegate/awslambda"},
		"ECS":                 {"pkg/swimlane/ecs", "delegate/ecs"},
		"Elastigroup":         {"pkg/swimlane/elastigroup", "delegate/elastigroup"},
		"AWS_SAM":             {"pkg/swimlane/awssam", "delegate/awssam"},
		"GitOps":              {"pkg/swimlane/gitops", "pkg/gitops/...", "delegate/gitops/..."},
		"ServerlessAwsLambda": {"pkg/swimlane/serverless", "delegate/serverless"},
	}
}

// namedElsewhere are the files that name a deployment type or a step of one all
// the same, each with its reason.
func namedElsewhere() map[string]string {
	return map[string]string{
		"pkg/entity/deployment.go":              "lists what Harness has, supported or not",
		"pkg/entity/infrastructure.go":          "lists what Harness has, supported or not",
		"pkg/entity/manifest.go":                "lists what Harness has, supported or not",
		"pkg/entity/customdeployment.go":        "only its stages have a customDeploymentRef",
		"pkg/api/gitops.go":                     "it is a tag of the API",
		"pkg/api/gitops_documents.go":           "likewise",
		"pkg/api/gitops_look.go":                "likewise",
		"pkg/api/gitops_sets.go":                "likewise",
		"pkg/api/openapi.go":                    "likewise",
		"pkg/entity/why.go":                     "Harness has it as a type of infrastructure definitions, too",
		"pkg/swimlane/gitops/gitops.go":         "its services are those of other types",
		"pkg/template/kind.go":                  "its templates are a kind of template",
		"pkg/swimlane/kubernetes/kubernetes.go": "native Helm's steps work in its stages",
	}
}

// TestLanesAreNamedByThemselves: who knows a deployment type by its name is
// forgotten when the next one is made.
func TestLanesAreNamedByThemselves(t *testing.T) {
	t.Parallel()
	folders, owners := foldersOf(), map[string][]string{} // of a word: the deployment types that have it
	for _, lane := range builtin.Lanes() {
		if folders[lane.Type] == nil {
			t.Errorf("which folders are of the deployment type %s isn't listed", lane.Type)
		}
		for _, name := range append(lane.Steps, lane.Type) {
			owners[name] = append(owners[name], lane.Type)
		}
	}
	excused := map[string]bool{}
	for _, p := range packages(t) {
		for file, tree := range filesOf(t, p) {
			path := filepath.ToSlash(filepath.Join(p.path(), file))
			ast.Inspect(tree, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				word, err := strconv.Unquote(lit.Value)
				owner := owners[word]
				if err != nil || len(owner) == 0 || slices.ContainsFunc(owner, func(o string) bool { return within(p.path(), folders[o]) }) {
					return true
				}
				if excused[path] = true; namedElsewhere()[path] == "" {
					t.Errorf("%s names %s, which is of the deployment type %s; want what its swimlane.Lane or step.Type says", path, word, strings.Join(owner, " and "))
				}
				return true
			})
		}
	}
	for path := range namedElsewhere() {
		if !excused[path] {
			t.Errorf("%s names no deployment type; it needn't be listed", path)
		}
	}
}
