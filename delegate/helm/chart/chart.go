// Package chart reads Helm charts and renders them, with Helm's own library:
// their dependencies, the values that command flags set, and "helm template".
//
// It changes nothing in a cluster: releases are delegate/helm's, and charts
// that are deployed like plain manifests are delegate/kubernetes's.
package chart

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/downloader"
	"helm.sh/helm/v4/pkg/getter"
	"helm.sh/helm/v4/pkg/registry"
	"helm.sh/helm/v4/pkg/strvals"

	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// Reader loads charts for one task.
type Reader struct {
	Dir func() (string, error) // the task's scratch directory
	Log io.Writer
}

// Read reads the chart of a manifest without its dependencies.
func (r Reader) Read(m *origin.Manifest, files manifest.Files) (*v2.Chart, error) {
	folder, err := chartFolder(m, files)
	if err != nil {
		return nil, err
	}
	return load(files.Root, folder)
}

// Load reads the chart of a manifest, and says in which folder it is whole.
// Dependencies that aren't in its charts folder are downloaded, as Chart.lock
// says if there is one.
func (r Reader) Load(ctx context.Context, m *origin.Manifest, files manifest.Files, flags origin.HelmFlags) (*v2.Chart, string, error) {
	folder, err := chartFolder(m, files)
	if err != nil {
		return nil, "", err
	}
	c, err := load(files.Root, folder)
	if err != nil {
		return nil, "", err
	}
	if c.Metadata.Type != "" && c.Metadata.Type != "application" {
		return nil, "", fault.New(fault.Invalid, "chart %s has the type %s, which can't be deployed; want application", c.Name(), c.Metadata.Type)
	}
	if len(c.Metadata.Dependencies) == 0 || !incomplete(c) && !flags.DependencyUpdate {
		return c, folder, nil
	}
	if err := neighboursStay(files.Root, folder, c.Metadata.Dependencies); err != nil {
		return nil, "", err
	}
	if folder, err = r.withDependencies(ctx, files.Root, folder, flags); err != nil {
		return nil, "", fault.New(fault.Invalid, "the dependencies of chart %s: %w", c.Name(), err)
	}
	c, err = load(folder, folder)
	return c, folder, err
}

// Load reads the chart in a folder again, which was found to be one.
func Load(folder string) (*v2.Chart, error) {
	c, err := loader.Load(folder)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the chart can't be read: %w", err)
	}
	return c, nil
}

// incomplete says whether a dependency isn't in the chart's charts folder.
func incomplete(c *v2.Chart) bool {
	return slices.ContainsFunc(c.Metadata.Dependencies, func(d *v2.Dependency) bool {
		return !slices.ContainsFunc(c.Dependencies(), func(has *v2.Chart) bool { return has.Name() == d.Name })
	})
}

// load reads the chart in a folder. Helm follows links to wherever they lead,
// and a template may show what it finds there.
func load(root, folder string) (*v2.Chart, error) {
	if err := manifest.LinksStay(root, folder); err != nil {
		return nil, fault.Wrap(err, "the chart can't be read")
	}
	return Load(folder)
}

// neighboursStay says whether the charts that dependencies name by their
// folders are in the same repository.
func neighboursStay(root, folder string, dependencies []*v2.Dependency) error {
	for _, d := range dependencies {
		to, isFolder := strings.CutPrefix(d.Repository, "file://")
		if !isFolder {
			continue
		}
		full := filepath.Join(folder, filepath.FromSlash(to))
		if below, err := filepath.Rel(root, full); filepath.IsAbs(to) || err != nil || !filepath.IsLocal(below) {
			return fault.New(fault.Invalid, "dependency %s is at %s, which isn't in the chart's repository", d.Name, d.Repository)
		}
		if err := manifest.LinksStay(root, full); err != nil {
			return fault.Wrap(err, "dependency %s", d.Name)
		}
	}
	return nil
}

// chartFolder is where a manifest's chart is: a subchart, if it names one.
func chartFolder(m *origin.Manifest, files manifest.Files) (string, error) {
	if m.Chart == nil || m.Chart.SubChartPath == "" {
		return files.Folder, nil
	}
	path, err := filepath.Rel(files.Root, filepath.Join(files.Folder, filepath.FromSlash(m.Chart.SubChartPath)))
	if err != nil {
		return "", err
	}
	folder, err := manifest.Inside(files.Root, path)
	if err != nil {
		return "", fault.Wrap(err, "subChartPath %q", m.Chart.SubChartPath)
	}
	return folder, nil
}

// withDependencies copies the chart and all beside it, which its dependencies
// may name by relative paths, and downloads the dependencies there: what was
// fetched is for others, too, and stays as it is.
func (r Reader) withDependencies(ctx context.Context, root, folder string, flags origin.HelmFlags) (string, error) {
	scratch, err := r.Dir()
	if err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(scratch, "chart-")
	if err != nil {
		return "", fmt.Errorf("make a folder for the chart: %w", err)
	}
	if err := os.CopyFS(filepath.Join(work, "files"), os.DirFS(root)); err != nil {
		return "", fmt.Errorf("copy the chart: %w", err)
	}
	below, err := filepath.Rel(root, folder)
	if err != nil {
		return "", err
	}
	client, err := registry.NewClient(registry.ClientOptWriter(r.Log), registry.ClientOptCredentialsFile(filepath.Join(work, "registry.json")), boundTo(ctx, registry.NewTransport(false)))
	if err != nil {
		return "", err
	}
	to := filepath.Join(work, "files", below)
	m := &downloader.Manager{
		Out: r.Log, ChartPath: to, Getters: getters(ctx, 0, false, nil), RegistryClient: client,
		RepositoryConfig: filepath.Join(work, "repositories.yaml"), RepositoryCache: filepath.Join(work, "cache"), ContentCache: filepath.Join(work, "content"),
	}
	if flags.DependencyUpdate {
		return to, m.Update()
	}
	return to, m.Build()
}

// getters are how Helm downloads: no plugins, no settings of the delegate's
// user. A download may take as long as it is said to, or what Helm allows.
func getters(ctx context.Context, limit time.Duration, insecure bool, over *task.Over) getter.Providers {
	return getter.Providers{
		{Schemes: []string{"http", "https"}, New: func(options ...getter.Option) (getter.Getter, error) {
			via, err := bounded(ctx, insecure, over)
			if err != nil {
				return nil, err
			}
			options = append(options, getter.WithTransport(via))
			if limit > 0 {
				options = append(options, getter.WithTimeout(limit))
			}
			return getter.NewHTTPGetter(options...)
		}},
		{Schemes: []string{registry.OCIScheme}, New: getter.NewOCIGetter},
	}
}

// Values lays what command flags set over the layers of values. A path of a
// file is one in the chart's folder, or else in its repository.
func Values(base map[string]any, files manifest.Files, flags origin.HelmFlags) (map[string]any, error) {
	for _, path := range flags.Values {
		text, err := read(files, path)
		if err != nil {
			return nil, err
		}
		doc, err := manifest.Decode(string(text))
		if err != nil {
			return nil, fault.New(fault.Invalid, "values file %s: %w", path, err)
		}
		manifest.Merge(base, doc)
	}
	return base, Set(base, flags, func(path string) ([]byte, error) { return read(files, path) })
}

// Set lays what the flags that set single values say over values. Files are read by
// their paths in the flags.
func Set(base map[string]any, flags origin.HelmFlags, read func(path string) ([]byte, error)) error {
	fromFile := func(path []rune) (any, error) {
		text, err := read(string(path))
		return string(text), err
	}
	for _, kind := range []struct {
		flag  string
		texts []string
		parse func(string, map[string]any) error
	}{
		{"--set-json", flags.SetJSON, setJSON},
		{"--set", flags.Set, strvals.ParseInto},
		{"--set-string", flags.SetString, strvals.ParseIntoString},
		{"--set-file", flags.SetFile, func(s string, to map[string]any) error { return strvals.ParseIntoFile(s, to, fromFile) }},
		{"--set-literal", flags.SetLiteral, strvals.ParseLiteralInto},
	} {
		for _, text := range kind.texts {
			if err := kind.parse(text, base); err != nil {
				return fault.New(fault.Invalid, "the flag %s: %w", kind.flag, err)
			}
		}
	}
	return nil
}

func setJSON(text string, to map[string]any) error {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return strvals.ParseJSON(text, to)
	}
	doc, err := manifest.Decode(text)
	if err == nil {
		manifest.Merge(to, doc)
	}
	return err
}

// read reads a file that a flag names.
func read(files manifest.Files, path string) ([]byte, error) {
	for _, dir := range []string{files.Folder, files.Root} {
		if full, err := manifest.Inside(dir, strings.TrimPrefix(path, "/")); err == nil {
			return os.ReadFile(full)
		}
	}
	return nil, fault.New(fault.NotFound, "file %q, which a flag names, is neither in the chart nor in its repository", path)
}
