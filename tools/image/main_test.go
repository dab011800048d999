package main

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// release is a folder as goreleaser leaves it, with programs of a few bytes.
func release(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"amd64": "the program for amd64", "step": "the step program for amd64", "arm64": "the program for arm64", "mac": "the program for darwin",
		"metadata.json": `{"version": "1.2.3", "commit": "abc", "date": "2026-01-02T03:04:05Z"}`,
		"artifacts.json": strings.ReplaceAll(`[
			{"name": "metadata.json", "path": "DIR/metadata.json", "type": "Metadata"},
			{"name": "slipway", "path": "DIR/amd64", "goos": "linux", "goarch": "amd64", "type": "Binary"},
			{"name": "slipway-step", "path": "DIR/step", "goos": "linux", "goarch": "amd64", "type": "Binary"},
			{"name": "slipway", "path": "DIR/arm64", "goos": "linux", "goarch": "arm64", "type": "Binary"},
			{"name": "slipway", "path": "DIR/mac", "goos": "darwin", "goarch": "arm64", "type": "Binary"},
			{"name": "slipway.tar.gz", "path": "DIR/slipway.tar.gz", "goos": "linux", "goarch": "arm64", "type": "Archive"}
		]`, "DIR", dir),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTheImageHasTheProgramOfEachPlatform(t *testing.T) {
	t.Parallel()
	dir, out := release(t), filepath.Join(t.TempDir(), "image")
	var told bytes.Buffer
	if err := run(dir, out, &told); err != nil {
		t.Fatal(err)
	}
	top, err := layout.ImageIndexFromPath(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(top); err != nil {
		t.Error(err)
	}
	named, err := top.IndexManifest()
	if err != nil || len(named.Manifests) != 1 || named.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "1.2.3" {
		t.Fatalf("the layout names %+v, %v; want one, 1.2.3", named, err)
	}
	index, err := top.ImageIndex(named.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	platforms, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range platforms.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Architecture != m.Platform.Architecture || config.Config.User == "" || config.Config.Labels["org.opencontainers.image.revision"] != "abc" {
			t.Errorf("%s has the configuration %+v", m.Platform, config)
		}
		content := mutate.Extract(image)
		files := tar.NewReader(content)
		for {
			f, err := files.Next()
			if err != nil {
				break
			}
			if f.Typeflag == tar.TypeReg {
				text, _ := io.ReadAll(files)
				got[m.Platform.String()+" "+f.Name+" "+f.FileInfo().Mode().String()] = string(text)
			}
		}
		_ = content.Close()
		if len(config.Config.Entrypoint) != 1 || !strings.HasSuffix(config.Config.Entrypoint[0], "/slipway") {
			t.Errorf("%s starts %q", m.Platform, config.Config.Entrypoint)
		}
	}
	if diff := cmp.Diff(map[string]string{
		"linux/amd64 usr/local/bin/slipway -rwxr-xr-x":      "the program for amd64",
		"linux/amd64 usr/local/bin/slipway-step -rwxr-xr-x": "the step program for amd64",
		"linux/arm64 usr/local/bin/slipway -rwxr-xr-x":      "the program for arm64",
	}, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}

	// The same programs make the same image, whatever was there.
	first := told.String()
	told.Reset()
	if err := run(dir, out, &told); err != nil || told.String() != first {
		t.Errorf("the second time: %q, %v; want %q", &told, err, first)
	}
}

func TestAReleaseWithoutProgramsIsRefused(t *testing.T) {
	t.Parallel()
	dir := release(t)
	if err := os.WriteFile(filepath.Join(dir, "artifacts.json"), []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, filepath.Join(t.TempDir(), "image"), io.Discard); err == nil {
		t.Error("an image of nothing was made")
	}
}
