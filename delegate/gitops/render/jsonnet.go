package render

import (
	"context"
	"encoding/json"
	"fmt"
	"path"

	"github.com/google/go-jsonnet"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
)

// jsonnetWork is a Jsonnet file that is to be evaluated.
type jsonnetWork struct {
	Path string         `json:"path"` // from the topmost folder
	With gitops.Jsonnet `json:"with"`
}

// jsonnet evaluates a Jsonnet file.
func (j *job) jsonnet(ctx context.Context, p *part, with *gitops.Jsonnet, file source.File) ([]*unstructured.Unstructured, error) {
	w := jsonnetWork{Path: file.Path}
	if with != nil {
		w.With.Libs = with.Libs
		w.With.ExtVars, w.With.TLAs = j.jsonnetVars(p, with.ExtVars), j.jsonnetVars(p, with.TLAs)
	}
	objects, got, err := j.make(ctx, sandbox.Work{Verb: verbJsonnet, What: "evaluating " + file.Path, Request: w, Log: discard, Asked: j.answer(p.files)})
	if err != nil {
		return nil, err
	}
	return objects, p.files.Touch(ctx, got.Read)
}

func (j *job) jsonnetVars(p *part, vars []gitops.JsonnetVar) []gitops.JsonnetVar {
	var out []gitops.JsonnetVar
	for _, v := range vars {
		v.Value = j.substitute(p, v.Value)
		out = append(out, v)
	}
	return out
}

func jsonnetVerb(_ context.Context, c sandbox.Call) (any, error) {
	w, err := sandbox.Decode[jsonnetWork](c)
	if err != nil {
		return nil, err
	}
	files := newAsked(c)
	vm := jsonnet.MakeVM()
	vm.Importer(&importer{files: files, libs: w.With.Libs, texts: map[string]jsonnet.Contents{}})
	for _, v := range w.With.ExtVars {
		if v.Code {
			vm.ExtCode(v.Name, v.Value)
		} else {
			vm.ExtVar(v.Name, v.Value)
		}
	}
	for _, v := range w.With.TLAs {
		if v.Code {
			vm.TLACode(v.Name, v.Value)
		} else {
			vm.TLAVar(v.Name, v.Value)
		}
	}
	text, err := vm.EvaluateFile(w.Path)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s: %w", w.Path, err)
	}
	objects, err := flattened(w.Path, []byte(text))
	if err != nil {
		return nil, err
	}
	out, err := madeOf(objects)
	out.Read = files.read()
	return out, err
}

// flattened gives the objects of a text of JSON: one, or those of lists.
func flattened(name string, text []byte) ([]*unstructured.Unstructured, error) {
	var list []json.RawMessage
	if json.Unmarshal(text, &list) != nil {
		return manifest.Objects(name, string(text), manifest.Decode)
	}
	var out []*unstructured.Unstructured
	for _, one := range list {
		objects, err := flattened(name, one)
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	return out, nil
}

// importer finds what Jsonnet files import: beside them, or else in the libraries.
type importer struct {
	files *asked
	libs  []string
	texts map[string]jsonnet.Contents // by path; Jsonnet wants the same each time
}

// Import gives a file (jsonnet.Importer).
func (i *importer) Import(from, name string) (jsonnet.Contents, string, error) {
	candidates := []string{path.Join(path.Dir(from), name)}
	for _, lib := range i.libs {
		candidates = append(candidates, path.Join("/", lib, name))
	}
	for _, at := range candidates {
		found, err := i.files.find(at)
		if err != nil {
			return jsonnet.Contents{}, "", err
		}
		if found == nil || found.Folder {
			continue
		}
		if _, ok := i.texts[found.Path]; !ok {
			i.texts[found.Path] = jsonnet.MakeContentsRaw(found.Text)
		}
		return i.texts[found.Path], found.Path, nil
	}
	return jsonnet.Contents{}, "", fmt.Errorf("there is no file %s, neither beside %s nor in the libraries", name, from)
}
