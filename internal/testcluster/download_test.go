package testcluster

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const here = runtime.GOOS + "/" + runtime.GOARCH

// gotool plays the go command: it "builds" a program by writing its name and that it was built, and knows kwok's module.
const gotool = `#!/bin/sh
set -eu
case "$1" in
list) echo v1.2.3 ;;
mod) echo '{"Dir": "KWOK"}' ;;
build)
	while [ "$1" != -o ]; do shift; done
	out=$2
	shift 2
	for package; do
		case "$out" in
		*/) echo "built $package" >"$out${package##*/}" ;;
		*) echo "built $package" >"$out" ;;
		esac
	done
	;;
esac
`

// publisher offers every program at a path of its own; etcd comes in an archive.
type publisher struct {
	*httptest.Server
	answers map[string]http.HandlerFunc // by path; what isn't there is offered as it should be
	asked   atomic.Int32
}

func content(program string) []byte {
	if program != "etcd" {
		return []byte("published " + program + "\n")
	}
	return archive("etcd-v1/README.md", "", "etcd-v1/etcdctl", "another", "etcd-v1/etcd", "published etcd\n")
}

// archive makes a .tar.gz of names and texts, in turns.
func archive(files ...string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for file := range slices.Chunk(files, 2) {
		name, text := file[0], file[1]
		_ = w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))})
		_, _ = w.Write([]byte(text))
	}
	_, _ = w.Close(), z.Close()
	return b.Bytes()
}

func newPublisher(t *testing.T) *publisher {
	t.Helper()
	p := &publisher{answers: map[string]http.HandlerFunc{}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		if answer, ok := p.answers[r.URL.Path]; ok {
			answer(w, r)
			return
		}
		_, _ = w.Write(content(strings.TrimSuffix(path.Base(r.URL.Path), ".tar.gz")))
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *publisher) offers() []Published {
	var list []Published
	for _, s := range sources() {
		sum := sha256.Sum256(content(s.program))
		offer := Published{Platform: here, Program: s.program, Address: p.URL + "/" + s.program, SHA256: hex.EncodeToString(sum[:])}
		if s.program == "etcd" {
			offer.Address += ".tar.gz"
		}
		list = append(list, offer)
	}
	return list
}

// newBuilder builds from a checkout that has nothing but the files that the build's digest is made of.
func newBuilder(t *testing.T, offers []Published) (b *builder, log *bytes.Buffer) {
	t.Helper()
	root, log := t.TempDir(), &bytes.Buffer{}
	write := func(name, text string) {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, module := range []string{kubernetesModule, etcdModule} {
		write(filepath.Join(module, "go.mod"), "")
		write(filepath.Join(module, "go.sum"), "")
	}
	write("kwok/kustomize/stage/node/fast/ready.yaml", "kind: Stage\n")
	write("go", strings.Replace(gotool, "KWOK", filepath.Join(root, "kwok"), 1))
	d := newDownloader()
	d.most = 1 << 20
	return &builder{root: root, offers: offers, download: d, gotool: filepath.Join(root, "go"), log: log}, log
}

// made is what the files of a tools folder hold.
func made(t *testing.T, tools string) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := os.ReadDir(filepath.Join(tools, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(tools, "bin", f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name()] = string(text)
	}
	return out
}

func allPublished() map[string]string {
	want := map[string]string{}
	for _, s := range sources() {
		want[s.program] = "published " + s.program + "\n"
	}
	return want
}

func TestProgramsComeFromTheirPublishers(t *testing.T) {
	t.Parallel()
	p, cache := newPublisher(t), t.TempDir()
	b, log := newBuilder(t, p.offers())
	tools, err := build(t.Context(), cache, b)
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	if diff := cmp.Diff(allPublished(), made(t, tools)); diff != "" {
		t.Errorf("programs (-want +got):\n%s", diff)
	}
	for _, s := range sources() {
		if info, err := os.Stat(filepath.Join(tools, "bin", s.program)); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s can't be run: %v, %v", s.program, info, err)
		}
	}
	if _, err := os.Stat(filepath.Join(tools, stockStages)); err != nil {
		t.Errorf("kwok's rules: %v", err)
	}
	if strings.Contains(log.String(), "building") {
		t.Errorf("something was built:\n%s", log)
	}

	asked := p.asked.Load()
	again, err := build(t.Context(), cache, b)
	if err != nil || again != tools || p.asked.Load() != asked {
		t.Errorf("the second time: %s, %v, %d requests more; want %s and none", again, err, p.asked.Load()-asked, tools)
	}
}

func TestWhatCannotBeHadIsBuilt(t *testing.T) {
	t.Parallel()
	const program, archived = "kube-scheduler", "etcd"
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	wrong := sha256.Sum256([]byte("something else"))
	for name, c := range map[string]struct {
		program string
		answer  http.HandlerFunc
		offer   func(*Published)
		want    string // of the log
	}{
		"it isn't there": {program: program, answer: http.NotFound, want: "/kube-scheduler: the answer was 404 Not Found"},
		"nobody answers": {program: program, offer: func(p *Published) { p.Address = gone.URL + "/kube-scheduler" }, want: "connection refused"},
		"it stops coming": {
			program: program,
			answer: func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", "100")
				_, _ = w.Write([]byte("publ"))
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			},
			want: "nothing came for 50ms",
		},
		"it ends early": {
			program: program,
			answer: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "100")
				_, _ = w.Write([]byte("publ"))
			},
			want: "unexpected EOF",
		},
		"it is too large": {
			program: program,
			answer: func(w http.ResponseWriter, _ *http.Request) {
				for range 3 {
					_, _ = w.Write(make([]byte, 1<<19))
				}
			},
			want: "it has more than 1048576 bytes",
		},
		"it is something else": {
			program: program,
			answer:  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("something else")) },
			want:    "/kube-scheduler: wrong checksum: kube-scheduler (14 bytes) has the SHA-256 " + hex.EncodeToString(wrong[:]) + "; want ",
		},
		"its archive lacks it": {
			program: archived,
			answer:  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive()) },
			offer: func(p *Published) {
				sum := sha256.Sum256(archive())
				p.SHA256 = hex.EncodeToString(sum[:])
			},
			want: "unpack etcd.tar.gz: no file etcd is in it",
		},
		"nobody offers it here": {program: program, offer: func(p *Published) { p.Platform = "plan9/386" }, want: "building kube-scheduler from source"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPublisher(t)
			offers := p.offers()
			offer := &offers[slices.IndexFunc(offers, func(o Published) bool { return o.Program == c.program })]
			if c.answer != nil {
				p.answers[strings.TrimPrefix(offer.Address, p.URL)] = c.answer
			}
			if c.offer != nil {
				c.offer(offer)
			}
			b, log := newBuilder(t, offers)
			if name == "it stops coming" {
				b.download.stall = 50 * time.Millisecond
			}
			tools, err := build(t.Context(), t.TempDir(), b)
			if err != nil {
				t.Fatalf("%v\n%s", err, log)
			}
			want := allPublished()
			want[c.program] = "built " + sources()[slices.IndexFunc(sources(), func(s source) bool { return s.program == c.program })].path + "\n"
			if diff := cmp.Diff(want, made(t, tools)); diff != "" {
				t.Errorf("programs (-want +got):\n%s", diff)
			}
			for _, text := range []string{c.want, "building " + c.program + " from source"} {
				if !strings.Contains(log.String(), text) {
					t.Errorf("the log doesn't say %q:\n%s", text, log)
				}
			}
		})
	}
}

func TestAPlaneThatCannotBeMadeIsNotThere(t *testing.T) {
	t.Parallel()
	b, _ := newBuilder(t, nil)
	b.gotool = "false"
	cache := t.TempDir()
	if tools, err := build(t.Context(), cache, b); err == nil {
		t.Fatalf("made %s without a go command", tools)
	}
	left, err := filepath.Glob(filepath.Join(cache, "cluster", "????????????????"))
	if err != nil || len(left) > 0 {
		t.Errorf("%q, %v look whole", left, err)
	}
}

// TestWhatIsPinnedIsWhatIsBuilt: a machine that downloads and one that builds run the same versions.
func TestWhatIsPinnedIsWhatIsBuilt(t *testing.T) {
	t.Parallel()
	list, err := published()
	if err != nil {
		t.Fatal(err)
	}
	required := func(module, of string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("..", "..", of, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require ")); len(words) > 1 && words[0] == module {
				return words[1]
			}
		}
		t.Fatalf("%s/go.mod doesn't require %s", of, module)
		return ""
	}
	kubernetes, kwok, etcd := required("k8s.io/kubernetes", kubernetesModule), required("sigs.k8s.io/kwok", kubernetesModule), required("go.etcd.io/etcd/server/v3", etcdModule)
	seen := map[string]bool{}
	for _, p := range list {
		system, machine, _ := strings.Cut(p.Platform, "/")
		var want string
		switch p.Program {
		case "etcd":
			want = fmt.Sprintf("https://github.com/etcd-io/etcd/releases/download/%s/etcd-%s-%s-%s.tar.gz", etcd, etcd, system, machine)
		case "kwok":
			want = fmt.Sprintf("https://github.com/kubernetes-sigs/kwok/releases/download/%s/kwok-%s-%s", kwok, system, machine)
		default:
			want = fmt.Sprintf("https://dl.k8s.io/release/%s/bin/%s/%s/%s", kubernetes, system, machine, p.Program)
		}
		if p.Address != want {
			t.Errorf("%s for %s comes from %s; want %s", p.Program, p.Platform, p.Address, want)
		}
		if sum, err := hex.DecodeString(p.SHA256); err != nil || len(sum) != sha256.Size {
			t.Errorf("%s: %q is no SHA-256", p.Address, p.SHA256)
		}
		if key := p.Platform + " " + p.Program; seen[key] {
			t.Errorf("%s is there twice", key)
		} else {
			seen[key] = true
		}
	}
	for _, platform := range []string{"linux/amd64", "linux/arm64"} {
		for _, s := range sources() {
			if !seen[platform+" "+s.program] {
				t.Errorf("%s isn't pinned for %s", s.program, platform)
			}
		}
	}
}
