package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// applyFlags are the flags of apply.
type applyFlags struct {
	documentFlags

	files  []string
	agent  string
	dryRun bool
}

func applyCommand(a *app) *cobra.Command {
	var f applyFlags
	c := &cobra.Command{
		Use: "apply -f PATH", Short: "Create or update what documents describe", GroupID: groupWrite, Args: cobra.NoArgs,
		Long: "Apply checks all documents first, each against the others as they will be, and changes nothing if one of them is wrong.\n" +
			"Then it saves them as one change; docs/apply.md says how many that may be. They are saved in the order\n" +
			"secrets, variables, connectors, templates, services, environments, infrastructure definitions, environment groups, overrides, pipelines, input sets,\n" +
			"overlays, triggers, GitOps agents and, of those, settings, certificates, keys, credentials, repositories, clusters, projects, application sets, applications.\n\n" +
			"Documents of Argo CD are saved as they are: --agent says which GitOps agent they are for, unless their annotation slipway.dev/agent does.\n" +
			"So are the Secrets and ConfigMaps by which Argo CD is set, in lists too; what else stands beside them is left out, and named.",
		Example: "  slipway apply -f slipway/\n  slipway apply -f service.yaml -f pipeline.yaml\n  cat all.yaml | slipway apply -f -\n  slipway apply -f application.yaml --agent eu1\n  argocd admin export -n argocd | slipway apply -f - --agent eu1",
		RunE:    func(c *cobra.Command, _ []string) error { return a.apply(c.Context(), f) },
	}
	c.Flags().StringSliceVarP(&f.files, "filename", "f", nil, "file, folder, https:// address, or - for the standard input; may be repeated")
	f.documentFlags.add(c)
	c.Flags().StringVar(&f.agent, "agent", "", "the GitOps agent that documents of Argo CD are for, e.g. eu1 or account.eu1")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be done, and do nothing")
	_ = c.MarkFlagRequired("filename") // it was defined above
	return c
}

func (a *app) apply(ctx context.Context, f applyFlags) error {
	client, scope, err := a.caller.connect()
	if err != nil {
		return err
	}
	f.argo = f.agent != ""
	read, err := a.reader.readDocuments(ctx, f.files, f.documentFlags)
	if err != nil {
		return err
	}
	defer a.shows.tellSkipped(read.skipped, f.verbose)
	for _, one := range read.others {
		fmt.Fprintf(a.shows.err, "skipped %s, which isn't for a GitOps agent\n", one)
	}
	set, err := a.setOf(read.docs, scope)
	if err != nil {
		return err
	}
	for i := range set.Documents {
		set.Documents[i].Agent = f.agent
	}
	set.Strict, set.DryRun = f.strict, f.dryRun || len(read.wrong) > 0
	var saved api.SavedSet
	if len(set.Documents) > 0 {
		saved, err = client.SaveAll(ctx, set)
	}
	if ctx.Err() != nil {
		return interrupted
	}
	if bad := append(read.wrong, refused(err)...); len(bad) > 0 {
		return a.shows.nothingDone(bad, "saved")
	}
	if err != nil {
		return err
	}
	return a.shows.showSaved(saved.Entities, f.dryRun)
}

// setOf is what is sent to a server to be saved together.
func (a *app) setOf(docs []document, scope ref.Scope) (api.DocumentSet, error) {
	var set api.DocumentSet
	for _, d := range docs {
		to := d.scope(a.caller, scope)
		set.Documents = append(set.Documents, api.SetDocument{
			Org: to.Org, Project: to.Project, File: d.file, Before: d.before, YAML: string(d.yaml),
		})
	}
	if n := len(set.Documents); n > api.MaxSet {
		return set, fault.New(fault.TooLarge, "found %d documents; at most %d are saved together: apply some folders after the others", n, api.MaxSet)
	}
	text, err := json.Marshal(set)
	if err == nil && len(text) > api.MaxSetBytes-100 { // for what isn't in it yet
		err = fault.New(fault.TooLarge, "the documents have %d bytes; at most %d are saved together: apply some folders after the others", len(text), api.MaxSetBytes)
	}
	return set, err
}

// refused are the places that a server found wrong; none if it refused, or
// failed, for another reason.
func refused(err error) []fault.Detail {
	var f *fault.Error
	if errors.As(err, &f) && f.Code == fault.Invalid {
		return f.Details
	}
	return nil
}

// nothingDone says what is wrong, and that for it nothing was done.
func (o *output) nothingDone(wrong []fault.Detail, done string) error {
	sortFindings(wrong)
	for _, w := range wrong {
		fmt.Fprintln(o.err, finding(w))
	}
	n, _ := count(wrong)
	fmt.Fprintf(o.err, "%s; nothing was %s\n", plural(n, "error"), done)
	return failed
}

func (o *output) showSaved(saved []api.SavedEntity, dryRun bool) error {
	var warnings []fault.Detail
	for _, one := range saved {
		warnings = append(warnings, one.Warnings...)
	}
	sortFindings(warnings)
	for _, w := range warnings {
		fmt.Fprintln(o.err, finding(w))
	}
	note := ""
	if dryRun {
		note = " (dry run)"
	}
	return o.print(saved, func() error {
		for _, one := range saved {
			fmt.Fprintf(o.people(), "%s %s%s\n", nameOf(one.EntityKey), one.Change, note)
		}
		return nil
	})
}
