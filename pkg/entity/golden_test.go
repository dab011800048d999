package entity_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/policy/rego"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

var update = flag.Bool("update", false, "write the findings of testdata/err anew")

var project = ref.Scope{Account: "acme", Org: "default", Project: "default_project"}

// checkStep stands for the step types, of which this package knows none.
func stepTypes() step.Types {
	some := step.Types{{Name: "ShellScript", New: func(d *document.Decoder, spec yamldoc.Value) step.Spec {
		d.Missing(spec, "shell", "source")
		return nil
	}}}
	for _, name := range []string{
		"Barrier", "Wait", "HarnessApproval", "K8sRollingDeploy", "K8sRollingRollback", "K8sApply",
		"K8sCanaryDeploy", "K8sCanaryDelete", "K8sBlueGreenDeploy", "K8sBGSwapServices", "FetchInstanceScript",
		"CreateChangeSet", "CreateStack", "RollbackStack", "EcsRollingDeploy", "EcsRollingRollback",
	} {
		t := builtin.Steps().Of(name)
		t.New = func(*document.Decoder, yamldoc.Value) step.Spec { return nil }
		t.Deploys, t.Service, t.Lasts, t.Moves = false, false, nil, nil
		some = append(some, t)
	}
	return some
}

// decode reads every document of a file.
func decode(file string, data []byte, scope ref.Scope) ([]*entity.Entity, *yamldoc.Report) {
	docs, report := yamldoc.Parse(file, data)
	var out []*entity.Entity
	for _, doc := range docs {
		out = append(out, entity.Decode(doc, report, entity.Options{Scope: scope, Steps: stepTypes(), CheckRego: rego.New().Check, Types: builtin.Types()}))
	}
	return out, report
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return found
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func lines(r *yamldoc.Report) string {
	var b strings.Builder
	for _, f := range r.Findings() {
		b.WriteString(f.String() + "\n")
	}
	return b.String()
}

func TestGoodFilesAreSilent(t *testing.T) {
	t.Parallel()
	for _, path := range append(files(t, "testdata/ok/*.yaml"), files(t, "../../examples/*/*.yaml")...) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			_, report := decode(filepath.Base(path), read(t, path), project)
			report.Amend(func(f yamldoc.Finding) (yamldoc.Finding, bool) { return f, f.Code != "NO_EFFECT" })
			if got := lines(report); got != "" {
				t.Errorf("findings in a good file:\n%s", got)
			}
		})
	}
}

// What is the account's alone.
func TestGoodFilesOfTheAccountAreSilent(t *testing.T) {
	t.Parallel()
	for _, path := range files(t, "testdata/account/*.yaml") {
		if _, report := decode(filepath.Base(path), read(t, path), ref.Scope{Account: project.Account}); lines(report) != "" {
			t.Errorf("findings in a good file:\n%s", lines(report))
		}
	}
}

func TestBrokenFilesSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, path := range files(t, "testdata/err/*.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			scope := project
			if strings.HasPrefix(filepath.Base(path), "scope-project") {
				scope = ref.Scope{Account: "acme"}
			}
			_, report := decode(filepath.Base(path), read(t, path), scope)
			got := lines(report)
			if got == "" {
				t.Fatal("nothing was found in a broken file")
			}
			golden := strings.TrimSuffix(path, ".yaml") + ".out"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(read(t, golden)), got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// Each code that the package can report is in some broken file.
func TestEveryFindingHasABrokenFile(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, path := range files(t, "testdata/err/*.out") {
		all.Write(read(t, path))
	}
	declared := regexp.MustCompile(`"([A-Z]+_[A-Z_]+|AMBIGUOUS|SYNTAX|UNSUPPORTED)"`)
	var codes []string
	for _, source := range append(files(t, "*.go"), files(t, "../yamldoc/*.go")...) {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		for _, m := range declared.FindAllStringSubmatch(string(read(t, source)), -1) {
			codes = append(codes, m[1])
		}
	}
	tested := []string{"TOO_LARGE", "TOO_MANY_FINDINGS", "AWS_SAM", "FIXED_SET", "AZURE_US_GOVERNMENT", "APP_ROLE", "VAULT_AGENT", "AWS_IAM", "AWS_ECR", "GOOGLE_GCR", "GOOGLE_CLOUD_STORAGE", "SUMO_LOGIC"} // pkg/yamldoc's tests have the first two; the last ones are no codes
	for _, code := range codes {
		if !slices.Contains(tested, code) && !strings.HasSuffix(code, "_OVERRIDE") && !strings.Contains(all.String(), "["+code+"]") {
			t.Errorf("no file of testdata/err shows %s", code)
		}
	}
}
