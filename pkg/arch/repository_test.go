package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/slipway-cd/slipway"

// goPackage is what the go command knows about a package of the module.
type goPackage struct {
	ImportPath string
	Name       string
	Dir        string
	GoFiles    []string
	Imports    []string
	Deps       []string // direct and indirect
}

// path is the package's folder in the repository, e.g. "pkg/store".
func (p goPackage) path() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// packages lists the module's packages, without their tests.
func packages(t *testing.T) []goPackage {
	t.Helper()
	list, err := listOnce()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 20 {
		t.Fatalf("only %d packages were found", len(list))
	}
	return list
}

var listOnce = sync.OnceValues(func() ([]goPackage, error) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Name,Dir,GoFiles,Imports,Deps", module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.Join(err, errors.New(stderr.String()))
	}
	var list []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
})

// within says whether a path is one of those listed, or below one that ends
// in "/...".
func within(path string, patterns []string) bool {
	for _, p := range patterns {
		folder, below := strings.CutSuffix(p, "/...")
		if path == folder || below && strings.HasPrefix(path, folder+"/") || p == "..." {
			return true
		}
	}
	return false
}

// root is the repository's folder.
func root() string { return filepath.Join("..", "..") }
