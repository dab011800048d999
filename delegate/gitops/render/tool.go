package render

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
)

// tool is what renders a source.
type tool string

const (
	toolHelm      tool = "helm"
	toolKustomize tool = "kustomize"
	toolDirectory tool = "directory"
	toolPlugin    tool = "plugin"
)

// part is one source that is rendered.
type part struct {
	gitops.Source

	index    int // among the application's
	revision string
	files    *source.Files
	folder   source.File
}

// source renders one source.
func (j *job) source(ctx context.Context, i int) ([]*unstructured.Unstructured, error) {
	p := part{Source: j.Sources[i], index: i, revision: j.Revisions[i], files: j.files[i]}
	if p.Ref != "" && p.Path == "" && p.Chart == "" {
		return nil, nil // it has files for others
	}
	objects, err := j.part(ctx, &p)
	if err != nil {
		return nil, fault.Wrap(err, "%s at revision %s", p.files.URL, p.revision)
	}
	return objects, nil
}

func (j *job) part(ctx context.Context, p *part) ([]*unstructured.Unstructured, error) {
	if p.Chart != "" && p.Ref != "" {
		return nil, fault.New(fault.Invalid, "the source has both chart and ref; want one of them")
	}
	var err error
	if p.folder, err = p.files.Find(ctx, p.Path); err != nil {
		return nil, fault.Wrap(err, "path %q", p.Path)
	}
	if !p.folder.Folder {
		return nil, fault.New(fault.Invalid, "path %q is a file; want a folder", p.Path)
	}
	if err := j.override(ctx, p); err != nil {
		return nil, err
	}
	chosen, err := p.tool(ctx)
	if err != nil {
		return nil, err
	}
	switch chosen {
	case toolHelm:
		return j.helm(ctx, p)
	case toolKustomize:
		return j.kustomize(ctx, p)
	case toolDirectory:
		return j.directory(ctx, p)
	case toolPlugin:
	}
	return nil, fault.New(fault.Unsupported, "the source has a plugin; plugins can't be run yet")
}

// maxOverride is how many bytes a file of overrides may have.
const maxOverride = 1 << 20

// override lays the files of overrides in the folder over what the source says of
// its tool: those of all applications, then those of this one.
func (j *job) override(ctx context.Context, p *part) error {
	for _, name := range []string{".argocd-source.yaml", ".argocd-source-" + j.App + ".yaml"} {
		found, err := p.files.Find(ctx, path.Join(p.folder.Path, name))
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return err
		}
		texts, err := p.files.Read(ctx, maxOverride, found)
		if err != nil {
			return err
		}
		if err := p.merge(string(texts[0])); err != nil {
			return fault.Wrap(err, "%s", name)
		}
	}
	return nil
}

// merge lays a YAML text over the fields of the tools. A null takes a field away.
func (p *part) merge(text string) error {
	over, err := manifest.DecodeStrict(text)
	if err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	doc, err := json.Marshal(p.Source)
	if err != nil {
		return fmt.Errorf("encode the source: %w", err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(doc, &fields); err != nil {
		return fmt.Errorf("decode the source: %w", err)
	}
	for key := range over {
		if !slices.Contains([]tool{toolHelm, toolKustomize, toolDirectory, toolPlugin}, tool(key)) {
			return fault.New(fault.Invalid, "found the field %s; want helm, kustomize, directory or plugin", key)
		}
	}
	manifest.Merge(fields, over)
	if doc, err = json.Marshal(fields); err != nil {
		return fmt.Errorf("encode the source: %w", err)
	}
	var merged gitops.Source
	d := json.NewDecoder(bytes.NewReader(doc))
	d.DisallowUnknownFields()
	if err := d.Decode(&merged); err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	p.Source = merged
	return nil
}

// tool is what the source asks for, or else what its folder looks like.
func (p *part) tool(ctx context.Context) (tool, error) {
	var asked []string
	for _, t := range []struct {
		tool  tool
		asked bool
	}{
		{toolHelm, p.Chart != "" || given(p.Helm)}, {toolKustomize, given(p.Kustomize)}, {toolDirectory, given(p.Directory)}, {toolPlugin, p.Plugin != nil},
	} {
		if t.asked {
			asked = append(asked, string(t.tool))
		}
	}
	switch len(asked) {
	case 0:
	case 1:
		return tool(asked[0]), nil
	default:
		return "", fault.New(fault.Invalid, "the source has the fields %s; want at most one of them", strings.Join(asked, " and "))
	}
	for _, sign := range []struct {
		name string
		tool tool
	}{{"Chart.yaml", toolHelm}, {"kustomization.yaml", toolKustomize}, {"kustomization.yml", toolKustomize}, {"Kustomization", toolKustomize}} {
		_, err := p.files.Find(ctx, path.Join(p.folder.Path, sign.name))
		if err == nil {
			return sign.tool, nil
		}
		if !fault.Is(err, fault.NotFound) {
			return "", err
		}
	}
	return toolDirectory, nil
}

// given says whether fields of a tool are there, and anything is in them.
func given[T any](fields *T) bool { return fields != nil && !reflect.ValueOf(fields).Elem().IsZero() }
