package main

import (
	"fmt"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/argo"
	"github.com/slipway-cd/slipway/pkg/ref"
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

// draft is the document as it would be saved.
func (d document) draft(scope ref.Scope) catalog.Draft {
	return catalog.Draft{File: d.file, Before: d.before, Scope: scope, YAML: d.yaml}
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
func (d document) scope(c *caller, otherwise ref.Scope) ref.Scope {
	if c.changed("org") || c.changed("project") {
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

// described is the entity that a document describes. It needs to be right only
// as far as it says which that is; false, and the report says why, if it doesn't.
func described(doc *yamldoc.Node, report *yamldoc.Report, scope ref.Scope) (apiclient.EntityKey, bool) {
	e := entity.Decode(doc, report, builtin.Options(scope))
	if e == nil || e.Identifier.Value == "" || ref.Parent(e.Kind) != "" && e.Parent.ID == "" {
		return apiclient.EntityKey{}, false
	}
	key := catalog.KeyOf(e)
	return apiclient.EntityKey{Scope: key.Scope, Kind: key.Kind, ID: key.ID, Env: key.Env}, true
}

func textOf(n *yamldoc.Node) string {
	if n == nil {
		return ""
	}
	return n.Value
}

// documents are what files hold.
type documents struct {
	docs    []document
	wrong   []fault.Detail // what is no YAML
	skipped []string       // places of documents that are somebody else's
	argo    bool           // those of Argo CD are taken, too
	others  []string       // objects beside them that aren't taken, and where they stand
}

// take adds the documents of a file. Of a file that wasn't named by itself,
// those that aren't Slipway's are skipped.
func (d *documents) take(file string, data []byte, named bool) {
	for _, part := range partsOf(data) {
		one := document{file: file, before: part.Before, yaml: part.Text}
		nodes, report := yamldoc.Parse(file, part.Text)
		switch {
		case report.Failed():
			if !named && !looksOurs(part.Text) {
				d.skip(one)
				continue
			}
			for _, f := range report.Details() {
				d.wrong = append(d.wrong, one.place(f))
			}
		case len(nodes) > 1:
			d.wrong = append(d.wrong, one.place(fault.Detail{
				Line: 1, Column: 1, Severity: "error", Code: "SEVERAL_DOCUMENTS",
				Message: fmt.Sprintf("found %d documents that can't be told apart; want lines with --- between them, in UTF-8", len(nodes)),
			}))
		case len(nodes) == 0 || nodes[0].Kind == yamldoc.Null: // comments
		case d.argo && !argo.Is(nodes[0]) && argo.Object(nodes[0]) != "" && !ours(nodes[0]):
			d.others = append(d.others, fmt.Sprintf("%s (%s:%d)", argo.Object(nodes[0]), file, one.before+1))
		case !named && !ours(nodes[0]) && !d.argos(nodes[0]):
			d.skip(one)
		default:
			one.node = nodes[0]
			d.docs = append(d.docs, one)
		}
	}
}

// partsOf are the documents of a file, those within lists too.
func partsOf(data []byte) []yamldoc.Part {
	var out []yamldoc.Part
	for _, part := range yamldoc.Cut(data) {
		items, ok := listed(part.Text)
		if !ok {
			out = append(out, part)
			continue
		}
		for _, item := range items {
			item.Before += part.Before
			out = append(out, item)
		}
	}
	return out
}

// argos says whether a document is one of Argo CD's for a GitOps agent.
func (d *documents) argos(doc *yamldoc.Node) bool {
	return argo.Is(doc) && (d.argo || argo.Agent(doc) != "")
}

func (d *documents) skip(one document) {
	d.skipped = append(d.skipped, fmt.Sprintf("%s:%d", one.file, one.before+1))
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
