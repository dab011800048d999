package chart

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// beside fetches a chart's folder, and then the charts beside it that it
// depends on by relative paths.
func beside(ctx context.Context, source manifest.Source, m *origin.Manifest) (manifest.Files, error) {
	files, err := source.Fetch(ctx, m)
	if err != nil {
		return files, err
	}
	paths := neighbours(m, files)
	if len(paths) == 0 || m.Store.Git == nil {
		return files, nil
	}
	return source.Needs(m, paths...).Fetch(ctx, m)
}

// neighbours are the folders of dependencies that aren't there, from the
// repository's root. What is wrong with the chart is found when it is loaded.
func neighbours(m *origin.Manifest, files manifest.Files) []string {
	folder, err := chartFolder(m, files)
	if err != nil {
		return nil
	}
	var out []string
	for _, name := range []string{"Chart.yaml", "requirements.yaml"} {
		var doc struct {
			Dependencies []*v2.Dependency `json:"dependencies"`
		}
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || yaml.Unmarshal(text, &doc) != nil {
			continue
		}
		for _, d := range doc.Dependencies {
			to, isFolder := strings.CutPrefix(d.Repository, "file://")
			if !isFolder || filepath.IsAbs(to) {
				continue
			}
			full := filepath.Join(folder, filepath.FromSlash(to))
			if _, err := os.Stat(full); err == nil {
				continue
			}
			if below, err := filepath.Rel(files.Root, full); err == nil && filepath.IsLocal(below) {
				out = append(out, filepath.ToSlash(below))
			}
		}
	}
	return out
}
