package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// applyFlags are the flags of apply.
type applyFlags struct {
	documentFlags

	files  []string
	dryRun bool
}

func applyCommand(a *app) *cobra.Command {
	var f applyFlags
	c := &cobra.Command{
		Use: "apply -f PATH", Short: "Create or update what documents describe", GroupID: groupWrite, Args: cobra.NoArgs,
		Long: "Apply checks all documents first and changes nothing if one of them is wrong. Then it saves them in the order\n" +
			"secrets, variables, connectors, templates, services, environments, infrastructure definitions, environment groups, overrides, pipelines, input sets,\n" +
			"overlays, triggers.",
		Example: "  slipway apply -f slipway/\n  slipway apply -f service.yaml -f pipeline.yaml\n  cat all.yaml | slipway apply -f -",
		RunE:    func(c *cobra.Command, _ []string) error { return a.apply(c.Context(), f) },
	}
	c.Flags().StringSliceVarP(&f.files, "filename", "f", nil, "file, folder, https:// address, or - for the standard input; may be repeated")
	f.documentFlags.add(c)
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be done, and do nothing")
	_ = c.MarkFlagRequired("filename") // it was defined above
	return c
}

func (a *app) apply(ctx context.Context, f applyFlags) error {
	client, scope, err := a.connect()
	if err != nil {
		return err
	}
	read, err := a.readDocuments(ctx, f.files, f.documentFlags)
	if err != nil {
		return err
	}
	docs, wrong := read.docs, read.wrong
	defer a.tellSkipped(read.skipped, f.verbose)
	bad, err := a.check(ctx, docs, scope, f.strict, withServer(client, a.templates(docs, scope)))
	if err != nil {
		return err
	}
	wrong = append(wrong, bad...)
	if n, _ := count(wrong); n > 0 {
		for _, w := range wrong {
			fmt.Fprintln(a.err, finding(w))
		}
		fmt.Fprintf(a.err, "%s; nothing was saved\n", plural(n, "error"))
		return failed
	}
	order(docs)
	brought := broughtAlong(docs)
	saved := []api.SavedEntity{}
	broken := false
	for _, d := range docs {
		one, err := a.save(ctx, client, d, apiclient.Document{
			Scope: d.scope(a, scope), File: d.file, YAML: d.yaml, Strict: f.strict,
		}, f.dryRun, brought)
		if ctx.Err() != nil {
			return interrupted
		}
		if err != nil {
			complain(a.err, inFile(d, err))
			broken = true
			continue
		}
		saved = append(saved, one)
	}
	err = a.print(saved, func() error { return nil })
	if broken {
		err = errors.Join(failed, err)
	}
	return err
}

// broughtAlong says whether a document's warning is of a reference to another
// of the documents, which may be saved after it.
func broughtAlong(docs []document) func(document, fault.Detail) bool {
	unmet := map[*entity.Entity]map[yamldoc.Pos]bool{}
	for _, u := range catalog.Unknown(entitiesOf(docs)) {
		if unmet[u.Entity] == nil {
			unmet[u.Entity] = map[yamldoc.Pos]bool{}
		}
		unmet[u.Entity][u.Reference.At] = true
	}
	return func(d document, w fault.Detail) bool {
		return w.Code == "UNKNOWN_REFERENCE" && slices.ContainsFunc(d.entity.References, func(r entity.Reference) bool {
			return r.At.Line == w.Line && r.At.Column == w.Column && r.At.Path == w.Path && !unmet[d.entity][r.At]
		})
	}
}

// save saves one document and says what that did. Warnings that are settled
// by other documents aren't shown.
func (a *app) save(
	ctx context.Context, client *apiclient.Client, d document, doc apiclient.Document, dryRun bool, settled func(document, fault.Detail) bool,
) (api.SavedEntity, error) {
	act, note := client.Save, ""
	if dryRun {
		act, note = client.Validate, " (dry run)"
	}
	one, err := act(ctx, doc)
	if err != nil {
		return one, err
	}
	one.Warnings = slices.DeleteFunc(one.Warnings, func(w fault.Detail) bool { return settled(d, w) })
	for i, w := range one.Warnings {
		one.Warnings[i] = d.place(w)
		fmt.Fprintln(a.err, finding(one.Warnings[i]))
	}
	if a.output == "table" {
		fmt.Fprintf(a.people(), "%s %s%s\n", nameOf(one.EntityKey), one.Change, note)
	}
	return one, nil
}

// nameOf names an entity, e.g. "infrastructureDefinition/dev/cluster".
func nameOf(k api.EntityKey) string {
	if k.Env != "" {
		return fmt.Sprintf("%s/%s/%s", k.Kind, k.Env, k.ID)
	}
	return fmt.Sprintf("%s/%s", k.Kind, k.ID)
}

// inFile says in which file a server found what is wrong.
func inFile(d document, err error) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err
	}
	out := fault.New(f.Code, "%s:%d: %s", d.file, d.before+1, f.Message)
	for _, detail := range f.Details {
		out = out.With(d.place(detail))
	}
	return out
}
