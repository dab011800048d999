package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// trialFolder holds a deployment type that no program has.
const trialFolder = "testdata/trial"

// overlaid is what the Go command builds with the trial in it: the two folders
// of a deployment type, and one line in each of two lists.
func overlaid(t *testing.T) (file string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, replace := t.TempDir(), map[string]string{}
	for from, to := range map[string]string{
		"swimlane/trial.go.txt":      "pkg/swimlane/trial/trial.go",
		"swimlane/trial_test.go.txt": "pkg/swimlane/trial/trial_test.go",
		"delegate/trial.go.txt":      "delegate/trial/trial.go",
	} {
		path, err := filepath.Abs(filepath.Join(trialFolder, from))
		if err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, to)] = path
	}
	for _, edit := range []struct{ file, after, line, imports string }{
		{"pkg/builtin/builtin.go", "{custom.Lane(), custom.Steps()},", "{trial.Lane(), trial.Steps()},", "pkg/swimlane/trial"},
		{"delegate/kinds.go", "task.KindShell: ", "trial.Kind: delegatetrial.Kind(),", "pkg/swimlane/trial"},
	} {
		path := filepath.Join(root, edit.file)
		was, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(was), "\n")
		var now []string
		edited := 0
		for _, line := range lines {
			if strings.HasPrefix(line, "import (") {
				line += "\n\t\"github.com/slipway-cd/slipway/" + edit.imports + "\""
				if edit.file == "delegate/kinds.go" {
					line += "\n\tdelegatetrial \"github.com/slipway-cd/slipway/delegate/trial\""
				}
			}
			now = append(now, line)
			if strings.Contains(strings.Join(strings.Fields(line), " "), strings.TrimSpace(edit.after)) {
				now = append(now, "\t\t"+edit.line)
				edited++
			}
		}
		if edited != 1 {
			t.Fatalf("%s has %d lines with %q; want one", edit.file, edited, edit.after)
		}
		changed := filepath.Join(dir, filepath.Base(edit.file))
		if err := os.WriteFile(changed, []byte(strings.Join(now, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[path] = changed
	}
	doc, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestATrialLane: a deployment type is two folders and two lines. It is saved,
// deployed, refused in another's stages and found in the instance ledger, and
// its suite passes.
func TestATrialLane(t *testing.T) {
	t.Parallel()
	overlay := overlaid(t)
	tool := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	home, built := t.TempDir(), t.TempDir()
	program, suite := filepath.Join(built, "slipway"), filepath.Join(built, "suite")
	tool("build", "-overlay", overlay, "-ldflags", "-s -w", "-o", program, "../../cmd/slipway")
	tool("test", "-overlay", overlay, "-vet=off", "-c", "-o", suite, "../../pkg/swimlane/trial")
	if out, err := exec.CommandContext(t.Context(), suite).CombinedOutput(); err != nil {
		t.Errorf("the suite of deployment types: %v\n%s", err, out)
	}

	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home)
		return cmd
	}
	server := command("serve", "--addr", "127.0.0.1:0")
	said, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	var heard bytes.Buffer
	for part := make([]byte, 4096); !strings.Contains(heard.String(), "slipway serves"); {
		n, err := said.Read(part)
		heard.Write(part[:n])
		if err != nil {
			t.Fatalf("the server has ended: %v\n%s", err, heard.String())
		}
	}
	try := func(args ...string) (out, said string, err error) {
		var errors bytes.Buffer
		cmd := command(args...)
		cmd.Stderr = &errors
		printed, err := cmd.Output()
		return string(printed), errors.String(), err
	}
	slipway := func(args ...string) string {
		t.Helper()
		out, said, err := try(args...)
		if err != nil {
			t.Fatalf("slipway %s: %v\n%s", strings.Join(args, " "), err, said)
		}
		return out
	}

	folder, documents := t.TempDir(), filepath.Join(home, "documents.yaml")
	text := strings.Replace(read(t, filepath.Join(trialFolder, "documents.yaml")), "FOLDER", folder, 1)
	save(t, documents, text)
	slipway("apply", "-f", documents)
	slipway("run", "trial", "--follow")
	for n := range 2 {
		if _, err := os.Stat(filepath.Join(folder, fmt.Sprintf("dev-%d", n))); err != nil {
			t.Error(err)
		}
	}
	if got := slipway("instances", "web"); !strings.Contains(got, "dev") || !strings.Contains(got, "here") || !strings.Contains(got, " 2 ") {
		t.Errorf("the instance ledger says:\n%s", got)
	}

	// It writes a third copy and the two anew, tries it twice, and fails: the
	// rollback has what was there before the first attempt.
	before := read(t, filepath.Join(folder, "dev-0"))
	save(t, documents, strings.NewReplacer("spec: {copies: 2}", "spec: {copies: 3, fails: true}", "errors: [AllErrors], action: {type: StageRollback}",
		"errors: [AllErrors], action: {type: Retry, spec: {retryCount: 1, retryIntervals: [1s], onRetryFailure: {action: {type: StageRollback}}}}").Replace(text))
	slipway("apply", "-f", documents)
	if _, said, err := try("run", "trial", "--follow"); err == nil {
		t.Errorf("what fails went well: %s", said)
	}
	if after := read(t, filepath.Join(folder, "dev-0")); after != before || before == "" {
		t.Errorf("after the rollback a copy is of %q; want %q", after, before)
	}
	if _, err := os.Stat(filepath.Join(folder, "dev-2")); err == nil {
		t.Error("after the rollback there is a third copy")
	}
	if got := slipway("instances", "web"); !strings.Contains(got, " 2 ") {
		t.Errorf("after the rollback the instance ledger says:\n%s", got)
	}
	wrong := strings.Replace(text, "type: TrialDeploy, spec: {copies: 2}", "type: K8sRollingDeploy, spec: {}", 1)
	save(t, documents, wrong)
	_, refused, err := try("apply", "-f", documents)
	if err == nil || !strings.Contains(refused, "K8sRollingDeploy is a step of stages of the deployment type Kubernetes; this one is of the type Trial") {
		t.Errorf("a foreign step: %v\n%s", err, refused)
	}
}

func save(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
