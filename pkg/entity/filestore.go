package entity

import (
	"fmt"
	"iter"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// storeHarness is the file store.
const storeHarness = "Harness"

// scriptIn decodes the spec of a script's source by the source's type: a script
// that stands there under one key, or a file of the file store under another.
func (d *decoder) scriptIn(source yamldoc.Value, inline string, script func(yamldoc.Value), stored string, file func(yamldoc.Value)) func(yamldoc.Value) {
	typ := document.Peek(source, "type")
	return func(v yamldoc.Value) {
		switch typ {
		case storeInline:
			d.Fields(v, document.Keys{inline: script})
			d.Need(v, inline)
		case storeHarness:
			d.Fields(v, document.Keys{stored: file})
			d.Need(v, stored)
		}
	}
}

// FileStore names files of the file store, or files that are kept as secrets
// (semantics/entities §2.4).
type FileStore struct {
	Files   yamldoc.Field[[]string] // or folders
	Secrets yamldoc.Field[[]string]
}

// fileStore decodes the spec of a store of files. A chart and a kustomization
// are one folder.
func (d *decoder) fileStore(v yamldoc.Value, manifest string, f *FileStore) {
	folder := manifest == ManifestHelm || manifest == ManifestKustomize
	known := document.Keys{
		"files": d.files(&f.Files),
		"file": func(v yamldoc.Value) { // as Harness's schema has it
			var one yamldoc.Field[string]
			d.file(&one)(v)
			f.Files = yamldoc.Field[[]string]{Value: []string{one.Value}, At: one.At, Set: one.Set}
		},
	}
	if !folder {
		known["secretFiles"] = func(v yamldoc.Value) {
			f.Secrets = d.Strings(v)
			for item := range literals(v) {
				d.refer(ref.Secret, item, item.Node.Value)
			}
		}
	}
	d.Fields(v, known)
	if folder {
		d.OneOf(v, "files", "file")
	} else {
		d.OneOf(v, "files", "file", "secretFiles")
	}
	for _, key := range []string{"files", "secretFiles"} {
		list := document.Child(v, key)
		if folder && list.Is(yamldoc.Sequence) && len(list.Node.Items) > 1 {
			d.Errorf(list, document.Ambiguous, "found %d files; a %s is one folder", len(list.Node.Items), manifest)
		}
		if document.Neutral(v.Node.Get("files")) && document.Neutral(v.Node.Get("file")) && document.Neutral(v.Node.Get("secretFiles")) {
			d.empty(list, "found no %s: a run finds no files", key)
		}
	}
}

// files binds a list of files or folders of the file store.
func (d *decoder) files(f *yamldoc.Field[[]string]) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		*f = d.Strings(v)
		for item := range literals(v) {
			if _, err := ref.ParseFile(item.Node.Value, d.scope); err != nil {
				d.Errorf(item, badReference, "%s", err)
			}
		}
	}
}

// file binds a file of the file store.
func (d *decoder) file(f *yamldoc.Field[string]) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		*f = d.String(v)
		if f.Value == "" {
			return
		}
		if _, err := ref.ParseFile(f.Value, d.scope); err != nil {
			d.Errorf(v, badReference, "%s", err)
		}
	}
}

// literals are the items of a list that are texts without expressions.
func literals(v yamldoc.Value) iter.Seq[yamldoc.Value] {
	return func(yield func(yamldoc.Value) bool) {
		if !v.Is(yamldoc.Sequence) {
			return
		}
		for i, n := range v.Node.Items {
			item := yamldoc.Sub(n, fmt.Sprintf("%s[%d]", v.Path, i))
			if item.Is(yamldoc.Scalar) && n.Value != "" && !strings.Contains(n.Value, "<+") && !yield(item) {
				return
			}
		}
	}
}
