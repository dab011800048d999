package builtin_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/slipway-cd/slipway/pkg/builtin"
)

// TestEveryLanePassesItsSuite: what nobody asks a new deployment type would be
// found by its users.
func TestEveryLanePassesItsSuite(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../swimlane/*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		runs += bytes.Count(text, []byte("swimlanetest.Run("))
	}
	if lanes := len(builtin.Lanes()); runs != lanes {
		t.Errorf("%d deployment types are listed, and %d run the suite", lanes, runs)
	}
}
