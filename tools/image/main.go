// Command image makes a container image of the programs that a release consists of, for every platform of Linux that
// they were built for, as an OCI image layout. It needs no Docker and no network.
//
//	go run ./tools/image -release dist/release -out dist/image
//
// Nothing but the programs are in it: it is there to be copied from, or pushed by a tool that reads layouts. The image of
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
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	Name     string `json:"name"`
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

	programs map[string][]program // for Linux, by the machines that they are for
}

func run(release, out string, told io.Writer) error {
	var built []program
	var of about
	if err := errors.Join(read(filepath.Join(release, "artifacts.json"), &built), read(filepath.Join(release, "metadata.json"), &of)); err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	of.programs = map[string][]program{}
	for _, p := range built {
		if p.Type == "Binary" && p.Platform == "linux" {
			of.programs[p.Machine] = append(of.programs[p.Machine], p)
		}
	}
	if len(of.programs) == 0 {
		return fmt.Errorf("%s has no program for Linux", release)
	}
	for _, machine := range slices.Sorted(maps.Keys(of.programs)) {
		image, err := imageOf(machine, of)
		if err != nil {
			return fmt.Errorf("make the image for linux/%s: %w", machine, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: machine}},
		})
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
	_, err = fmt.Fprintf(told, "%s: %d platforms, %s\n", out, len(of.programs), sum)
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

// folder is where the programs are in the image, and start which of them it starts.
const (
	folder = "/usr/local/bin/"
	start  = folder + "slipway"
)

// imageOf has the programs for a machine and nothing else. The same programs make the same image.
func imageOf(machine string, of about) (v1.Image, error) {
	files, err := pack(of.programs[machine], of.Date)
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
	config.OS, config.Architecture, config.Created = "linux", machine, v1.Time{Time: of.Date}
	config.Config = v1.Config{
		Entrypoint: []string{start}, User: "65532:65532",
		Labels: map[string]string{"org.opencontainers.image.version": of.Version, "org.opencontainers.image.revision": of.Commit},
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, err
	}
	return mutate.ConfigMediaType(image, types.OCIConfigJSON), nil
}

// pack makes the layer: the programs below the folders that lead to them.
func pack(programs []program, date time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	way := ""
	for _, name := range strings.Split(strings.Trim(folder, "/"), "/") {
		way += name + "/"
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: way, Mode: 0o755, ModTime: date}); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(programs, func(a, b program) int { return strings.Compare(a.Name, b.Name) })
	for _, p := range programs {
		content, err := os.ReadFile(p.Path)
		if err != nil {
			return nil, err
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: way + p.Name, Mode: 0o755, Size: int64(len(content)), ModTime: date}); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), w.Close()
}
