package main

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every function becomes a zip file with a program for Lambda's processors, the
// same bytes each time.
func TestFunctionsAreBuiltForLambda(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/plane\n\ngo 1.26\n", "functions/hello/main.go": "package main\n\nfunc main() { println(`hello`) }\n"} {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(root)
	var docs [2][]byte
	for i := range docs {
		var told strings.Builder
		if err := run(t.Context(), "dist", "arm64", &told); err != nil || !strings.HasPrefix(told.String(), "hello.zip: ") {
			t.Fatalf("%v; it tells %q", err, told.String())
		}
		var err error
		if docs[i], err = os.ReadFile("dist/hello.zip"); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(docs[0], docs[1]) {
		t.Error("the second time the zip file has other bytes")
	}
	z, err := zip.NewReader(bytes.NewReader(docs[0]), int64(len(docs[0])))
	if err != nil || len(z.File) != 1 || z.File[0].Name != "bootstrap" || z.File[0].Mode().Perm() != 0o755 {
		t.Fatalf("%v; the zip file has %+v; want an executable bootstrap", err, z)
	}
	f, err := z.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	program, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	e, err := elf.NewFile(bytes.NewReader(program))
	if err != nil || e.Machine != elf.EM_AARCH64 {
		t.Errorf("%v; the program is %+v; want one for arm64", err, e)
	}
	if bytes.Contains(program, []byte(root)) {
		t.Error("the program has the path of this folder in it")
	}
}
