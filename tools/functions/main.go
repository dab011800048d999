// Command functions builds every Lambda function into a zip file, the same
// bytes for the same source.
//
//	go run ./tools/functions -out dist/functions
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

func main() {
	out := flag.String("out", "dist/functions", "folder of the zip files")
	arch := flag.String("arch", "arm64", "architecture, as GOARCH has it")
	flag.Parse()
	if err := run(context.Background(), *out, *arch, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out, arch string, told io.Writer) error {
	sources, err := filepath.Glob("functions/*/main.go")
	if err != nil || len(sources) == 0 {
		return fmt.Errorf("there are no functions below functions/: run this at the root of the repository: %w", err)
	}
	if err := os.MkdirAll(out, 0o750); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	if err := pages(ctx); err != nil {
		return err
	}
	for _, source := range sources {
		name := filepath.Base(filepath.Dir(source))
		program, err := build(ctx, "./"+filepath.Dir(source), arch)
		if err != nil {
			return fmt.Errorf("build function %s: %w", name, err)
		}
		doc, err := pack(program)
		if err != nil {
			return fmt.Errorf("pack function %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(out, name+".zip"), doc, 0o600); err != nil {
			return fmt.Errorf("write function %s: %w", name, err)
		}
		if _, err := fmt.Fprintf(told, "%s.zip: %.1f MB\n", name, float64(len(doc))/1e6); err != nil {
			return err
		}
	}
	return nil
}

// pages builds the console's, which its function has in it, if there are any.
func pages(ctx context.Context) error {
	if _, err := os.Stat("web/package-lock.json"); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, args := range [][]string{{"npm", "ci", "--no-audit", "--no-fund"}, {"npx", "vite", "build", "--logLevel", "warn"}} {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = "web", os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("build the console's pages, which takes Node.js 20.19 or later: %w", err)
		}
	}
	return nil
}

// build compiles a function. Nothing of this machine is in the result: no
// paths, no build id, no state of the repository.
func build(ctx context.Context, source, arch string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "function-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system clears it too
	program := filepath.Join(dir, "bootstrap")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc,console",
		"-ldflags", "-s -w -buildid=", "-o", program, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(program)
}

// pack makes the zip file that Lambda wants, with a time that is always the same.
func pack(program []byte) ([]byte, error) {
	var doc bytes.Buffer
	z := zip.NewWriter(&doc)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	h := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate, Modified: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}
	h.SetMode(0o755)
	w, err := z.CreateHeader(h)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(program)
	if err := errors.Join(err, z.Close()); err != nil {
		return nil, err
	}
	return doc.Bytes(), nil
}
