package kubernetes

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// bombSession renders in little memory.
func bombSession(t *testing.T) *session {
	t.Helper()
	s := newSession(task.Work{}, lane.Spec{}, executortest.New(t, nil).Env, nil)
	s.renderer.sandbox = sandbox.New(256 << 20)
	t.Cleanup(s.renderer.sandbox.Close)
	return s
}

// bomb renders files that somebody wrote to do harm.
type bomb func(ctx context.Context, t *testing.T, s *session) ([]*unstructured.Unstructured, error)

// inManifest is a bomb of a plain manifest.
func inManifest(text string) bomb {
	return func(ctx context.Context, _ *testing.T, s *session) ([]*unstructured.Unstructured, error) {
		return s.renderer.render(ctx, []manifest.File{{Name: "bomb.yaml", Text: text}}, nil, false)
	}
}

// laid writes files to a folder of their own.
func laid(t *testing.T, files map[string]string) manifest.Files {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		check(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return manifest.Files{Root: dir, Folder: dir}
}

// inChart is a bomb of a chart's template, or of other files.
func inChart(template string, others map[string]string) bomb {
	return func(ctx context.Context, t *testing.T, s *session) ([]*unstructured.Unstructured, error) {
		t.Helper()
		files := map[string]string{"Chart.yaml": "apiVersion: v2\nname: bomb\nversion: 1.0.0\n", "templates/a.yaml": template}
		for name, text := range others {
			files[name] = text
		}
		job := chart.Job{Manifest: &origin.Manifest{ID: "bomb"}, Files: laid(t, files), Dir: t.TempDir(), Release: chart.Release{Name: "bomb", Namespace: "default"}}
		return s.renderer.make(ctx, sandbox.Work{Verb: verbChart, What: "rendering the chart of bomb", Log: s.env.Log(unitFetch), Request: chartWork{Job: job}})
	}
}

// inKustomize is a bomb of kustomizations.
func inKustomize(files map[string]string) bomb {
	return func(ctx context.Context, t *testing.T, s *session) ([]*unstructured.Unstructured, error) {
		t.Helper()
		w := kustomizeWork{&origin.Manifest{ID: "bomb"}, laid(t, files), []string{"top"}, nil, t.TempDir()}
		return s.renderer.make(ctx, sandbox.Work{Verb: verbKustomize, What: "building the kustomization of bomb", Log: s.env.Log(unitFetch), Request: w})
	}
}

// doubling are kustomizations each of which has the one below it eight times.
func doubling(levels int) map[string]string {
	out := map[string]string{"l0/kustomization.yaml": "resources: [a.yaml]\n", "l0/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"}
	for level := 1; level <= levels; level++ {
		var all []string
		for i := range 8 {
			name := fmt.Sprintf("l%d-%d", level, i)
			out[name+"/kustomization.yaml"] = fmt.Sprintf("namePrefix: p%d-\nresources: [../l%d]\n", i, level-1)
			all = append(all, "../"+name)
		}
		out[fmt.Sprintf("l%d/kustomization.yaml", level)] = "resources: [" + strings.Join(all, ", ") + "]\n"
	}
	out["top/kustomization.yaml"] = fmt.Sprintf("resources: [../l%d]\n", levels)
	return out
}

// packed is a chart's archive with a file of zeros.
func packed(t *testing.T, mib int) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	put := func(name string, size int64) {
		check(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size}))
	}
	meta := "apiVersion: v2\nname: sub\nversion: 1.0.0\n"
	put("sub/Chart.yaml", int64(len(meta)))
	_, err := w.Write([]byte(meta))
	check(t, err)
	for i := range mib {
		put(fmt.Sprintf("sub/files/%d", i), 1<<20)
		_, err := w.Write(make([]byte, 1<<20))
		check(t, err)
	}
	check(t, w.Close())
	check(t, z.Close())
	return b.String()
}

func TestBombsFailTheirStepAlone(t *testing.T) {
	t.Parallel()
	tooMuch := "took more than 256 MiB of memory"
	for _, tt := range []struct {
		name string
		bomb bomb
		want string
	}{
		{"a long range in a manifest", inManifest("{{ range until 1000000000 }}x{{ end }}"), "rendering the manifests " + tooMuch},
		{"a manifest that doubles", inManifest(`{{ $a := "x" }}{{ range until 40 }}{{ $a = print $a $a }}{{ end }}`), tooMuch},
		{"a large manifest", func(ctx context.Context, t *testing.T, s *session) ([]*unstructured.Unstructured, error) {
			t.Helper()
			s.renderer.sandbox = sandbox.New(0)
			defer s.renderer.sandbox.Close()
			return inManifest("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: {{ repeat 17000000 \"x\" }}}\n")(ctx, t, s)
		}, "it makes more than 16 MiB"},
		{"a long range in a chart", inChart("{{ range until 1000000000 }}x{{ end }}", nil), "rendering the chart of bomb " + tooMuch},
		{"recursion in a chart", inChart(`{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`, nil), "nested reference"},
		{"recursion by tpl", inChart(`{{ define "a" }}{{ tpl "{{ include \"b\" . }}" . }}{{ end }}{{ define "b" }}{{ template "a" . }}{{ end }}{{ include "b" . }}`, nil), ""},
		{"an archive in a chart", inChart("", map[string]string{"charts/sub.tgz": packed(t, 150)}), "maximum"},
		{"archives in a chart", inChart("", map[string]string{
			"charts/a.tgz": packed(t, 60), "charts/b.tgz": packed(t, 60), "charts/c.tgz": packed(t, 60), "charts/d.tgz": packed(t, 60), "charts/e.tgz": packed(t, 60),
		}), ""},
		{"kustomizations within each other", inKustomize(doubling(7)), ""},
		{"a template of OpenShift", func(ctx context.Context, _ *testing.T, s *session) ([]*unstructured.Unstructured, error) {
			file := manifest.File{Name: "t.yaml", Text: "apiVersion: template.openshift.io/v1\nkind: Template\nparameters: [{name: A}]\nobjects:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: \"" +
				strings.Repeat("${A}", 100_000) + "\"}}\n"}
			w := openshiftWork{File: file, Params: map[string]string{"A": strings.Repeat("x", 100_000)}}
			return s.renderer.make(ctx, sandbox.Work{Verb: verbOpenshift, What: "processing it", Log: s.env.Log(unitFetch), Request: w})
		}, "processing it " + tooMuch},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithTimeoutCause(t.Context(), 30*time.Second, executor.ErrTimeout) // for those that are slow rather than large
			defer stop()
			_, err := tt.bomb(ctx, t, bombSession(t))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v; want an error about %s", err, tt.want)
			}
			if c := fault.CodeOf(err); c != fault.TooLarge && c != fault.Invalid && !errors.Is(err, executor.ErrTimeout) {
				t.Errorf("got the code %s of %v", c, err)
			}
		})
	}
}

func TestALoopEndsWithItsTask(t *testing.T) {
	t.Parallel()
	loop := "{{ range until 30000 }}{{ range until 30000 }}{{ range until 30000 }}{{ end }}{{ end }}{{ end }}"
	for name, b := range map[string]bomb{"in a manifest": inManifest(loop), "in a chart": inChart(loop, nil)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := bombSession(t)
			for _, cause := range []error{executor.ErrTimeout, executor.ErrCancelled} {
				ctx, stop := context.WithTimeoutCause(t.Context(), time.Second, cause)
				began := time.Now()
				_, err := b(ctx, t, s)
				stop()
				if !errors.Is(err, cause) || time.Since(began) > 2*time.Minute {
					t.Errorf("after %s: %v; want %v", time.Since(began), err, cause)
				}
			}
			if _, err := inManifest("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")(t.Context(), t, s); err != nil {
				t.Errorf("and then nothing can be rendered: %v", err)
			}
		})
	}
}
