// Package kustomize builds manifests from Kustomize folders, with Kustomize's
// own library (semantics/kubernetes §4.4).
//
// It runs no plugins and no helm command, and applies nothing: what it builds
// is deployed by delegate/kubernetes.
package kustomize

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// Builder builds for one task.
type Builder struct {
	Dir func() (string, error) // the task's scratch directory
}

// Build makes manifests of the folder of a manifest, or of path below the
// repository's root if it isn't empty. Patches replace the
// patchesStrategicMerge of the kustomization; without any, the files are taken
// as they are.
func (b Builder) Build(m *origin.Manifest, files manifest.Files, path string, patches []manifest.File) (string, error) {
	folder, err := folderOf(m, files, path)
	if err != nil {
		return "", err
	}
	scratch, err := b.Dir()
	if err != nil {
		return "", err
	}
	if len(patches) > 0 {
		if folder, err = patched(scratch, files.Root, folder, patches); err != nil {
			return "", err
		}
	}
	flags, err := origin.ParseKustomizeFlags(m.Kustomize.Flags())
	if err != nil {
		return "", err
	}
	options := krusty.MakeDefaultOptions()
	if flags.AnyPlace {
		options.LoadRestrictions = types.LoadRestrictionsNone
	}
	if flags.Legacy {
		options.Reorder = krusty.ReorderOptionLegacy
	}
	disk, err := confine(files.Root, scratch)
	if err != nil {
		return "", err
	}
	built, err := krusty.MakeKustomizer(options).Run(disk, folder)
	if err != nil {
		return "", fault.New(fault.Invalid, "kustomize: %w", err)
	}
	text, err := built.AsYaml()
	if err != nil {
		return "", fault.New(fault.Invalid, "kustomize: %w", err)
	}
	return string(text), nil
}

// folderOf is the folder with the kustomization: the overlay below the
// manifest's folder, if it names one.
func folderOf(m *origin.Manifest, files manifest.Files, path string) (string, error) {
	overlay := ""
	if m.Kustomize != nil {
		overlay = m.Kustomize.Overlay
	}
	if path != "" && filepath.Clean(path) != filepath.Clean(overlay) {
		folder, err := manifest.Inside(files.Root, path)
		if err != nil {
			return "", fault.Wrap(err, "folder %q", path)
		}
		return folder, nil
	}
	below, err := filepath.Rel(files.Root, filepath.Join(files.Folder, filepath.FromSlash(overlay)))
	if err != nil {
		return "", err
	}
	folder, err := manifest.Inside(files.Root, below)
	if err != nil {
		return "", fault.Wrap(err, "kustomizeYamlFolderPath %q", overlay)
	}
	return folder, nil
}

// patched copies the repository, which others use, too, and has the copy's
// kustomization apply the patches.
func patched(scratch, root, folder string, patches []manifest.File) (string, error) {
	work, err := os.MkdirTemp(scratch, "kustomize-")
	if err != nil {
		return "", fmt.Errorf("make a folder for the patches: %w", err)
	}
	to := filepath.Join(work, "files")
	if err := os.CopyFS(to, os.DirFS(root)); err != nil {
		return "", fmt.Errorf("copy the repository: %w", err)
	}
	below, err := filepath.Rel(root, folder)
	if err != nil {
		return "", err
	}
	folder = filepath.Join(to, below)
	var names []string
	for i, p := range patches {
		name := fmt.Sprintf("slipway-patch-%d.yaml", i+1)
		if err := os.WriteFile(filepath.Join(folder, name), []byte(p.Text), 0o600); err != nil {
			return "", fmt.Errorf("write a patch: %w", err)
		}
		names = append(names, name)
	}
	return folder, setPatches(folder, names)
}

// setPatches rewrites the kustomization of a folder.
func setPatches(folder string, names []string) error {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		path := filepath.Join(folder, name)
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var doc map[string]any
		if err := yaml.Unmarshal(text, &doc); err != nil {
			return fault.New(fault.Invalid, "%s: %w", name, err)
		}
		if doc == nil {
			doc = map[string]any{}
		}
		doc["patchesStrategicMerge"] = names
		if text, err = yaml.Marshal(doc); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		return os.WriteFile(path, text, 0o600)
	}
	return fault.New(fault.NotFound, "the folder has no kustomization.yaml")
}
