package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// findClone gives the root of the clone that a folder is in.
func findClone(folder string) (string, error) {
	start, err := filepath.Abs(folder)
	if err != nil {
		return "", fmt.Errorf("find the folder %s: %w", folder, err)
	}
	for at := start; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "infra", "cdk.json")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fault.New(fault.Invalid, "%s isn't in a clone of Slipway's repository: neither it nor a folder above it has infra/cdk.json; "+
				"\"git clone https://github.com/slipway-cd/slipway\" makes one, and --source names it", start)
		}
	}
}

// findTools looks for the programs that are run.
func findTools() error {
	var missing []string
	for _, tool := range []struct{ name, from string }{
		{"go", "https://go.dev/dl"}, {"node", "https://nodejs.org"}, {"npm", "https://nodejs.org"}, {"npx", "https://nodejs.org"},
	} {
		if _, err := exec.LookPath(tool.name); err != nil {
			missing = append(missing, tool.name+" ("+tool.from+")")
		}
	}
	if len(missing) > 0 {
		return fault.New(fault.Invalid, "these programs aren't in PATH: %s", strings.Join(missing, ", "))
	}
	return nil
}

// toolbox runs the programs that deploy.
type toolbox struct {
	root   string // of the clone
	region string
	out    io.Writer
}

// run runs a program in a folder. When ctx ends, the program is asked to end,
// and has a while to do so: CloudFormation goes on in any case.
func (t toolbox) run(ctx context.Context, folder, name string, args ...string) error {
	line := name + " " + strings.Join(args, " ")
	fmt.Fprintln(t.out, "$", line)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, t.out, t.out
	// The CDK reads profiles in its own way: the region that was checked is the one that counts.
	cmd.Env = append(os.Environ(), "AWS_REGION="+t.region, "CDK_DISABLE_CLI_TELEMETRY=true", "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return interrupted
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fault.New(fault.Conflict, "%q ended with %w; what it said is above", line, exit)
	}
	return err
}

// cdk runs the CDK's command line, of the version that infra/package.json says.
func (t toolbox) cdk(ctx context.Context, args ...string) error {
	return t.run(ctx, t.infra(), "npx", append([]string{"--no-install", "cdk"}, args...)...)
}

func (t toolbox) infra() string { return filepath.Join(t.root, "infra") }

// installCDK installs the CDK's command line into infra/node_modules, unless
// the right version is there.
func (t toolbox) installCDK(ctx context.Context) error {
	var want struct{ DevDependencies map[string]string }
	if err := readJSON(filepath.Join(t.infra(), "package.json"), &want); err != nil {
		return err
	}
	var have struct{ Version string }
	err := readJSON(filepath.Join(t.infra(), "node_modules", "aws-cdk", "package.json"), &have)
	if err == nil && have.Version == want.DevDependencies["aws-cdk"] {
		return nil
	}
	return t.run(ctx, t.infra(), "npm", "ci", "--no-audit", "--no-fund")
}

func readJSON(path string, into any) error {
	doc, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(doc, into)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
