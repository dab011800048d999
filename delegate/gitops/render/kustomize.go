package render

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
)

// kustomizeWork is a folder that is to be built, with what the source sets in its
// kustomization.
type kustomizeWork struct {
	Folder string           `json:"folder"` // from the topmost one
	Fields gitops.Kustomize `json:"fields"`
}

// kustomize builds a Kustomize folder.
func (j *job) kustomize(ctx context.Context, p *part) ([]*unstructured.Unstructured, error) {
	w := kustomizeWork{Folder: p.folder.Path}
	if p.Kustomize != nil {
		w.Fields = *p.Kustomize
	}
	if w.Fields.Version != "" {
		return nil, fault.New(fault.Unsupported, "kustomize.version is %s; folders are built with the version that is part of the agent, so leave it out", w.Fields.Version)
	}
	if w.Fields.CommonAnnotationsEnvsubst {
		w.Fields.CommonAnnotations = maps.Clone(w.Fields.CommonAnnotations)
		for key, value := range w.Fields.CommonAnnotations {
			w.Fields.CommonAnnotations[key] = j.substitute(p, value)
		}
	}
	objects, got, err := j.make(ctx, sandbox.Work{Verb: verbKustomize, What: "building " + p.folder.Path, Request: w, Log: discard, Asked: j.answer(p.files)})
	if err != nil {
		return nil, err
	}
	return objects, p.files.Touch(ctx, got.Read)
}

func kustomizeVerb(_ context.Context, c sandbox.Call) (any, error) {
	w, err := sandbox.Decode[kustomizeWork](c)
	if err != nil {
		return nil, err
	}
	disk := &sourceFiles{FileSystem: filesys.MakeFsInMemory(), files: newAsked(c), over: map[string][]byte{}}
	top := path.Join("/", w.Folder)
	if err := disk.edit(top, &w.Fields); err != nil {
		return nil, err
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, top)
	if disk.err != nil {
		return nil, disk.err
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "kustomize: %w", err)
	}
	text, err := built.AsYaml()
	if err != nil {
		return nil, fault.New(fault.Invalid, "kustomize: %w", err)
	}
	objects, err := manifest.Objects("kustomize", string(text), manifest.Decode)
	if err != nil {
		return nil, err
	}
	out, err := madeOf(objects)
	out.Read = disk.files.read()
	return out, err
}

// sourceFiles are the files of a source as Kustomize reads them: below the root
// folder, and nothing but them.
type sourceFiles struct {
	filesys.FileSystem // empty: what Kustomize doesn't do with files

	files *asked
	over  map[string][]byte // what stands for the text of a file
	err   error             // what Kustomize would take for a file that isn't there
}

func (d *sourceFiles) find(at string) *seenFile {
	found, err := d.files.find(at)
	if err != nil && d.err == nil {
		d.err = err
	}
	return found
}

// ReadFile reads a file (filesys.FileSystem).
func (d *sourceFiles) ReadFile(at string) ([]byte, error) {
	if text, ok := d.over[path.Clean(at)]; ok {
		return text, nil
	}
	found := d.find(at)
	if found == nil || found.Folder {
		return nil, &fs.PathError{Op: "read", Path: at, Err: fs.ErrNotExist}
	}
	if slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(at)) {
		text, err := d.local(at, found.Text)
		if err != nil && d.err == nil {
			d.err = err
		}
		return text, nil
	}
	return found.Text, nil
}

// CleanedAbs finds a folder, or the folder and the name of a file
// (filesys.FileSystem).
func (d *sourceFiles) CleanedAbs(at string) (filesys.ConfirmedDir, string, error) {
	found := d.find(at)
	switch {
	case found == nil:
		return "", "", fmt.Errorf("there is no file or folder %s", at)
	case found.Folder:
		return filesys.ConfirmedDir(path.Join("/", found.Path)), "", nil
	}
	return filesys.ConfirmedDir(path.Join("/", path.Dir(found.Path))), path.Base(found.Path), nil
}

// Exists says whether there is something at a path (filesys.FileSystem).
func (d *sourceFiles) Exists(at string) bool { return d.find(at) != nil }

// IsDir says whether there is a folder at a path (filesys.FileSystem).
func (d *sourceFiles) IsDir(at string) bool {
	found := d.find(at)
	return found != nil && found.Folder
}

// local brings the bases of other repositories that a kustomization names, and gives
// it with the paths at which they stand.
func (d *sourceFiles) local(at string, text []byte) ([]byte, error) {
	var doc map[string]any
	if yaml.Unmarshal(text, &doc) != nil {
		return text, nil // which its reader reports
	}
	changed := false
	for _, field := range []string{"resources", "bases", "components"} {
		list, _ := doc[field].([]any)
		for i, one := range list {
			entry, isText := one.(string)
			if !isText || !isRemote(entry) {
				continue
			}
			var place string
			if err := d.files.call.Ask(askRemote, entry, &place); err != nil {
				return nil, fault.Wrap(err, "%s names %s", at, entry)
			}
			below, err := filepath.Rel(path.Join("/", path.Dir(at)), path.Join("/", place))
			if err != nil {
				return nil, err
			}
			list[i], changed = filepath.ToSlash(below), true
			delete(d.files.folders, remotes)
		}
	}
	if !changed {
		return text, nil
	}
	return yaml.Marshal(doc)
}

// edit puts into the kustomization of a folder what the source sets, as "kustomize
// edit" does.
func (d *sourceFiles) edit(top string, f *gitops.Kustomize) error {
	if !given(f) {
		return nil
	}
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		at := path.Join(top, name)
		found, err := d.files.find(at)
		if err != nil {
			return err
		}
		if found == nil || found.Folder {
			continue
		}
		var k types.Kustomization
		text, err := d.local(at, found.Text)
		if err != nil {
			return err
		}
		if err := k.Unmarshal(text); err != nil {
			return fault.New(fault.Invalid, "%s: %w", at, err)
		}
		if err := d.set(&k, top, f); err != nil {
			return err
		}
		if d.over[at], err = yaml.Marshal(k); err != nil {
			return fmt.Errorf("write %s: %w", at, err)
		}
		return nil
	}
	return fault.New(fault.NotFound, "the folder %s has no kustomization.yaml", top)
}

// set sets fields of a kustomization.
func (d *sourceFiles) set(k *types.Kustomization, top string, f *gitops.Kustomize) error {
	if f.NamePrefix != "" {
		k.NamePrefix = f.NamePrefix
	}
	if f.NameSuffix != "" {
		k.NameSuffix = f.NameSuffix
	}
	if f.Namespace != "" {
		k.Namespace = f.Namespace
	}
	for _, text := range f.Images {
		setImage(k, text)
	}
	for _, r := range f.Replicas {
		n, err := strconv.ParseInt(strings.Trim(string(r.Count), `"`), 10, 64)
		if err != nil {
			return fault.New(fault.Invalid, "kustomize.replicas of %s is %s; want a number", r.Name, r.Count)
		}
		k.Replicas = slices.DeleteFunc(k.Replicas, func(has types.Replica) bool { return has.Name == r.Name })
		k.Replicas = append(k.Replicas, types.Replica{Name: r.Name, Count: n})
	}
	for i, p := range f.Patches {
		one, err := patch(p)
		if err != nil {
			return fault.Wrap(err, "kustomize.patches[%d]", i)
		}
		k.Patches = append(k.Patches, one)
	}
	for _, c := range f.Components {
		if f.IgnoreMissingComponents && d.find(path.Join(top, c)) == nil {
			continue
		}
		k.Components = append(k.Components, c)
	}
	if f.LabelWithoutSelector && len(f.CommonLabels) > 0 {
		for _, has := range k.Labels {
			for key := range f.CommonLabels {
				if _, twice := has.Pairs[key]; twice && !f.ForceCommonLabels {
					return fault.New(fault.Invalid, "kustomize.commonLabels: the kustomization has the label %s already; want forceCommonLabels to replace it", key)
				}
				delete(has.Pairs, key)
			}
		}
		k.Labels = append(k.Labels, types.Label{Pairs: f.CommonLabels, IncludeTemplates: f.LabelIncludeTemplates})
	} else if err := lay(&k.CommonLabels, f.CommonLabels, f.ForceCommonLabels, "commonLabels", "forceCommonLabels"); err != nil { //nolint:staticcheck // it is what Argo CD's commonLabels set
		return err
	}
	return lay(&k.CommonAnnotations, f.CommonAnnotations, f.ForceCommonAnnotations, "commonAnnotations", "forceCommonAnnotations")
}

// lay lays texts over those that a kustomization has, which must be others unless
// they are to be replaced.
func lay(has *map[string]string, more map[string]string, force bool, field, forced string) error {
	out := maps.Clone(*has)
	if out == nil && len(more) > 0 {
		out = map[string]string{}
	}
	for _, key := range slices.Sorted(maps.Keys(more)) {
		if _, twice := out[key]; twice && !force {
			return fault.New(fault.Invalid, "kustomize.%s: the kustomization has %s already; want %s to replace it", field, key, forced)
		}
		out[key] = more[key]
	}
	*has = out
	return nil
}

// setImage sets what an image becomes: name:tag, name@digest, or one of them behind
// name= for another image. A star keeps what the kustomization has.
func setImage(k *types.Kustomization, text string) {
	name, to, renamed := strings.Cut(text, "=")
	if !renamed {
		to = text
	}
	base, digest, _ := strings.Cut(to, "@")
	tag := ""
	if i := strings.LastIndex(base, ":"); i > strings.LastIndex(base, "/") {
		base, tag = base[:i], base[i+1:]
	}
	image := types.Image{Name: base, NewTag: tag, Digest: digest}
	if renamed {
		image.Name, image.NewName = name, base
	}
	if digest != "" {
		image.NewTag = ""
	}
	for _, has := range k.Images {
		if has.Name != image.Name {
			continue
		}
		if image.NewName == "*" {
			image.NewName = has.NewName
		}
		if image.NewTag == "*" {
			image.NewTag, image.Digest = has.NewTag, has.Digest
		}
	}
	k.Images = slices.DeleteFunc(k.Images, func(has types.Image) bool { return has.Name == image.Name })
	k.Images = append(k.Images, image)
}

// patch is a patch as Kustomize has it.
func patch(p gitops.KustomizePatch) (types.Patch, error) {
	out := types.Patch{Path: p.Path, Patch: p.Patch}
	if t := p.Target; t != nil {
		out.Target = &types.Selector{
			ResId:         resid.ResId{Gvk: resid.Gvk{Group: t.Group, Version: t.Version, Kind: t.Kind}, Name: t.Name, Namespace: t.Namespace},
			LabelSelector: t.LabelSelector, AnnotationSelector: t.AnnotationSelector,
		}
	}
	if len(p.Options) > 0 {
		doc, err := json.Marshal(p.Options)
		if err != nil {
			return out, fmt.Errorf("encode the options: %w", err)
		}
		out.Options = &types.PatchArgs{}
		if err := yaml.UnmarshalStrict(doc, out.Options); err != nil {
			return out, fault.New(fault.Invalid, "options: %w", err)
		}
	}
	return out, nil
}
