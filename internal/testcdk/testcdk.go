// Package testcdk gives tests the program cdk of the AWS CDK, from tools/aws-cdk
// (make setup), and an app for it.
//
// The library of the CDK isn't part of it: the app writes itself what the library
// would, so that cdk has all of its work to do.
package testcdk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Version is what cdk says to be.
const Version = "2.1148.1"

// Install makes a folder with the program cdk in it. It asks nobody outside, and
// doesn't wait for long between two looks at a stack. What Node.js has compiled of
// it, which takes half of its time, stays beside it.
func Install(tb testing.TB) string {
	tb.Helper()
	program := filepath.Join(root(), "tools/aws-cdk/node_modules/.bin/cdk")
	if _, err := os.Stat(program); errors.Is(err, os.ErrNotExist) {
		tb.Skip("cdk isn't set up here; make setup does that")
	}
	dir := tb.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nCDK_NOTICES=false COMPILED_CACHE='%s' NODE_OPTIONS='--no-warnings --require=%s --require=%s' exec '%s' \"$@\"\n",
		filepath.Join(root(), "tools/aws-cdk/node_modules/.cache/compiled"), filepath.Join(root(), "tools/compiled.js"), filepath.Join(root(), "internal/testcdk/fast.js"), program)
	if err := os.WriteFile(filepath.Join(dir, "cdk"), []byte(script), 0o700); err != nil { //nolint:gosec // it is run
		tb.Fatal(err)
	}
	return dir
}

func root() string {
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), "../..")
}

// App are the files of an app of stacks, whose templates are given by their names.
func App(tb testing.TB, stacks string) map[string]string {
	tb.Helper()
	files := map[string]string{"stacks.json": stacks}
	for _, name := range []string{"cdk.json", "app.js"} {
		text, err := os.ReadFile(filepath.Join(root(), "examples/cdk/repo/cdk", name))
		if err != nil {
			tb.Fatal(err)
		}
		files[name] = string(text)
	}
	return files
}
