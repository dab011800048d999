package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// scope is where the samples live.
func scope() ref.Scope {
	return ref.Scope{Account: "default", Org: "default", Project: "default_project"}
}

// substitutions are the words that the samples' own instructions tell to
// replace, with what they are here.
func substitutions() *strings.Replacer {
	return strings.NewReplacer(
		"GITHUB_USERNAME", gitUser, "DELEGATE_NAME", delegateName,
		"YOUR_PROJECT_IDENTIFIER", "default_project", "your_project_id", "default_project", "YourProject", "default_project",
	)
}

// document is one entity of the checkout.
type document struct {
	file string // relative to the checkout
	kind ref.Kind
	id   string
	env  string // of an infrastructure
	text []byte
	of   *entity.Entity
}

// folder is the document's.
func (d *document) folder() string { return filepath.Dir(d.file) }

// read finds all entities of a checkout.
func read(checkout string) ([]*document, error) {
	var out []*document
	err := filepath.WalkDir(checkout, func(path string, e fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || e.IsDir() || ext != ".yaml" && ext != ".yml" {
			return err
		}
		raw, err := os.ReadFile(path) //nolint:gosec // the developer names the checkout
		if err != nil {
			return err
		}
		file, err := filepath.Rel(checkout, path)
		if err != nil {
			return err
		}
		text := []byte(substitutions().Replace(string(raw)))
		docs, _ := yamldoc.Parse(file, text) // what is wrong with it the server says
		for _, doc := range docs {
			for _, k := range ref.Kinds() {
				body := doc.Get(string(k))
				if body.Get("identifier") == nil {
					continue
				}
				d := &document{file: file, kind: k, id: body.Get("identifier").Value, text: text}
				if env := body.Get("environmentRef"); env != nil {
					d.env = env.Value
				}
				d.of = entity.Decode(doc, yamldoc.NewReport(file), builtin.Options(scope()))
				out = append(out, d)
			}
		}
		return nil
	})
	return out, err
}

// wanted says whether a pipeline deploys to Kubernetes, natively or by Helm.
func wanted(d *document) bool {
	return d.kind == ref.Pipeline && (strings.Contains(string(d.text), "deploymentType: Kubernetes") || strings.Contains(string(d.text), "deploymentType: NativeHelm"))
}

// needs are the documents that a pipeline names, directly or through others,
// in the order in which they are saved; and what nothing in the checkout is.
func needs(all []*document, pipeline *document) (found []*document, missing []string) {
	seen := map[string]bool{}
	var visit func(*document)
	visit = func(d *document) {
		for _, r := range references(d) {
			name := fmt.Sprintf("%s %s", r.kind, r.id)
			if seen[name] {
				continue
			}
			seen[name] = true
			if r.kind == ref.Secret {
				found = append(found, secret(r.id)) // no sample has its own
				continue
			}
			if next := nearest(all, r, pipeline); next == nil {
				missing = append(missing, name)
			} else {
				visit(next)
			}
		}
		found = append(found, d)
	}
	visit(pipeline)
	return found, missing
}

// named is an entity that another one names.
type named struct {
	kind    ref.Kind
	id, env string
}

// references are the entities that a document names, in the same project.
func references(d *document) []named {
	if d.of == nil {
		return nil
	}
	set := map[named]bool{}
	for _, r := range d.of.References {
		set[named{kind: r.Kind, id: r.Ref.ID, env: r.Environment}] = true
	}
	return slices.SortedFunc(maps.Keys(set), func(a, b named) int {
		return cmp.Or(order(a.kind)-order(b.kind), strings.Compare(a.id, b.id))
	})
}

// order puts what others name before them.
func order(k ref.Kind) int {
	return slices.Index([]ref.Kind{ref.Secret, ref.Connector, ref.Service, ref.Environment, ref.Infrastructure}, k)
}

// nearest finds a document for a name: in the pipeline's own folder, of the
// same variant (the beginning of the file's name), or anywhere else.
func nearest(all []*document, r named, pipeline *document) *document {
	var best *document
	score := -1
	for _, d := range all {
		if d.kind != r.kind || d.id != r.id || r.kind == ref.Infrastructure && d.env != r.env {
			continue
		}
		s := 0
		if d.folder() == pipeline.folder() {
			s = 1
			if variant(d.file) == variant(pipeline.file) {
				s = 2
			}
		}
		if s > score {
			best, score = d, s
		}
	}
	return best
}

// variant is how a file's name begins, e.g. k8s of k8s-service.yml.
func variant(file string) string {
	before, _, _ := strings.Cut(filepath.Base(file), "-")
	return before
}

// secret is one that the samples' instructions tell to make.
func secret(id string) *document {
	text := fmt.Sprintf("secret:\n  identifier: %[1]s\n  name: %[1]s\n  type: SecretText\n  spec:\n    secretManagerIdentifier: harnessSecretManager\n    valueType: Inline\n    value: \"none\"\n", id)
	return &document{file: "the instructions", kind: ref.Secret, id: id, text: []byte(text)}
}
