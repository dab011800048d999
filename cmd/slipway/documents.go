package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// document is one document of a file, byte for byte.
type document struct {
	file   string
	before int // lines of the file above it
	yaml   []byte
	node   *yamldoc.Node
	entity *entity.Entity
}

// place moves a finding's line from the document to its file. One about what
// a template brought is the template's.
func (d document) place(f fault.Detail) fault.Detail {
	if f.File != "" && f.File != d.file {
		return f
	}
	if f.Line > 0 {
		f.Line += d.before
	}
	f.File = d.file
	return f
}

// scope is where a document goes: where it says, unless flags say otherwise.
func (d document) scope(a *app, otherwise ref.Scope) ref.Scope {
	if a.changed("org") || a.changed("project") {
		return otherwise
	}
	for _, e := range d.node.Entries {
		org, project := textOf(e.Value.Get("orgIdentifier")), textOf(e.Value.Get("projectIdentifier"))
		if org != "" {
			return ref.Scope{Org: org, Project: project}
		}
	}
	return otherwise
}

func textOf(n *yamldoc.Node) string {
	if n == nil {
		return ""
	}
	return n.Value
}

// readDocuments reads files, folders (their .yaml and .yml files, at any
// depth) and, as "-", the standard input. What is no YAML is in the findings.
func readDocuments(stdin io.Reader, paths []string) ([]document, []fault.Detail, error) {
	var docs []document
	var wrong []fault.Detail
	for _, path := range paths {
		files, err := yamlFiles(path)
		if err != nil {
			return nil, nil, err
		}
		for _, file := range files {
			data, err := readFile(stdin, file)
			if err != nil {
				return nil, nil, err
			}
			some, bad := split(file, data)
			docs, wrong = append(docs, some...), append(wrong, bad...)
		}
	}
	if len(docs) == 0 && len(wrong) == 0 {
		return nil, nil, fault.New(fault.Invalid, "found no documents in %s; want YAML files", strings.Join(paths, ", "))
	}
	return docs, wrong, nil
}

func yamlFiles(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		if ext := filepath.Ext(p); err == nil && !e.IsDir() && (ext == ".yaml" || ext == ".yml") {
			files = append(files, p)
		}
		return err
	})
	return files, err
}

func readFile(stdin io.Reader, file string) ([]byte, error) {
	if file != "-" {
		return os.ReadFile(file)
	}
	data, err := io.ReadAll(stdin)
	if err != nil {
		return nil, fmt.Errorf("read the standard input: %w", err)
	}
	return data, nil
}

// split cuts a file at its document marks. Lines that begin with --- are
// marks even within a text, so no parser is needed to find them.
func split(file string, data []byte) (docs []document, wrong []fault.Detail) {
	if file == "-" {
		file = "stdin"
	}
	part := document{file: file}
	line := 0
	end := func() {
		nodes, report := yamldoc.Parse(file, part.yaml)
		for _, f := range report.Details() {
			wrong = append(wrong, part.place(f))
		}
		if len(nodes) == 1 && nodes[0].Kind != yamldoc.Null {
			part.node = nodes[0]
			docs = append(docs, part)
		}
	}
	for text := range bytes.Lines(data) {
		line++
		if mark := bytes.TrimRight(text, " \t\r\n"); string(mark) == "---" {
			end()
			part = document{file: file, before: line}
			continue
		}
		part.yaml = append(part.yaml, text...)
	}
	end()
	return docs, wrong
}

// entitiesOf are the documents' entities, as far as they could be read.
func entitiesOf(docs []document) []*entity.Entity {
	var out []*entity.Entity
	for _, d := range docs {
		if d.entity != nil {
			out = append(out, d.entity)
		}
	}
	return out
}

// order puts documents so that what is named comes before what names it.
func order(docs []document) {
	within := nesting{docs: docs, known: map[*entity.Entity]int{}}
	rank := func(d document) int {
		if d.entity == nil {
			return -1
		}
		return slices.Index(ref.Kinds(), d.entity.Kind)
	}
	slices.SortStableFunc(docs, func(a, b document) int {
		return cmp.Or(rank(a)-rank(b), within.of(a.entity)-within.of(b.entity))
	})
}

// nesting is how deep templates are nested in others among documents.
type nesting struct {
	docs  []document
	known map[*entity.Entity]int
}

// of is how many levels of templates an entity's template is made of.
func (n nesting) of(e *entity.Entity) int {
	if e == nil || e.Template == nil {
		return 0
	}
	if deep, ok := n.known[e]; ok {
		return deep
	}
	n.known[e] = 0 // of a circle, which is refused elsewhere
	deepest := 0
	for _, r := range e.References {
		if inner := n.find(r); inner != nil {
			deepest = max(deepest, 1+n.of(inner))
		}
	}
	n.known[e] = deepest
	return deepest
}

// find is the template that a reference names, if it is among the documents.
func (n nesting) find(r entity.Reference) *entity.Entity {
	id, label := template.SplitID(r.Ref.ID)
	for _, d := range n.docs {
		if e := d.entity; r.Kind == ref.Template && e != nil && e.Template != nil && e.Scope == r.Ref.Scope &&
			e.Identifier.Value == id && (label == "" || label == e.Template.VersionLabel.Value) {
			return e
		}
	}
	return nil
}
