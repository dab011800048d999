package kubernetes

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// kustomize builds the objects of a Kustomize manifest, or of other folders of
// its repository.
func (r *renderer) kustomize(ctx context.Context, m *origin.Manifest, paths []string) ([]*unstructured.Unstructured, error) {
	source := r.source()
	files, err := source.Fetch(ctx, m)
	if err != nil {
		return nil, err
	}
	patches, err := source.Patches(ctx, m, files, slices.Concat(r.p.Target.Patches, r.p.ApplyPatches))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		paths = []string{""}
	}
	dir, err := r.env.Dir()
	if err != nil {
		return nil, err
	}
	return r.make(ctx, sandbox.Work{
		Verb: verbKustomize, What: "building the kustomization of " + m.ID, Log: r.env.Log(unitInitialize),
		Request: kustomizeWork{bare(m), files, paths, patches, dir},
	})
}

// built renders a manifest that a tool makes objects of; ok is false for plain
// manifests. paths are files of a chart or folders of kustomizations; nil: all
// that a deployment takes.
func (r *renderer) built(ctx context.Context, m *origin.Manifest, paths []string, over []origin.ValuesFile) (objects []*unstructured.Unstructured, ok bool, err error) {
	if m == nil || m.Type == origin.PlainManifest {
		return nil, false, nil
	}
	if r.p.SkipRendering {
		return nil, true, fault.New(fault.Invalid, "skipRendering is for plain manifests; a %s is none until it is rendered", m.Type)
	}
	switch m.Type {
	case origin.Kustomization:
		objects, err = r.kustomize(ctx, m, paths)
	case origin.OpenshiftTemplate:
		objects, err = r.openshift(ctx, m, paths)
	case origin.HelmChart:
		objects, err = r.chart(ctx, m, paths, over)
	default:
		err = fault.New(fault.Unsupported, "manifest %s is a %s, which isn't known to this delegate", m.ID, m.Type)
	}
	return objects, true, err
}

// builtChosen is built for steps that choose files.
func (r *renderer) builtChosen(ctx context.Context, m *origin.Manifest, paths []string, everything bool) ([]*unstructured.Unstructured, bool, error) {
	if everything {
		paths = []string{}
	}
	objects, ok, err := r.built(ctx, m, slices.Clip(paths), r.p.ApplyValues)
	if !ok || err != nil {
		return nil, ok, err
	}
	if len(objects) == 0 {
		return nil, true, fault.New(fault.Invalid, "manifest %s renders to nothing", m.ID)
	}
	return sorted(objects), true, r.place(objects)
}
