package session_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/slipway-cd/slipway/delegate/session"
)

// Delegates that share the folder of sessions are on one machine; one with a copy of
// it, as it comes with an image, is on another, and would take up what it doesn't
// have.
func TestACopyOfTheFolderIsAnotherMachine(t *testing.T) {
	t.Parallel()
	name := func(dir string) string {
		t.Helper()
		machine, err := session.New(session.Config{Dir: dir}).Machine()
		if err != nil || machine == "" {
			t.Fatalf("the machine is %q, %v", machine, err)
		}
		return machine
	}
	one, copied := t.TempDir(), t.TempDir()
	first := name(one)
	if again := name(one); again != first {
		t.Errorf("the machine is %s, and then %s", first, again)
	}
	doc, err := os.ReadFile(filepath.Join(one, "machine"))
	if err == nil {
		err = os.WriteFile(filepath.Join(copied, "machine"), doc, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if name(copied) == first {
		t.Errorf("the copy is the machine %s, too", first)
	}
}
