package testcluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
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

// Build makes the control plane's programs and returns the folder that holds them, for Config.Tools: it takes them
// from their publishers, and builds from the Go module proxy what can't be had there or isn't what it should be. Both
// are the same versions. The folder's name is a digest of everything that decides what is built, so a second call
// returns at once and checkouts with other versions don't disturb each other. The first takes as long as some 350 MB
// take, or about five minutes on two cores; log is told what happens.
func Build(ctx context.Context, root, cache string, log io.Writer) (string, error) {
	list, err := published()
	if err != nil {
		return "", err
	}
	return build(ctx, cache, &builder{root: root, offers: list, download: newDownloader(), gotool: "go", log: log})
}

func build(ctx context.Context, cache string, b *builder) (string, error) {
	digest, err := toolsDigest(b.root)
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

	// What is half made must not look whole: it gets its name only when it is complete.
	partial := dir + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return "", err
	}
	b.bin = filepath.Join(partial, "bin")
	if err := os.MkdirAll(b.bin, 0o750); err != nil {
		return "", err
	}
	if err := b.all(ctx, filepath.Join(partial, stockStages)); err != nil {
		return "", fmt.Errorf("make the test control plane: %w", err)
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

// source is where a program of the control plane is built from.
type source struct{ program, module, path string }

func sources() []source {
	return []source{
		{"kube-apiserver", kubernetesModule, "k8s.io/kubernetes/cmd/kube-apiserver"},
		{"kube-controller-manager", kubernetesModule, "k8s.io/kubernetes/cmd/kube-controller-manager"},
		{"kube-scheduler", kubernetesModule, "k8s.io/kubernetes/cmd/kube-scheduler"},
		{"kubectl", kubernetesModule, "k8s.io/kubernetes/cmd/kubectl"},
		{"kwok", kubernetesModule, "sigs.k8s.io/kwok/cmd/kwok"},
		{"etcd", etcdModule, "go.etcd.io/etcd/server/v3"},
	}
}

// builder carries what the steps of one build share.
type builder struct {
	root     string // of the checkout
	bin      string // where the programs are put
	offers   []Published
	download downloader
	gotool   string

	mu  sync.Mutex // downloads end when they do
	log io.Writer
}

func (b *builder) say(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(b.log, format+"\n", args...)
}

// all makes every program, and the file of kwok's own rules.
func (b *builder) all(ctx context.Context, stages string) error {
	missing, err := b.take(ctx)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		began := time.Now()
		b.say("building %s from source; all six take about five minutes on two cores", names(missing))
		if err := b.kubernetes(ctx, missing); err != nil {
			return err
		}
		if err := b.etcd(ctx, missing); err != nil {
			return err
		}
		b.say("built in %s", time.Since(began).Round(time.Second))
	}
	return b.stages(ctx, stages)
}

// take downloads what publishers offer for this platform, all at once, and says what has to be built: what nobody
// offers, what couldn't be had, and what wasn't what is pinned. The error is ctx's.
func (b *builder) take(ctx context.Context) (missing []source, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, wholeLimit, fmt.Errorf("it isn't there after %s", wholeLimit))
	defer cancel()
	all := sources()
	failed := make([]error, len(all))
	var group sync.WaitGroup
	for i, s := range all {
		group.Go(func() { failed[i] = b.takeOne(ctx, s.program) })
	}
	group.Wait()
	for i, s := range all {
		if failed[i] != nil {
			missing = append(missing, s)
		}
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, context.Cause(ctx)
	}
	return missing, nil
}

// takeOne downloads a program and tells the log how that went.
func (b *builder) takeOne(ctx context.Context, program string) error {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	i := slices.IndexFunc(b.offers, func(p Published) bool { return p.Platform == platform && p.Program == program })
	if i < 0 {
		return fmt.Errorf("nobody offers it for %s", platform)
	}
	offer, began := b.offers[i], time.Now()
	size, err := b.download.program(ctx, offer, b.bin)
	if err != nil {
		b.say("not downloaded: %s: %v", offer.Address, err)
		return err
	}
	b.say("downloaded %s: %d MB in %s, and it is the one that is pinned", offer.Address, size>>20, time.Since(began).Round(100*time.Millisecond))
	return nil
}

func (b *builder) kubernetes(ctx context.Context, missing []source) error {
	paths := ofModule(missing, kubernetesModule)
	if len(paths) == 0 {
		return nil
	}
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
	return b.goRun(ctx, dir, append([]string{"build", "-ldflags", flags, "-o", b.bin + "/"}, paths...)...)
}

func (b *builder) etcd(ctx context.Context, missing []source) error {
	paths := ofModule(missing, etcdModule)
	if len(paths) == 0 {
		return nil
	}
	return b.goRun(ctx, filepath.Join(b.root, etcdModule),
		append([]string{"build", "-ldflags", "-s -w", "-o", filepath.Join(b.bin, "etcd")}, paths...)...)
}

// stages joins kwok's own rules: nodes and pods are ready at once, claims get a volume. They are
// read from kwok's module, whose version they belong to.
func (b *builder) stages(ctx context.Context, path string) error {
	answer, err := b.goOutput(ctx, filepath.Join(b.root, kubernetesModule), "mod", "download", "-json", "sigs.k8s.io/kwok")
	if err != nil {
		return err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(answer), &module); err != nil {
		return fmt.Errorf("read what go mod download says of kwok: %w", err)
	}
	var all []string
	for _, group := range []string{"node/fast", "node/heartbeat", "pod/fast", "volume/fast"} {
		files, err := filepath.Glob(filepath.Join(module.Dir, "kustomize/stage", group, "*.yaml"))
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
		return fmt.Errorf("no stage in %q", module.Dir)
	}
	return os.WriteFile(path, []byte(strings.Join(all, "---\n")), 0o600)
}

func (b *builder) goRun(ctx context.Context, dir string, args ...string) error {
	b.say("cd %s && go %s", dir, strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, b.gotool, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, b.log, b.log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s in %s: %w", args[0], dir, err)
	}
	return nil
}

func (b *builder) goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, b.gotool, args...)
	cmd.Dir, cmd.Stderr = dir, b.log
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s in %s: %w", args[0], dir, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// ofModule are the packages of those that a module has.
func ofModule(list []source, module string) []string {
	var paths []string
	for _, s := range list {
		if s.module == module {
			paths = append(paths, s.path)
		}
	}
	return paths
}

func names(list []source) string {
	var names []string
	for _, s := range list {
		names = append(names, s.program)
	}
	return strings.Join(names, ", ")
}

// majorMinor splits "v1.36.3" into "1" and "36".
func majorMinor(version string) (major, minor string, ok bool) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 3 {
		return "", "", false
	}
	return parts[0], parts[1], true
}
