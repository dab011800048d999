package testcluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// The modules that pin the control plane, relative to the checkout.
const (
	kubernetesModule = "tools/kubernetes"
	etcdModule       = "tools/etcd"
)

// stockStages is the file of kwok's own rules in a tools folder, beside the programs.
const stockStages = "stages.yaml"

// recipe counts the changes to what the steps of Build do with the same modules.
const recipe = 1

// Build makes the control plane's programs from the Go module proxy and returns the folder that holds them,
// for Config.Tools. The folder's name is a digest of everything that decides what is built, so a second call
// returns at once and checkouts with other versions don't disturb each other. The first takes about five
// minutes on two cores; log gets the Go tool's output.
func Build(ctx context.Context, root, cache string, log io.Writer) (string, error) {
	digest, err := toolsDigest(root)
	if err != nil {
		return "", err
	}
	base := filepath.Join(cache, "cluster")
	dir := filepath.Join(base, digest)
	if err := os.MkdirAll(base, 0o750); err != nil {
		return "", err
	}
	unlock, err := Lock(ctx, filepath.Join(base, "build.lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}

	// What is half built must not look whole: it gets its name only when it is complete.
	partial := dir + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return "", err
	}
	b := builder{root: root, out: partial, log: log}
	for _, step := range []func(context.Context) error{b.kubernetes, b.etcd, b.stages} {
		if err := step(ctx); err != nil {
			return "", fmt.Errorf("build the test control plane: %w", err)
		}
	}
	return dir, os.Rename(partial, dir)
}

// toolsDigest names what Build makes: the pinned modules, the recipe, this build's Go version and platform.
func toolsDigest(root string) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, recipe, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, module := range []string{kubernetesModule, etcdModule} {
		for _, name := range []string{"go.mod", "go.sum"} {
			content, err := os.ReadFile(filepath.Join(root, module, name))
			if err != nil {
				return "", err
			}
			sum.Write(content)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// builder carries what the steps of one build share.
type builder struct {
	root, out string
	log       io.Writer
}

func (b builder) kubernetes(ctx context.Context) error {
	dir := filepath.Join(b.root, kubernetesModule)
	version, err := b.goOutput(ctx, dir, "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	if err != nil {
		return err
	}
	major, minor, ok := majorMinor(version)
	if !ok {
		return fmt.Errorf("k8s.io/kubernetes has version %q, expected one like v1.36.3", version)
	}
	// Without these the API server calls itself v0.0.0, and clients that look at its version stop there.
	const pkg = "k8s.io/component-base/version."
	flags := fmt.Sprintf("-s -w -X %sgitVersion=%s -X %sgitMajor=%s -X %sgitMinor=%s", pkg, version, pkg, major, pkg, minor)
	return b.goRun(ctx, dir, "build", "-trimpath", "-ldflags", flags, "-o", filepath.Join(b.out, "bin")+"/", "tool")
}

func (b builder) etcd(ctx context.Context) error {
	return b.goRun(ctx, filepath.Join(b.root, etcdModule),
		"build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(b.out, "bin", "etcd"), "tool")
}

// stages joins kwok's own rules: nodes and pods are ready at once, claims get a volume. They are
// read from kwok's module, whose version they belong to.
func (b builder) stages(ctx context.Context) error {
	module, err := b.goOutput(ctx, filepath.Join(b.root, kubernetesModule), "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok")
	if err != nil {
		return err
	}
	var all []string
	for _, group := range []string{"node/fast", "node/heartbeat", "pod/fast", "volume/fast"} {
		files, err := filepath.Glob(filepath.Join(module, "kustomize/stage", group, "*.yaml"))
		if err != nil {
			return err
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if strings.Contains(string(content), "kind: Stage\n") {
				all = append(all, string(content))
			}
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("no stage in %s", module)
	}
	return os.WriteFile(filepath.Join(b.out, stockStages), []byte(strings.Join(all, "---\n")), 0o600)
}

func (b builder) goRun(ctx context.Context, dir string, args ...string) error {
	fmt.Fprintf(b.log, "cd %s && go %s\n", dir, strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, b.log, b.log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s in %s: %w", args[0], dir, err)
	}
	return nil
}

func (b builder) goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stderr = dir, b.log
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s in %s: %w", args[0], dir, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// majorMinor splits "v1.36.3" into "1" and "36".
func majorMinor(version string) (major, minor string, ok bool) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 3 {
		return "", "", false
	}
	return parts[0], parts[1], true
}
