package testservers

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// OslsVersion is that of tools/osls.
const OslsVersion = "4.3.1"

// Osls makes a folder with the program osls in it, by the names that are given: the
// real one, from tools/osls, which deploys to AWS_ENDPOINT_URL and doesn't wait for
// long between two looks at a stack. What it has compiled of the schema of its
// configuration, which takes two seconds of a processor, and what Node.js has of the
// program, which takes one, stay beside it: each deployment has a home of its own.
func Osls(tb testing.TB, names ...string) string {
	tb.Helper()
	_, here, _, _ := runtime.Caller(0)
	tools := filepath.Join(filepath.Dir(here), "../../tools")
	program := filepath.Join(tools, "osls/node_modules/osls/bin/serverless.js")
	if _, err := os.Stat(program); err != nil {
		tb.Skip("osls isn't set up here; make setup does that")
	}
	dir := tb.TempDir()
	compiled := filepath.Join(tools, "osls/node_modules/.cache")
	script := fmt.Sprintf("#!/bin/sh\nSLS_SCHEMA_CACHE_BASE_DIR='%s' COMPILED_CACHE='%s/compiled' SLS_AWS_MONITORING_FREQUENCY=100 NODE_OPTIONS='--no-warnings --require=%s' exec '%s' \"$@\"\n",
		compiled, compiled, filepath.Join(tools, "compiled.js"), program)
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil { //nolint:gosec // it is run
			tb.Fatal(err)
		}
	}
	return dir
}
