// Command image makes a container image of the program that a release consists of, for every platform of Linux that
// it was built for, as an OCI image layout. It needs no Docker and no network.
//
//	go run ./tools/image -release dist/release -out dist/image
//
// Nothing but the program is in it: it is there to be copied from, or pushed by a tool that reads layouts. The image of
// a delegate, which needs a shell and Git, is delegate/Dockerfile's.
package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func main() {
	release := flag.String("release", "dist/release", "folder of the release, as goreleaser left it")
	out := flag.String("out", "dist/image", "folder of the image; what is in it is replaced")
	flag.Parse()
	if err := run(*release, *out, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// program is one of the release's, for a platform.
type program struct {
	Path     string `json:"path"` // from the root of the repository
	Platform string `json:"goos"`
	Machine  string `json:"goarch"`
	Type     string `json:"type"`
}

// about is the release.
type about struct {
	Version string    `json:"version"`
	Commit  string    `json:"commit"`
	Date    time.Time `json:"date"`
}

func run(release, out string, told io.Writer) error {
	var built []program
	var of about
	if err := errors.Join(read(filepath.Join(release, "artifacts.json"), &built), read(filepath.Join(release, "metadata.json"), &of)); err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	images := 0
	for _, p := range built {
		if p.Type != "Binary" || p.Platform != "linux" {
			continue
		}
		image, err := imageOf(p, of)
		if err != nil {
			return fmt.Errorf("make the image for %s/%s: %w", p.Platform, p.Machine, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.Platform, Architecture: p.Machine}},
		})
		images++
	}
	if images == 0 {
		return fmt.Errorf("%s has no program for Linux", release)
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := onlyIndex(out, index, of.Version); err != nil {
		return err
	}
	sum, err := index.Digest()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(told, "%s: %d platforms, %s\n", out, images, sum)
	return err
}

// onlyIndex writes a layout that has one image for several platforms, named as its version.
func onlyIndex(out string, index v1.ImageIndex, version string) error {
	to, err := layout.Write(out, empty.Index)
	if err != nil {
		return err
	}
	return to.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": version}))
}

func read(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// at is where the program is in the image.
const at = "/usr/local/bin/slipway"

// imageOf has the program and nothing else. The same program makes the same image.
func imageOf(p program, of about) (v1.Image, error) {
	content, err := os.ReadFile(p.Path)
	if err != nil {
		return nil, err
	}
	files, err := pack(content, of.Date)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: of.Date}, CreatedBy: "slipway " + of.Version},
	})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.Platform, p.Machine, v1.Time{Time: of.Date}
	config.Config = v1.Config{
		Entrypoint: []string{at}, User: "65532:65532",
		Labels: map[string]string{"org.opencontainers.image.version": of.Version, "org.opencontainers.image.revision": of.Commit},
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, err
	}
	return mutate.ConfigMediaType(image, types.OCIConfigJSON), nil
}

// pack makes the layer: the program below the folders that lead to it.
func pack(content []byte, date time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	folder := ""
	for _, name := range strings.Split(strings.Trim(path.Dir(at), "/"), "/") {
		folder += name + "/"
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder, Mode: 0o755, ModTime: date}); err != nil {
			return nil, err
		}
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(at, "/"), Mode: 0o755, Size: int64(len(content)), ModTime: date}); err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	return b.Bytes(), w.Close()
}
