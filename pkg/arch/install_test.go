package arch

import (
	"encoding/json"
	"os/exec"
	"testing"
)

// TestTheProgramCanBeInstalledByItsPath: "go install module/cmd/slipway@version" refuses a module whose go.mod replaces
// or excludes others.
func TestTheProgramCanBeInstalledByItsPath(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = root()
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Module           struct{ Path string }
		Replace, Exclude []struct{}
	}
	if err := json.Unmarshal(text, &mod); err != nil {
		t.Fatal(err)
	}
	if mod.Module.Path != module || len(mod.Replace) > 0 || len(mod.Exclude) > 0 {
		t.Errorf("module %s replaces %d others and excludes %d; want %s, and none", mod.Module.Path, len(mod.Replace), len(mod.Exclude), module)
	}
}
