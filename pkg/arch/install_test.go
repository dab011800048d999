package arch

import (
	"encoding/json"
	"go/ast"
	"os/exec"
	"slices"
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

// TestTheClientOfEC2IsntKept: the linker drops no method of a type that an
// interface or a field of what is in one may hold. EC2's client has some 700, 29 MB
// of the program; whoever calls some keeps those as functions.
func TestTheClientOfEC2IsntKept(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if within(p.path(), []string{"internal/..."}) || !slices.Contains(p.Imports, "github.com/aws/aws-sdk-go-v2/service/ec2") {
			continue
		}
		for name, file := range filesOf(t, p) {
			ast.Inspect(file, func(n ast.Node) bool {
				if selects(n, "ec2", "Client") {
					t.Errorf("%s/%s keeps a client of EC2; want functions for the calls that it makes", p.path(), name)
				}
				if call, ok := n.(*ast.CallExpr); ok {
					for _, a := range call.Args {
						if c, ok := a.(*ast.CallExpr); ok && selects(c.Fun, "ec2", "New", "NewFromConfig") {
							t.Errorf("%s/%s hands a client of EC2 over; want functions for the calls that it makes", p.path(), name)
						}
					}
				}
				return true
			})
		}
	}
}
