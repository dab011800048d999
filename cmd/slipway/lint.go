package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/lint"
	"github.com/slipway-cd/slipway/pkg/policy/rego"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// lintFlags are the flags of lint.
type lintFlags struct {
	documentFlags

	format   string
	policies string
}

func lintCommand(a *app) *cobra.Command {
	var f lintFlags
	c := &cobra.Command{
		Use: "lint PATH...", Short: "Check documents without a server", GroupID: groupWrite, Args: cobra.MinimumNArgs(1),
		Long: "Lint checks files, folders, https:// addresses and, as -, the standard input, and says everything that is wrong at once: what a\n" +
			"save would say, expressions that no run could resolve, and references. It exits with 1 if there is an error.\n\n" +
			"Of a folder, documents that aren't Slipway's are skipped, such as manifests, and what a .slipwayignore names (a\n" +
			".gitignore's rules). A file that is named by itself is checked whatever it holds, and with --strict all are.\n\n" +
			"References are looked up among the documents given. With --server what isn't there is asked of the server,\n" +
			"and unknown references are errors; without, they are warnings.",
		Example: "  slipway lint slipway/\n  slipway lint --strict --format sarif slipway/ >slipway.sarif\n  slipway lint --server https://slipway.example.com pipeline.yaml",
		RunE:    func(c *cobra.Command, paths []string) error { return a.linter.lint(c.Context(), paths, f) },
	}
	f.documentFlags.add(c)
	c.Flags().StringVar(&f.policies, "policies", "", "folder with policies in Rego that the documents are to keep, as a save would ask them")
	c.Flags().StringVar(&f.format, "format", "", "text, json or sarif (default is text, or what --output says)")
	return c
}

// linter finds what is wrong with documents, asking a server for what isn't
// among them if it may.
type linter struct {
	caller *caller
	shows  *output
	reader *reader
}

func (l *linter) lint(ctx context.Context, paths []string, f lintFlags) error {
	read, err := l.reader.readDocuments(ctx, paths, f.documentFlags)
	if err != nil {
		return err
	}
	docs, wrong := read.docs, read.wrong
	scope, err := l.caller.localScope()
	if err != nil {
		return err
	}
	find := l.templates(docs, scope)
	if l.caller.asksServer() {
		client, _, err := l.caller.connect()
		if err != nil {
			return err
		}
		find = withServer(client, find)
	}
	bad, err := l.check(ctx, docs, scope, f.strict, find)
	if err != nil {
		return err
	}
	wrong = append(wrong, bad...)
	denied, err := l.judged(ctx, f.policies, docs, scope)
	if err != nil {
		return err
	}
	wrong = append(wrong, denied...)
	for _, d := range docs {
		if ctx.Err() != nil {
			return interrupted
		}
		wrong = append(wrong, names(d)...)
		wrong = append(wrong, untrusted(d, docs, f.strict)...)
	}
	unmet, err := l.unmet(ctx, docs)
	if err != nil {
		return err
	}
	files, err := l.unmetFiles(ctx, docs)
	if err != nil {
		return err
	}
	unfit, err := l.unfit(ctx, docs, scope)
	if ctx.Err() != nil {
		return interrupted
	}
	if err != nil {
		return err
	}
	wrong = slices.Concat(wrong, unmet, files, unfit)
	sortFindings(wrong)
	err = l.shows.printFindings(wrong, len(docs), f.format)
	l.shows.tellSkipped(read.skipped, f.verbose)
	if errors, _ := count(wrong); err == nil && errors > 0 {
		err = failed
	}
	return err
}

// check decodes documents and gives what is wrong with them. Links to
// templates that find doesn't know stay, and what they bring isn't checked.
func (l *linter) check(ctx context.Context, docs []document, scope ref.Scope, strict bool, find template.Lookup) ([]fault.Detail, error) {
	wrong := []fault.Detail{}
	engine := rego.New()
	for i := range docs {
		report := yamldoc.NewReport(docs[i].file)
		if strict {
			report.Strict()
		}
		var err error
		options := builtin.Options(docs[i].scope(l.caller, scope))
		options.CheckRego = engine.Check
		if docs[i].entity, _, err = catalog.Resolve(ctx, docs[i].node, report, options, find); err != nil {
			return nil, err
		}
		for _, f := range report.Details() {
			wrong = append(wrong, docs[i].place(f))
		}
	}
	return append(wrong, repeated(docs)...), nil
}

// repeated finds documents that have the name of another. The same bytes again
// are harmless: a file may be named twice.
func repeated(docs []document) []fault.Detail {
	entities := make([]*entity.Entity, len(docs))
	for i, d := range docs {
		entities[i] = d.entity
	}
	var wrong []fault.Detail
	again := catalog.Repeated(entities)
	for _, i := range slices.Sorted(maps.Keys(again)) {
		d, first := docs[i], docs[again[i]]
		if bytes.Equal(bytes.TrimSpace(d.yaml), bytes.TrimSpace(first.yaml)) {
			continue
		}
		wrong = append(wrong, catalog.Twice(d.draft(d.entity.Scope), d.entity, first.draft(first.entity.Scope), first.entity))
	}
	return wrong
}

// unfit says which documents don't fit each other, or what a server that is
// named has: input sets and triggers their pipelines.
func (l *linter) unfit(ctx context.Context, docs []document, scope ref.Scope) ([]fault.Detail, error) {
	saved := func(_ context.Context, key store.EntityKey) (store.Entity, error) {
		return store.Entity{}, fault.New(fault.NotFound, "%s isn't in the files that were given", key.Describe())
	}
	if l.caller.asksServer() {
		client, _, err := l.caller.connect()
		if err != nil {
			return nil, err
		}
		saved = savedOn(client)
	}
	set := make([]catalog.Decoded, len(docs))
	for i, d := range docs {
		set[i] = catalog.Decoded{Draft: d.draft(d.scope(l.caller, scope)), Entity: d.entity}
	}
	return catalog.Misfits(ctx, set, saved, builtin.Options(scope))
}

// names gives the expressions of a pipeline that no run can resolve.
func names(d document) []fault.Detail {
	if d.entity == nil || d.entity.Pipeline == nil {
		return nil
	}
	report := yamldoc.NewReport(d.file)
	lint.Names(d.entity.Pipeline, report)
	var wrong []fault.Detail
	for _, f := range report.Details() {
		wrong = append(wrong, d.place(f))
	}
	return wrong
}

// untrusted gives the scripts of a document that take what comes from outside,
// and those of a pipeline that a trigger or an input set among the documents
// fills with that.
func untrusted(d document, docs []document, strict bool) []fault.Detail {
	if d.entity == nil {
		return nil
	}
	report := yamldoc.NewReport(d.file)
	if strict {
		report.Strict()
	}
	types := builtin.Steps()
	lint.Untrusted(d.entity.Doc, types, report)
	for _, o := range docs {
		if o.entity != nil && o.entity.Kind == ref.Pipeline && d.entity.Parent.ID == o.entity.Identifier.Value && d.entity.Parent.Scope == o.entity.Scope {
			catalog.Fills(o.node.Get(string(ref.Pipeline)), d.entity, types, report)
		}
	}
	var wrong []fault.Detail
	for _, f := range report.Details() {
		wrong = append(wrong, d.place(f))
	}
	return wrong
}

// asksServer says whether documents are checked against a server as well.
func (c *caller) asksServer() bool { return c.changed("server") }

// unmet gives the references to what is neither among the documents nor, if
// a server is named, there.
func (l *linter) unmet(ctx context.Context, docs []document) ([]fault.Detail, error) {
	from := map[*entity.Entity]document{}
	for _, d := range docs {
		from[d.entity] = d
	}
	severity, where := "warning", "in the files that were given"
	there := func(apiclient.EntityKey) (bool, error) { return false, nil }
	if l.caller.asksServer() {
		client, _, err := l.caller.connect()
		if err != nil {
			return nil, err
		}
		severity, where = "error", "in the files that were given or on the server"
		there = known(ctx, client)
	}
	var wrong []fault.Detail
	for _, u := range catalog.Unknown(entitiesOf(docs)) {
		found, err := there(apiclient.EntityKey{Scope: u.Key.Scope, Kind: u.Reference.Kind, Env: u.Key.Env, ID: u.Key.ID})
		if err != nil {
			return nil, err
		}
		if found {
			continue
		}
		name := fmt.Sprintf("%s %q", u.Reference.Kind, u.Reference.Text)
		if u.Key.Env != "" {
			name += fmt.Sprintf(" of the %s %q", ref.Parent(u.Reference.Kind), u.Key.Env)
		}
		at := u.Reference.At
		wrong = append(wrong, from[u.Entity].place(fault.Detail{
			Path: at.Path, Line: at.Line, Column: at.Column, Severity: severity,
			Code: "UNKNOWN_REFERENCE", Message: fmt.Sprintf("there is no %s %s", name, where),
		}))
	}
	return wrong, nil
}

// known asks a server whether it has an entity, once for each.
func known(ctx context.Context, client *apiclient.Client) func(apiclient.EntityKey) (bool, error) {
	answers := map[apiclient.EntityKey]bool{}
	return func(key apiclient.EntityKey) (bool, error) {
		if found, asked := answers[key]; asked {
			return found, nil
		}
		_, err := client.Entity(ctx, key)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return false, fmt.Errorf("look up %s %q: %w", key.Kind, key.ID, err)
		}
		answers[key] = err == nil
		return err == nil, nil
	}
}
