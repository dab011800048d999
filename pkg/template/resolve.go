package template

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Resolve replaces the links of a document, which has a root key, by what
// they name. What is wrong with a link is in the report; a template that
// doesn't exist isn't, see Resolved.Missing. The error is that of the Lookup.
func Resolve(ctx context.Context, doc *yamldoc.Node, scope ref.Scope, report *yamldoc.Report, find Lookup) (Resolved, error) {
	if doc == nil || doc.Kind != yamldoc.Mapping {
		return Resolved{Doc: doc}, nil
	}
	r := resolver{
		ctx: ctx, report: report, find: find, scope: scope,
		files: map[string]*origin{}, found: map[wanted]*Version{},
	}
	out := *doc
	out.Entries = slices.Clone(doc.Entries)
	for i, e := range out.Entries {
		out.Entries[i].Value = r.root(e.Key, e.Value)
	}
	return Resolved{Doc: &out, Uses: r.uses}, r.err
}

// root resolves what stands below a root key. Paths begin there.
func (r *resolver) root(key string, n *yamldoc.Node) *yamldoc.Node {
	switch key {
	case string(ref.Pipeline):
		return r.walk(n, place{kind: Pipeline, use: document})
	case string(ref.Template):
		if spec := n.Get("spec"); spec != nil {
			r.self = Name(ref.Ref{Scope: r.scope, ID: textOf(n.Get("identifier"))}, textOf(n.Get("versionLabel")))
			return with(n, "spec", r.walk(spec, place{path: "spec", kind: Kind(textOf(n.Get("type"))), use: document}))
		}
		return n
	}
	return r.walk(n, place{use: document})
}

// document is the index of the use that is none: the document itself.
const document = -1

// resolver resolves one document.
type resolver struct {
	ctx    context.Context //nolint:containedctx // lives for one call
	report *yamldoc.Report
	find   Lookup
	scope  ref.Scope // of the document
	self   string    // the template that the document is; empty: it is none

	files map[string]*origin
	found map[wanted]*Version // nil: there is none
	uses  []Use
	nodes int
	full  bool // a limit was reached and reported
	err   error
}

type wanted struct {
	name  ref.Ref
	label string
}

// origin is a version of a template that has been used.
type origin struct {
	scope ref.Scope
	body  *yamldoc.Node
	size  int
}

// expand makes a node of the template that it links to.
func (r *resolver) expand(n *yamldoc.Node, p place) *yamldoc.Node {
	v := yamldoc.Sub(n, p.path)
	at := yamldoc.Sub(n.Get("template"), join(p.path, "template"))
	// A link that was given to a template as an input is the giver's.
	p.use = r.writer(at.Node.File, p.use)
	l, ok := r.link(at, r.scopeOf(at.Node.File))
	kept := r.beside(v, p.kind)
	if !ok {
		return n
	}
	if name := Name(l.name, l.label); r.self == name {
		r.circle(l, append(r.around(p.use), name))
		return n
	}
	use, version := r.use(l, p)
	if version == nil || !r.usable(l, version, p) {
		return n
	}
	source := r.origin(use, version)
	if r.nodes += source.size; r.nodes > maxNodes || len(r.uses) > maxUses {
		r.full = true
		r.report.Errorf(l.at, tooLarge, "the templates bring more than %d values or are used more than %d times", maxNodes, maxUses)
		return n
	}
	body := r.fill(source.body, yamldoc.Sub(l.inputs, join(at.Path, "templateInputs")), r.uses[use])
	body = r.override(body, yamldoc.Sub(l.overrides, join(at.Path, "templateOverrides")), version.Doc, p.kind)
	p.use = use
	if linked(body) { // a template that is made of another one
		body = r.expand(body, p)
	}
	return r.mapping(compose(n, kept, body, at.Node, version.Label), p)
}

// fill gives a template's body with the inputs of a link. What these don't say
// stays an input, for which the document that links asks.
func (r *resolver) fill(body *yamldoc.Node, inputs yamldoc.Value, u Use) *yamldoc.Node {
	if inputs.Null() {
		return body
	}
	merged := input.Overlay(body, inputs.Node)
	for _, w := range merged.Wrong {
		at := yamldoc.Pos{File: cmp.Or(w.File, r.report.File()), Line: w.Line, Column: w.Column, Path: join(inputs.Path, w.Path)}
		asks := ""
		if w.Code == input.NoInput {
			asks = "; it asks for: " + merged.Names()
		}
		r.report.ErrorAt(at, w.Code, "%s (template %s%s)", w.Message, u, asks)
	}
	return merged.Doc
}

// use finds the version that a link names and takes note of it.
func (r *resolver) use(l link, p place) (int, *Version) {
	u := Use{
		Path: p.path, At: l.at.Pos(r.report), Kind: p.kind, Template: l.name, Label: l.label, Wanted: l.label,
		Direct: p.use == document, outer: p.use,
	}
	version := r.version(l)
	if r.err != nil {
		return 0, nil
	}
	if version == nil {
		u.Missing = true
	} else {
		u.Label, u.Revision = version.Label, version.Revision
	}
	u.file = "template " + u.String()
	r.uses = append(r.uses, u)
	return len(r.uses) - 1, version
}

func (r *resolver) version(l link) *Version {
	key := wanted{l.name, l.label}
	if v, ok := r.found[key]; ok {
		return v
	}
	v, err := r.find(r.ctx, l.name, l.label)
	switch {
	case fault.Is(err, fault.NotFound):
		r.found[key] = nil
	case err != nil:
		r.err = err
		return nil
	default:
		r.found[key] = &v
	}
	return r.found[key]
}

// usable reports a template that can't stand where it is linked.
func (r *resolver) usable(l link, version *Version, p place) bool {
	name := Name(l.name, version.Label)
	kind := Kind(textOf(version.Doc.Get("type")))
	stage := textOf(version.Doc.At("spec", "stageType"))
	around := r.around(p.use)
	switch {
	case kind != p.kind:
		r.report.Errorf(l.at, wrongKind, "template %s is of the type %s; want one of the type %s", name, kind, p.kind)
	case kind == StepGroup && stage != "" && p.stage != "" && stage != p.stage:
		r.report.Errorf(l.at, wrongKind, "template %s is for stages of the type %s; this one is of the type %s", name, stage, p.stage)
	case slices.Contains(around, name):
		r.circle(l, append(around, name))
	case len(around) >= maxDepth:
		r.report.Errorf(l.at, tooDeep, "templates are nested more than %d deep: %s", maxDepth, strings.Join(append(around, name), " links to "))
	default:
		return true
	}
	return false
}

func (r *resolver) circle(l link, chain []string) {
	r.report.Errorf(l.at, cycle, "template %s contains itself: %s", chain[len(chain)-1], strings.Join(chain, " links to "))
}

// around are the templates that contain a place, outermost first.
func (r *resolver) around(use int) []string {
	var names []string
	for ; use != document; use = r.uses[use].outer {
		names = append(names, r.uses[use].String())
	}
	if r.self != "" {
		names = append(names, r.self)
	}
	slices.Reverse(names)
	return names
}

// writer is the use whose template has written what stands at a place: the
// innermost one around it that has the file, or none for the document.
func (r *resolver) writer(file string, use int) int {
	for use != document && r.uses[use].file != file {
		use = r.uses[use].outer
	}
	return use
}

func (r *resolver) scopeOf(file string) ref.Scope {
	if o, ok := r.files[file]; ok {
		return o.scope
	}
	return r.scope
}

// origin is the body of a version, whose nodes know the file.
func (r *resolver) origin(use int, version *Version) *origin {
	u := r.uses[use]
	o, ok := r.files[u.file]
	if !ok {
		o = &origin{scope: u.Template.Scope, body: version.Doc.Get("spec").From(u.file)}
		if u.Kind == StepGroup {
			o.body = trim(o.body, "stageType")
		}
		if o.body == nil {
			o.body = &yamldoc.Node{Kind: yamldoc.Mapping, Line: version.Doc.Line, Column: version.Doc.Column, File: u.file}
		}
		o.size = size(o.body)
		r.files[u.file] = o
	}
	return o
}

// compose is the node that links, with what it has for itself, and the body
// of the template. Of the link it keeps which version it was.
func compose(n *yamldoc.Node, kept []yamldoc.Entry, body, at *yamldoc.Node, label string) *yamldoc.Node {
	out := *n
	out.Entries = slices.Clone(kept)
	mark := *at
	mark.Entries = slices.DeleteFunc(slices.Clone(at.Entries), func(e yamldoc.Entry) bool { return followed(e.Key) })
	version := &yamldoc.Node{Kind: yamldoc.Scalar, Value: label, Line: at.Line, Column: at.Column, File: at.File}
	mark.Entries = append(mark.Entries, yamldoc.Entry{Key: "versionLabel", Line: at.Line, Column: at.Column, Value: version})
	out.Entries = append(out.Entries, yamldoc.Entry{Key: "template", Line: at.Line, Column: at.Column, Value: &mark})
	for _, e := range body.Entries {
		if e.Key != "template" && !slices.ContainsFunc(kept, func(k yamldoc.Entry) bool { return k.Key == e.Key }) {
			out.Entries = append(out.Entries, e)
		}
	}
	return &out
}
