package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/delegate/kustomize"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/delegate/openshift"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// What is made in a sandbox.
const (
	verbManifests = "kubernetes manifests"
	verbKustomize = "kubernetes kustomize"
	verbOpenshift = "kubernetes openshift"
	verbChart     = "kubernetes chart"
)

// Verbs are what this package has a sandbox do: make objects of manifests of
// every kind.
func Verbs() sandbox.Verbs {
	return sandbox.Verbs{verbManifests: manifestsVerb, verbKustomize: kustomizeVerb, verbOpenshift: openshiftVerb, verbChart: chartVerb}
}

// made is what all verbs answer: objects.
type made struct {
	Objects json.RawMessage `json:"objects"`
}

func madeOf(objects []*unstructured.Unstructured, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	all := make([]map[string]any, len(objects))
	for i, o := range objects {
		all[i] = o.Object
	}
	doc, err := json.Marshal(all)
	return made{doc}, err
}

// make has the sandbox do a piece of work.
func (r *renderer) make(ctx context.Context, w sandbox.Work) ([]*unstructured.Unstructured, error) {
	var got made
	if err := r.sandbox.Run(ctx, w, &got); err != nil {
		return nil, err
	}
	var all []map[string]any
	if err := utiljson.Unmarshal(got.Objects, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", w.What, err)
	}
	out := make([]*unstructured.Unstructured, len(all))
	for i, o := range all {
		out[i] = &unstructured.Unstructured{Object: o}
	}
	return out, nil
}

// bare is a manifest without the place that it is from, whose credentials are
// nothing to a sandbox.
func bare(m *origin.Manifest) *origin.Manifest {
	out := *m
	out.Store = task.Store{}
	return &out
}

type manifestsWork struct {
	Files  []manifest.File `json:"files"`
	Values manifest.Tree   `json:"values"`
	Plain  bool            `json:"plain"` // no templates
}

// render makes objects of manifest files.
func (r *renderer) render(ctx context.Context, files []manifest.File, values map[string]any, plain bool) ([]*unstructured.Unstructured, error) {
	return r.make(ctx, sandbox.Work{
		Verb: verbManifests, What: "rendering the manifests", Log: r.env.Log(unitInitialize), Request: manifestsWork{files, values, plain},
	})
}

func manifestsVerb(_ context.Context, c sandbox.Call) (any, error) {
	w, err := sandbox.Decode[manifestsWork](c)
	if err != nil {
		return nil, err
	}
	return madeOf(render(w.Files, w.Values, w.Plain))
}

type kustomizeWork struct {
	Manifest *origin.Manifest `json:"manifest"`
	Files    manifest.Files   `json:"files"`
	Paths    []string         `json:"paths"`
	Patches  []manifest.File  `json:"patches"`
	Dir      string           `json:"dir"`
}

func kustomizeVerb(_ context.Context, c sandbox.Call) (any, error) {
	w, err := sandbox.Decode[kustomizeWork](c)
	if err != nil {
		return nil, err
	}
	if err := os.Setenv("TMPDIR", w.Dir); err != nil { // where bases of other repositories come
		return nil, err
	}
	b := kustomize.Builder{Dir: func() (string, error) { return w.Dir, nil }}
	var out []*unstructured.Unstructured
	for _, p := range w.Paths {
		text, err := b.Build(w.Manifest, w.Files, p, w.Patches)
		if err != nil {
			return nil, err
		}
		objects, err := parse("kustomize", text)
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	return madeOf(out, unique(out))
}

type openshiftWork struct {
	File   manifest.File     `json:"file"`
	Params map[string]string `json:"params"`
	Seed   []byte            `json:"seed"` // of the stage
}

// askHide has the parent keep a generated value out of the log.
const askHide = "hide"

func openshiftVerb(_ context.Context, c sandbox.Call) (any, error) {
	w, err := sandbox.Decode[openshiftWork](c)
	if err != nil {
		return nil, err
	}
	var hideErr error
	p := openshift.Processor{
		Random: func(parameter string) io.Reader { return random(w.Seed, parameter) },
		Generated: func(value string) {
			if err := c.Ask(askHide, value, new(bool)); err != nil {
				hideErr = err
			}
		},
	}
	text, err := p.Process(w.File, w.Params)
	if err == nil {
		err = hideErr
	}
	if err != nil {
		return nil, err
	}
	objects, err := parse(w.File.Name, text)
	if err != nil {
		return nil, err
	}
	return madeOf(objects, unique(objects))
}

type chartWork struct {
	Job chart.Job `json:"job"`
	All bool      `json:"all"` // also the templates that ask to be left out
}

func chartVerb(ctx context.Context, c sandbox.Call) (any, error) {
	w, err := sandbox.Decode[chartWork](c)
	if err != nil {
		return nil, err
	}
	loaded, _, err := w.Job.Read(ctx, c.Log)
	if err != nil {
		return nil, err
	}
	leftOut := map[string]bool{}
	if !w.All {
		leaveOut(loaded, leftOut)
	}
	text, err := w.Job.Template(ctx, loaded, c.Log)
	if err != nil {
		return nil, err
	}
	return madeOf(renderedObjects(text, leftOut))
}
