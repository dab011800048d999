package entity

import (
	"fmt"
	"regexp"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// FileReference is a file or a folder of the file store that a document names.
type FileReference struct {
	File ref.File
	Text string // as written
	At   yamldoc.Pos
}

var fileCall = regexp.MustCompile(`fileStore\.getAs(?:String|Base64)\(\s*["']([^"'<>]+)["']\s*\)`)

// storedFiles notes the files that a part of a document names: a store or a
// script's source of the type Harness, {type, spec}, and the paths beside a
// manifest's store.
func (d *decoder) storedFiles(v yamldoc.Value) {
	if spec := v.Node.Get("spec"); document.Peek(v, "type") == filesource.Harness && spec != nil {
		inner := document.At(v, "spec", spec)
		d.filesAt(inner, "files")
		d.filesAt(inner, "file")
	}
	store := v.Node.Get("store")
	if store == nil || document.Peek(document.At(v, "store", store), "type") != filesource.Harness || document.Peek(v, "optionalValuesYaml") == "true" {
		return
	}
	d.filesAt(v, "valuesPaths")
	d.filesAt(v, "patchesPaths")
}

// filesAt notes a key's path, or the paths in its list.
func (d *decoder) filesAt(v yamldoc.Value, key string) {
	n := v.Node.Get(key)
	if n == nil {
		return
	}
	place := document.At(v, key, n)
	if place.Is(yamldoc.Scalar) {
		d.storedFile(place, n.Value)
		return
	}
	for i, item := range n.Items {
		d.storedFile(yamldoc.Sub(item, fmt.Sprintf("%s[%d]", place.Path, i)), item.Value)
	}
}

// storedFile notes a path. One with an expression isn't known yet, and a
// project's of a document that isn't a project's is whichever uses it.
func (d *decoder) storedFile(v yamldoc.Value, text string) {
	f, err := ref.ParseFile(text, d.Scope)
	if err != nil || f.Scope == d.Scope && d.Scope.Project == "" {
		return // what is wrong with it is said where it is decoded
	}
	d.stored = append(d.stored, FileReference{File: f, Text: text, At: v.Pos(d.Report)})
}
