package arch

import (
	"go/ast"
	"maps"
	"slices"
	"testing"
)

// stepNeeds are the functions of step.In that reach for credentials, people or
// texts that a step wasn't given, each with the packages that call it: what a
// step can get beyond its own spec is read here. What all deployment types may
// ask for (AWS, Store, Others) isn't listed.
func stepNeeds() map[string][]string {
	return map[string][]string{
		"Artifact":         {"pkg/step/service"},
		"ArtifactVersions": {"pkg/step/service"},
		"Chart":            {"pkg/step/chart"},
		"Cluster":          {"pkg/step/shellscript"},
		"File":             {"pkg/step/shellscript"},
		"GroupMails":       {"pkg/step/email"},
		"MailServer":       {"pkg/step/email"},
		"Probe":            {"pkg/step/probe"},
		"Provisioned":      {"pkg/provisioner/awscdk", "pkg/provisioner/cloudformation"},
		"SSHKey":           {"pkg/step/shellscript"},
		"Server":           {"pkg/step/ticket", "pkg/swimlane/awssam"},
		"ServiceAccount":   {"pkg/step/harnessapproval"},
		"UserGroup":        {"pkg/step/harnessapproval"},
	}
}

func TestStepsGetWhatTheirPackageIsListedFor(t *testing.T) {
	t.Parallel()
	called := map[string][]string{}
	for _, p := range packages(t) {
		if !within(p.path(), []string{"pkg/step/...", "pkg/swimlane/...", "pkg/provisioner/..."}) || p.path() == "pkg/step/steptest" {
			continue
		}
		for _, file := range filesOf(t, p) {
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					in, ok := s.X.(*ast.Ident)
					if _, need := stepNeeds()[s.Sel.Name]; ok && need && in.Name == "in" && !slices.Contains(called[s.Sel.Name], p.path()) {
						called[s.Sel.Name] = append(called[s.Sel.Name], p.path())
					}
				}
				return true
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(stepNeeds())) {
		slices.Sort(called[name])
		if want := stepNeeds()[name]; !slices.Equal(called[name], want) {
			t.Errorf("step.In.%s is called by %v; want %v", name, called[name], want)
		}
	}
}
