package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// managerFolder holds the example of a custom secret manager.
const managerFolder = "../../examples/secretmanager"

// TestCustomSecretManagers: a delegate fetches what the control plane never
// has.
func TestCustomSecretManagers(t *testing.T) {
	t.Parallel()
	onEveryHost(t, customSecretManagers)
}

func customSecretManagers(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	vault := t.TempDir()
	if err := os.MkdirAll(filepath.Join(vault, "db"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"template", "connector", "secret", "login"} {
		s.Apply(t, strings.ReplaceAll(read(t, filepath.Join(managerFolder, name+".yaml")), "/tmp/vault", vault))
	}
	e := run(t, s, "login", "Errored", nil)
	if n := e.Root.Find("login"); !strings.Contains(e.Message+n.Message, "fetch the secret db_password: the script ended with exit code 1") {
		t.Errorf("without a file: %s, %s", e.Message, n.Message)
	}
	if err := os.WriteFile(filepath.Join(vault, "db", "password"), []byte("opensesame"), 0o600); err != nil {
		t.Fatal(err)
	}
	e = run(t, s, "login", "Success", nil)
	for _, n := range below(e.Root) {
		if n.Kind != "step" {
			continue
		}
		if log := logOf(t, s, e.ID, n); !strings.Contains(log, "the password is **************, with 10 characters") {
			t.Errorf("the log says %s", log)
		}
	}
}
